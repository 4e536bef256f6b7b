"""Excel and OpenDocument with calamine: the beginning of the first sheet."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from typing import Any, Final

from python_calamine import CalamineWorkbook

from agentsvc_nb.notebook.previews.child.refused import Refused

ROWS: Final = 20
COLUMNS: Final = 20
CELL_CHARS: Final = 200
UNPACKED_BYTES: Final = 100_000_000


def read(place: str) -> dict[str, Any]:
    """`names`, `types`, `rows`, `sheets`, and how many `columns` and rows (`count`) there are. Raises `Refused`, and
    calamine's."""
    _weigh(place)
    book = CalamineWorkbook.from_path(place)
    if not book.sheet_names:
        raise Refused("it has no sheets.")
    sheet = book.get_sheet_by_index(0)
    rows = sheet.to_python(nrows=ROWS + 1)
    names, body = (rows[0], rows[1:]) if rows else ([], [])
    return {
        "names": [_cell(name) for name in names[:COLUMNS]],
        "types": [_type(column) for column in zip(*body, strict=True)][:COLUMNS],
        "rows": [[_cell(cell) for cell in row[:COLUMNS]] for row in body],
        "sheets": [name[:CELL_CHARS] for name in book.sheet_names[:10]],
        "columns": len(names),
        "count": max(0, sheet.height - 1),
    }


def _weigh(place: str) -> None:
    """A file of a few kilobytes may unpack to gigabytes. One that lies about it meets the limit of memory."""
    if not zipfile.is_zipfile(place):
        return
    with zipfile.ZipFile(place) as packed:
        unpacked = sum(part.file_size for part in packed.infolist())
    if unpacked > UNPACKED_BYTES:
        raise Refused(f"it unpacks to {unpacked / 1e6:,.0f} MB, too much to be looked at here.")


def _cell(value: object) -> str:
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return str(int(value) if whole else value)[:CELL_CHARS]  # type: ignore[call-overload]


def _type(column: Sequence[object]) -> str:
    """The types of its cells, as Python names them; empty cells are empty texts."""
    return " or ".join(sorted({type(cell).__name__ for cell in column if cell != ""}))
