"""CSV and TSV from their beginning: cells as they stand, and the types that pandas would give the first rows."""

from __future__ import annotations

import csv
import io
import itertools
import warnings
from typing import Final

from agentsvc_nb.notebook.display.render import Bundle, size
from agentsvc_nb.notebook.previews import heads, wording
from agentsvc_nb.notebook.previews.kinds import Kind, Subject

_SEPARATORS: Final = (",", ";", "\t", "|")
_LOOKED_AT: Final = 100  # rows, for the types


def show(subject: Subject, kind: Kind) -> Bundle:
    """The first 20 rows; the text as it stands where it is no table."""
    assert subject.text is not None, "only kinds of text come here"
    text = subject.text.text.replace("\0", "")
    try:
        read = csv.reader(io.StringIO(text, newline=""), delimiter=separator_of(text))
        rows = list(itertools.islice((row for row in read if row), _LOOKED_AT + 1))
    except csv.Error as error:
        return wording.source(subject, f"no table: {error}")
    if subject.cut and len(rows) <= _LOOKED_AT:
        rows = rows[:-1] or rows  # the last one is broken off
    if not rows:
        return wording.source(subject, "no rows")
    notes = [*_amount(subject, len(rows) - 1), *wording.encoding(subject.text)]
    return heads.head("Table", rows[0], _types(rows[1:]), rows[1 : heads.ROWS + 1], notes)


def separator_of(text: str) -> str:
    """What stands most often in the first line."""
    first = text.lstrip("\r\n").partition("\n")[0]
    return max(_SEPARATORS, key=first.count)


def _amount(subject: Subject, read: int) -> list[str]:
    if read <= heads.ROWS and not subject.cut:
        return []
    of = f" of {size(subject.file.size_bytes)}" if subject.cut else ""
    return [f"the first {min(read, heads.ROWS)} rows{of}"]


def _types(rows: list[list[str]]) -> list[str]:
    """As `pandas.read_csv` would have them, were there no more rows than these."""
    import pandas

    if not rows:
        return []
    width = max(map(len, rows))
    written = io.StringIO()
    csv.writer(written).writerows([*row, *[""] * (width - len(row))][: heads.COLUMNS] for row in rows)
    written.seek(0)
    try:
        with warnings.catch_warnings(action="ignore"):
            return [str(kind) for kind in pandas.read_csv(written, header=None, low_memory=False).dtypes]
    except (ValueError, OverflowError):
        return []
