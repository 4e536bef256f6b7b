"""The beginning of a table: names, types, first rows; bounded whatever the file holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agentsvc_nb.notebook.display.render import MUTED, Bundle
from agentsvc_nb.notebook.display.tables import Cell, grid
from agentsvc_nb.wire.text import escape, label

ROWS: Final = 20
COLUMNS: Final = 20
CELL_CHARS: Final = 80


def head(
    caption: str, names: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[object]], notes: Sequence[str]
) -> Bundle:
    """20 rows of 20 columns at most; the types stand below the names. Short rows are filled up."""
    width = min(COLUMNS, max([len(names), *map(len, rows)]))
    columns = [label(name, CELL_CHARS) for name in _even(names, width)]
    kinds = [_kind(kind) for kind in _even(types, width)]
    shown = [[_cell(value) for value in _even(row, width)] for row in rows[:ROWS]]
    more = [f"{len(names) - width:,} more columns"] if len(names) > width else []
    return grid(caption, columns, [kinds, *shown] if any(types) else shown, [*notes, *more])


def _even(row: Sequence[object], width: int) -> list[object]:
    return [*row[:width], *[""] * (width - len(row))]


def _kind(kind: object) -> Cell:
    return Cell(label(kind, 40), f'<span style="{MUTED}">{escape(kind, 40)}</span>')


def _cell(value: object) -> Cell:
    return Cell("" if value is None else label(value, CELL_CHARS))
