"""Where a table stands among its rows: title lines above the header, footers below; names and widths of its columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress, pairwise, zip_longest
from typing import Any, Final

from agentsvc_nb.documents.tables.columns import plain_value, text_of
from agentsvc_nb.documents.tables.dates import read_dates
from agentsvc_nb.documents.tables.model import CELLS_MAX, COLUMNS_MAX, RawTable, TableNotes, is_empty
from agentsvc_nb.documents.tables.numbers import number_of

_SAMPLE: Final = 200
_HEADER_ROWS: Final = 60
"""How far down a header is looked for."""
_PARTS_MAX: Final = 1_000
"""Empty lines at which another table is looked for."""
_UNITS: Final = re.compile(r"\d\s?[^\W\d_]{1,10}$|^[^\W\d_]+\s?\d+$")
"""Names such as `180s`, `2 credits` and `Q1`, which hold a number."""
_LINE_CHARS: Final = 300
_NAME_CHARS: Final = 200


def parted(raw: RawTable) -> list[RawTable]:
    """The rows as they are, or in several parts if there are several tables, with empty lines between them."""
    if raw.header is not None:
        return [raw]
    blank = [at for at, filled in enumerate(_are_filled(raw.rows)) if not filled]
    starts = [0]
    for at in blank[:_PARTS_MAX]:
        if _begins_table(raw.rows[at + 1 : at + 3]) and any(map(_is_record, raw.rows[starts[-1] : at][:_SAMPLE])):
            starts.append(at + 1)
    if len(starts) == 1:
        return [raw]
    notes = raw.notes.also(f"The file holds {len(starts)} tables, with empty lines between them.")
    parts = []
    for number, (start, end) in enumerate(pairwise([*starts, len(raw.rows)]), 1):
        name = raw.name if number == 1 else f"{raw.name} ({number})"
        parts.append(RawTable(name, raw.rows[start:end], None, notes, raw.first_number + start))
    return parts


def _begins_table(rows: Sequence[Sequence[Any]]) -> bool:
    """Whether the first row names columns and the second, as full, has numbers or dates."""
    if len(rows) < 2 or _filled(rows[0]) < 2 or _filled(rows[0]) != _filled(rows[1]):
        return False
    names = [_text(cell) for cell in rows[0] if _text(cell)]
    return not any(_is_typed(name) or is_empty(name) for name in names) and _is_record(rows[1])


def _is_record(row: Sequence[Any]) -> bool:
    return _filled(row) > 1 and any(map(_is_typed, row))


@dataclass(slots=True)
class TableGrid:
    """The names of columns and the rows below, all of one width, with the rows' numbers in the file."""

    names: list[str]
    rows: list[Sequence[Any]]
    numbers: list[int]
    notes: TableNotes


def arrange(raw: RawTable) -> TableGrid | None:
    """The table among the rows; None if there is none."""
    first = raw.first_number
    rows, numbers = raw.rows, list(range(first, first + len(raw.rows)))
    if raw.header is None and not all(filled := _are_filled(rows)):
        rows, numbers = list(compress(rows, filled)), list(compress(numbers, filled))
    if not rows:
        return None
    header = _header(rows) if raw.header is None else _kept_header(raw, numbers)
    notes = replace(raw.notes, titles=tuple(_line(row) for row in rows[: max(header, 0)][:_HEADER_ROWS]))
    body, body_numbers = rows[header + 1 :], numbers[header + 1 :]
    if raw.header is None and _is_data(rows[header], body):
        body, body_numbers = rows[header:], numbers[header:]
        header, notes = -1, notes.also("The table has no header: its columns are numbered.")
    names = [] if header < 0 else [*rows[header]]
    return _fitted(names, body, body_numbers, notes, raw.header is None)


def _are_filled(rows: Sequence[Sequence[Any]]) -> list[bool]:
    """Which rows have a filled cell; most have one at their beginning."""
    return [
        bool(row) and ((row[0].__class__ is str and "!" <= row[0] < "\x7f") or _filled(row) > 0)  # no space between
        for row in rows
    ]


def _kept_header(raw: RawTable, numbers: Sequence[int]) -> int:
    """The header that the format told, among the rows that are not empty."""
    number = raw.first_number + (raw.header or 0)
    return numbers.index(number) if raw.header is not None and raw.header >= 0 and number in numbers else -1


def _fitted(
    names: list[Any], rows: list[Sequence[Any]], numbers: list[int], notes: TableNotes, loose: bool
) -> TableGrid | None:
    """The rows without footers, all as wide as the header."""
    without_row_names = len(names)
    while names and not _text(names[-1]):
        names.pop()
    widths = Counter(map(len, rows))
    common = max(widths, key=lambda width: widths[width], default=len(names))
    if loose:
        rows, numbers, footers = _without_footers(rows, numbers, max(len(names), 1))
        notes = replace(notes, footers=footers)
    if loose and names and common == without_row_names + 1 and _has_row_names(rows, common):
        names.insert(0, "")
        notes = notes.also("The first column has no name.")
    width = max(len(names), _used_width(rows, len(names), common))
    kept = min(width, COLUMNS_MAX)
    room = max(1, CELLS_MAX // max(kept, 1))
    notes = replace(
        notes,
        columns_left_out=notes.columns_left_out + width - kept,
        rows_left_out=notes.rows_left_out + max(0, len(rows) - room),
        remarks=(*notes.remarks, *(_uneven(rows[:room], numbers, kept) if max(widths, default=0) > kept else ())),
    )
    if not kept:
        return None
    even = rows[:room]
    if widths.keys() != {kept}:
        even = [row if len(row) == kept else _padded(row, kept) for row in even]
    return TableGrid(_names(names[:kept], kept), even, numbers[:room], notes)


def _padded(row: Sequence[Any], width: int) -> Sequence[Any]:
    blank = "" if all(isinstance(cell, str) for cell in row) else None
    return [*row[:width], *[blank] * (width - len(row))]


def _used_width(rows: Sequence[Sequence[Any]], named: int, common: int) -> int:
    """How many columns the rows need: one without a name counts if rows commonly fill it."""
    if common <= named:
        return named
    filled = Counter(_last(row) for row in rows[: 10 * _SAMPLE] if len(row) > named)
    wide = sum(count for width, count in filled.items() if width > named)
    return max(filled) if wide * 2 > min(len(rows), 10 * _SAMPLE) else named


def _has_row_names(rows: Sequence[Sequence[Any]], width: int) -> bool:
    """Whether rows have one cell more than the header names, as where names of rows have no header of their own."""
    full = sum(1 for row in rows[:_SAMPLE] if len(row) == width and _filled([row[-1]]))
    return full > 0.9 * min(len(rows), _SAMPLE)


def _uneven(rows: Sequence[Sequence[Any]], numbers: Sequence[int], width: int) -> list[str]:
    long = [number for number, row in zip(numbers, rows, strict=False) if len(row) > width and _last(row) > width]
    if not long or width >= COLUMNS_MAX:
        return []
    places = ", ".join(map(str, long[:5])) + (", ..." if len(long) > 5 else "")
    return [f"Rows with more cells than columns: {len(long)} (row {places}); what is beyond is left out."]


def _without_footers(
    rows: list[Sequence[Any]], numbers: list[int], width: int
) -> tuple[list[Sequence[Any]], list[int], tuple[str, ...]]:
    """The rows without the lines below the table: those with a text in the first cell only, where others have more."""
    end = len(rows)
    while end > 1 and width > 1 and _filled(rows[end - 1]) == 1 and _text(rows[end - 1][0]):
        end -= 1
    if width == 2 and end < len(rows) and numbers[end] == numbers[end - 1] + 1:
        return rows, numbers, ()  # such a row may only lack its second cell, if no empty line is above it
    if end == len(rows) or _filled(rows[end - 1]) < 2 or len(rows) - end > max(20, end):
        return rows, numbers, ()
    return rows[:end], numbers[:end], tuple(_line(row) for row in rows[end:])


def _header(rows: Sequence[Sequence[Any]]) -> int:
    """The index of the row that names the columns: the first that is nearly as full as rows are."""
    sample = rows[:_SAMPLE]
    counts = Counter(_filled(row) for row in sample[min(len(sample) // 4, 20) :])
    typical = max(counts, key=lambda count: (counts[count], count))
    common = _commonest([_last(row) for row in sample])
    width = max(typical, common)
    long = any(_last(row) >= common - 1 and _filled(row) >= 0.6 * width for row in sample[:_HEADER_ROWS])
    for at, row in enumerate(sample[:_HEADER_ROWS]):
        filled = _filled(row)
        enough = (filled >= max(1, 0.6 * width) or filled >= typical) and (_last(row) >= common - 1 or not long)
        if enough and not (at + 1 < len(sample) and _is_group_row(row, sample[at + 1 : at + 4])):
            return at
    return 0


def _is_group_row(row: Sequence[Any], below: Sequence[Sequence[Any]]) -> bool:
    """Whether the row only groups the columns that the row below names, above rows with numbers or dates."""
    names = below[0][: _last(below[0])]
    gaps = sum(1 for cell in row[: len(names)] if not _text(cell))
    full = _filled(names) == len(names) > _filled(row)
    return gaps > 1 and full and not any(map(_is_typed, names)) and any(map(_is_record, below[1:]))


def _commonest(numbers: Sequence[int]) -> int:
    counts = Counter(numbers)
    return max(counts, key=lambda number: (counts[number], number))


def _is_data(row: Sequence[Any], below: Sequence[Sequence[Any]]) -> bool:
    """Whether the first row is one like the others: it has numbers or dates in most columns that have them, and these
    are no labels, such as years."""
    columns = list(zip_longest(row, *below[:5]))[: len(row)]
    typed = [cells[0] for cells in columns if _are_typed(cells[1:])]
    bare = [cell for cell in typed if _is_typed(cell) and not (isinstance(cell, str) and _UNITS.search(cell))]
    return len(bare) * 2 > len(typed) and not _are_labels([_text(cell) for cell in bare])


def _are_typed(cells: Sequence[Any]) -> bool:
    filled = [cell for cell in cells if _text(cell)]
    return bool(filled) and all(map(_is_typed, filled))


def _are_labels(cells: Sequence[str]) -> bool:
    """Whether these are years, dates in order, or numbers that count up: the names of columns of a crosstab."""
    if not all(cell.isascii() and cell.isdigit() and len(cell) < 9 for cell in cells):
        dates = read_dates(dict.fromkeys(cells, 1))
        return dates is not None and len(dates.values) == len(cells) > 1
    numbers = [int(cell) for cell in cells]
    if all(1800 <= number <= 2200 for number in numbers):
        return len(set(numbers)) == len(numbers)
    return len(numbers) > 1 and numbers[0] in (0, 1) and all(b - a == 1 for a, b in pairwise(numbers))


def _is_typed(cell: Any) -> bool:
    if not isinstance(cell, str):
        return cell is not None
    return not is_empty(cell) and (number_of(cell, ".") is not None or read_dates({cell: 1}) is not None)


def _text(cell: Any) -> str:
    return cell.strip() if isinstance(cell, str) else text_of(plain_value(cell))


def _filled(row: Sequence[Any]) -> int:
    return sum(1 for cell in row if cell is not None and cell != "" and not (cell.__class__ is str and cell.isspace()))


def _last(row: Sequence[Any]) -> int:
    """How many cells the row has up to the last that is filled."""
    return next((at for at in range(len(row), 0, -1) if _text(row[at - 1])), 0)


def _line(row: Sequence[Any]) -> str:
    return ", ".join(text for cell in row if (text := _text(cell)))[:_LINE_CHARS]


def _names(cells: Sequence[Any], width: int) -> list[str]:
    """A name for each column, no two alike."""
    names: list[str] = []
    taken: set[str] = set()
    for at in range(width):
        text = re.sub(r"\s+", " ", _text(cells[at]).lstrip("\ufeff")) if at < len(cells) else ""
        plain = text[:_NAME_CHARS] or f"column {at + 1}"
        name, number = plain, 1
        while name.casefold() in taken:
            number += 1
            name = f"{plain} ({number})"
        taken.add(name.casefold())
        names.append(name)
    return names
