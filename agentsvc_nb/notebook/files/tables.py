"""Files on this machine as DataFrames, read as the agent reads them (docs/decisions/0050-where-tables-are-read.md)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.client import downloads
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.previews import process
from agentsvc_nb.notebook.previews.kinds import CannotShow
from agentsvc_nb.wire.text import label

if TYPE_CHECKING:
    import pandas as pd

_ANSWER_BYTES: Final = 50_000_000


def read_table(path: str | os.PathLike[str], *, sheet: str | None = None) -> pd.DataFrame:
    """The table of a file, read as `%files preview` shows it and the offline agent computes with it: lines above the
    header and rows of totals are no rows, numbers and dates have their types. CSV of any kind, workbooks, Parquet,
    JSON, and the tables of HTML, Markdown and Word; up to 8 MB of cells.

    Args:
        sheet: which table of the file; without it the first.

    Its `attrs` have `notes`, sentences on what was decided, and the `units` of columns.

    Raises:
        AskError: there is no such file or sheet, or the file can't be read as a table.

    >>> client.map(read_table("ads.csv"), "Shorten: {{Ad name}}")  # doctest: +SKIP
    """
    place = Path(path).expanduser().absolute()
    if not place.is_file():
        raise AskError(f"There is no file {label(place.name)!r} to be read as a table.")
    try:
        found = process.asked("tables", place, _ANSWER_BYTES)["tables"]
    except CannotShow as reason:
        raise AskError(f"{label(place.name)} can't be read as a table: {reason}") from None
    return _frame(_chosen(found, sheet), str(path))


def _chosen(found: list[dict[str, Any]], sheet: str | None) -> dict[str, Any]:
    for one in found:
        if sheet is None or one["name"] == sheet:
            return one
    names = ", ".join(label(one["name"], 40) for one in found[:10])
    raise AskError(f"There is no table {label(sheet)!r} in the file.", f"Its tables are: {names}.")


def _frame(one: dict[str, Any], path: str) -> pd.DataFrame:
    return downloads.read_table(one["csv"].encode(), one["schema"].encode(), path=path, notes=one["notes"])
