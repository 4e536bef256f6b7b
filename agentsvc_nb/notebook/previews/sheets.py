"""Parquet and Excel: names, types and the first rows."""

from __future__ import annotations

from typing import Any

from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.previews import heads, process
from agentsvc_nb.notebook.previews.kinds import PARQUET, Kind, Subject
from agentsvc_nb.wire.text import label


def show(subject: Subject, kind: Kind) -> Bundle:
    """The first 20 rows; of a workbook, those of its first sheet. Raises `CannotShow`."""
    with subject.on_disk() as place:
        return shown(subject, kind, process.asked("parquet" if kind is PARQUET else "workbook", place))


def shown(subject: Subject, kind: Kind, found: dict[str, Any]) -> Bundle:
    """What the decoder found, as an output."""
    rows, count, names = found.get("rows", []), found.get("count", 0), found.get("names", [])
    notes = [f"the first {len(rows)} of {count:,} rows" if count > len(rows) else f"{count:,} rows"]
    if sheets := found.get("sheets"):
        others = ", ".join(label(name, 40) for name in sheets[1:10])
        notes.append(f"sheet {label(sheets[0], 40)}" + (f"; there are also {others}" if others else ""))
    if hidden := found.get("columns", 0) - len(names):
        notes.append(f"{hidden:,} more columns")
    return heads.head(kind.noun, names, found.get("types", []), rows, notes)
