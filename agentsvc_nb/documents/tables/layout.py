"""Find the tables of a sheet, each with the titles above it, its header, its rows of data, and the notes below it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, time, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import groupby
from typing import Final, NamedTuple

from agentsvc_nb.documents.tables.model import Cell, Sheet, cell_at, count_filled, is_filled, row_text, text_of
from agentsvc_nb.documents.tables.values import CURRENCY_CODES, is_date, is_empty, parse_amount

_SAMPLE: Final = 500
_HEADER_MAX: Final = 4
_NAME_CHARS: Final = 200
_NOTE: Final = re.compile(r"(?i)\W|source|note|quelle|generated|hinweis|report time|date range|filter|export")


class Row(NamedTuple):
    """Holds the cells of a row and its number in the file."""

    number: int
    cells: Sequence[Cell]


@dataclass(slots=True)
class TableBlock:
    """Holds the rows of a table (including its header), the titles above them, and the notes below them."""

    rows: list[Row]
    titles: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class TableLayout:
    """A table after its header is found: names and units of the columns, and rows of data (including totals) with one
    cell per column."""

    names: list[str]
    units: list[str]
    rows: list[Row]
    titles: list[str]
    footers: list[str]
    notes: list[str]
    """Sentences about how the header and the rows were interpreted."""
    surplus: Sequence[int] = ()
    """The numbers of rows that have more cells than there are columns."""


def is_blank(cells: Sequence[Cell]) -> bool:
    """Return True if all cells of a row are empty."""
    return not any(map(is_filled, cells))


SEPARATOR: Final = r"[+|]*[-=_][+|]*[-=_][+|]*[-=_][-=_+|]*"


def is_separator(cells: Sequence[Cell]) -> bool:
    """Return True if all filled cells of a row are lines of dashes, equal signs or underscores."""
    filled = [cell for cell in cells if is_filled(cell)]
    return bool(filled) and all(isinstance(cell, str) and re.fullmatch(SEPARATOR, cell.strip()) for cell in filled)


def looks_numeric(cell: Cell) -> bool:
    """Return True if a cell is a number, date or time. Such cells are rare in headers and frequent in rows of data."""
    if isinstance(cell, str):
        return len(cell) < 60 and _text_looks_numeric(cell.strip())
    return isinstance(cell, int | float | Decimal | date | time | timedelta) and not isinstance(cell, bool)


@lru_cache(50_000)
def _text_looks_numeric(text: str) -> bool:
    amount = parse_amount(text)
    if amount is not None:
        return amount.unit in ("", "%", "‰") and not re.search(r"(?i)(st|nd|rd|th)$", text)
    return any(char.isdigit() for char in text) and is_date(text)


def number_rows(numbers: Sequence[int]) -> str:
    """Return a text such as "Rows 4 and 7" for messages. At most ten numbers are listed.

    >>> number_rows([4]), number_rows([4, 7, 8])
    ('Row 4', 'Rows 4, 7 and 8')
    """
    if len(numbers) == 1:
        return f"Row {numbers[0]}"
    if len(numbers) > 10:
        return f"Rows {', '.join(map(str, numbers[:10]))} and {len(numbers) - 10:,} more"
    return f"Rows {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


# Several tables in one sheet


def split_blocks(sheet: Sheet) -> list[TableBlock]:
    """Divide a sheet into tables at its blank rows. Each table includes the titles above it and the notes below it."""
    rows = [Row(number, cells) for number, cells in enumerate(sheet.rows, sheet.first_number)]
    if max((len(row.cells) for row in rows[:_SAMPLE]), default=0) > 1:
        rows = [row for row in rows if not is_separator(row.cells)]
    if sheet.header_rows:
        return [TableBlock(rows)] if rows else []

    def divides(row: Row) -> bool:
        # In delimited text with one column, a line `""` has one cell and is a row without a value. A blank line has no
        # cell.
        return is_blank(row.cells) and (sheet.blank_rows_divide or len(row.cells) != 1)

    parts = [(blank, list(part)) for blank, part in groupby(rows, key=divides)]
    filled = [part for blank, part in parts if not blank]
    widths = [max(count_filled(row.cells) for row in part[:_SAMPLE]) for part in filled]
    found: list[TableBlock] = []
    titles: list[str] = []
    gap: list[Row] = []
    at = -1
    for blank, part in parts:
        if blank:
            gap = part
            continue
        at += 1
        wider_later = at + 1 < len(widths) and widths[at + 1] > widths[at]
        # In delimited text, a row with delimiters but without values belongs to the table.
        written = [] if sheet.blank_rows_divide else [row for row in gap if row.cells]
        if found and _continues(found[-1].rows, part, bool(written)):
            found[-1].rows += [*written, *part]
        elif found and not wider_later and _are_notes(part, widths[at], found[-1].rows):
            found[-1].notes += [row_text(row.cells) for row in part]
        elif wider_later and (widths[at] == 1 or (widths[at] == 2 and not found)):
            titles += [row_text(row.cells) for row in part]
        else:
            found.append(TableBlock(part, titles))
            titles = []
        gap = []
    if found and gap and not sheet.blank_rows_divide and any(is_blank(row.cells) for row in found[-1].rows):
        found[-1].rows += [row for row in gap if row.cells]
    return found


def _are_notes(part: Sequence[Row], width: int, above: Sequence[Row]) -> bool:
    """Return True if rows below a blank row are notes: they have at most two cells, and most look like notes."""
    first = text_of(cell_at(part[0].cells, 0))
    keys = sum(count_filled(row.cells) == 1 or text_of(cell_at(row.cells, 0)).endswith(":") for row in part)
    usual = max(count_filled(row.cells) for row in above[:_SAMPLE])
    return width <= 2 and usual > width and (keys * 2 > len(part) or len(part) == 1) and not first.startswith("#")


def _continues(above: Sequence[Row], part: Sequence[Row], written: bool) -> bool:
    """Return True if rows below a blank row continue the table above.

    They must be about as wide as the table, and have numbers in the same columns.
    """
    first, body = part[0].cells, [row.cells for row in above[1 : _SAMPLE + 1]]
    label = text_of(cell_at(first, 0))
    usual = max(count_filled(row.cells) for row in above[:_SAMPLE])
    texts_only = not any(looks_numeric(cell) for cells in body for cell in cells)
    if len(above) == 1 and texts_only and count_filled(first) == usual > 1:
        return any(map(looks_numeric, first)) and not any(map(looks_numeric, above[0].cells))  # a separate header
    if written and len(first) == len(above[0].cells) == 2 and not label.endswith(":") and texts_only:
        return True
    if count_filled(first) * 2 < usual or count_filled(first) < min(usual, 2) or label.startswith("#") or not body:
        return False
    body = body[max(0, len(above) // 2 - 1) :] or body
    numeric = [
        at for at in range(len(first)) if sum(looks_numeric(cell_at(cells, at)) for cells in body) * 2 > len(body)
    ]
    if not numeric:
        return count_filled(first) == usual
    if label.endswith(":"):
        return False
    fits = all(looks_numeric(cell_at(first, at)) or is_empty(text_of(cell_at(first, at))) for at in numeric)
    return fits and any(is_filled(cell_at(first, at)) for at in numeric)


# The header


def arrange(block: TableBlock, sheet: Sheet) -> TableLayout | None:
    """Find the header and the rows of data of a table. Return None if the table has no column."""
    rows = block.rows
    cells = [row.cells for row in rows]
    start, end, headed = find_header(cells, sheet)
    titles = block.titles + [row_text(one) for one in cells[:start]]
    head, body = cells[start:end], rows[end:]
    # Drop repetitions of the header, as exports print on each page.
    if headed and len(head[-1]) > 1:
        same = {tuple(map(text_of, one)) for one in head if count_filled(one) > 1}
        body = _cut_page_lines(body, same)
        body = [
            row
            for row in body
            if row.cells[0] not in (head[0][0], head[-1][0]) or tuple(map(text_of, row.cells)) not in same
        ]
    notes: list[str] = []
    names, units = _name_columns(head, sheet, _width(head, body), notes, body) if headed else ([], [])
    if not headed:
        names = [f"Column {at + 1}" for at in range(max(len(row.cells) for row in body))]
        units = [""] * len(names)
        notes.append("The table has no header. Its first line counts as a row.")
    first = join_names(head[:1], len(names)) if end - start > 1 and not sheet.header_rows else []
    if first and all(first) and len(set(first)) == len(first):  # the first header row alone names the columns
        described = number_rows([row.number for row in rows[start + 1 : end]])
        notes.append(f"{described} left out: a description of the columns.")
    body, footers = _cut_footers(body, len(names))
    footers += block.notes
    if len(names) > 1 and not sheet.header_rows:
        before = len(body)
        while len(body) > 1 and is_blank(body[-1].cells) and not any(is_blank(row.cells) for row in body[:-1]):
            body.pop()
        while body and is_blank(body[-1].cells) and len(body) < before:
            body.pop()
    surplus = [row.number for row in body if len(row.cells) > len(names) and not is_blank(row.cells[len(names) :])]
    width = len(names)
    even = [row if len(row.cells) == width else Row(row.number, _fit_width(row.cells, width)) for row in body]
    return TableLayout(names, units, even, titles, footers, notes, surplus) if names else None


def _cut_page_lines(body: Sequence[Row], head: set[tuple[str, ...]]) -> list[Row]:
    """Drop lines such as `Page 2 of 3`, which have one cell and are directly above a repeated header."""
    pages = {
        at - 1 for at, row in enumerate(body)
        if at and count_filled(body[at - 1].cells) == 1 < count_filled(row.cells)
        and tuple(map(text_of, row.cells)) in head
    }  # fmt: skip
    return [row for at, row in enumerate(body) if at not in pages]


def describe_surplus(numbers: Sequence[int]) -> str:
    """Return a sentence about rows with more cells than columns, or "" if there are none. `numbers` are their row
    numbers."""
    if not numbers:
        return ""
    shown = ", ".join(map(str, numbers[:5])) + (", ..." if len(numbers) > 5 else "")
    return f"Rows with more cells than columns: {len(numbers)} (row {shown}). Their cells may be in the wrong columns."


def _width(head: Sequence[Sequence[Cell]], body: Sequence[Row]) -> int:
    """Return the number of columns. Columns to the right of the last name count if most rows have values there."""
    named = max((at + 1 for cells in head for at, cell in enumerate(cells) if is_filled(cell)), default=0)
    used = Counter[int]()
    sample = body[:5000]
    for row in sample:
        if len(row.cells) > named:
            used[max((at + 1 for at, cell in enumerate(row.cells) if is_filled(cell)), default=0)] += 1
    wide = [count for width, count in used.items() if width > named]
    return max(named, *used) if wide and sum(wide) * 2 > len(sample) else named or max(map(len, head), default=0)


def _fit_width(cells: Sequence[Cell], width: int) -> Sequence[Cell]:
    blank: Cell = "" if all(isinstance(cell, str) for cell in cells) else None
    return [*cells[:width], *[blank] * (width - len(cells))]


def _cut_footers(rows: list[Row], width: int) -> tuple[list[Row], list[str]]:
    """Split off notes at the end: rows with one or two cells whose text begins like a note. Return both parts."""
    end = len(rows)
    while end > 1 and width > 2:
        filled = [text_of(cell) for cell in rows[end - 1].cells if is_filled(cell)]
        if not 1 <= len(filled) <= 2 or not _NOTE.match(filled[0]):
            break
        if re.fullmatch(r"[-–—\s]+", filled[0]):
            break
        end -= 1
    return rows[:end], [row_text(row.cells) for row in rows[end:]]


def find_header(rows: Sequence[Sequence[Cell]], sheet: Sheet) -> tuple[int, int, bool]:
    """Return the indexes of the first header row and the first row of data, and True if the table has a header."""
    if sheet.header_rows:
        return 0, min(sheet.header_rows, len(rows)), True
    lower = [count_filled(row) for row in rows[len(rows) // 2 :][:_SAMPLE]]
    usual = max(set(lower), key=lambda filled: (lower.count(filled), filled))
    narrow = max(count_filled(row) for row in rows[:_SAMPLE]) == 1
    need = 1 if narrow else max(2, (usual + 1) // 2)

    def is_banner(row: Sequence[Cell]) -> bool:  # is it a title in merged cells?
        return sheet.merged_filled and len(row) > 1 and len(set(map(text_of, row))) == 1

    start = next((at for at, row in enumerate(rows) if count_filled(row) >= need and not is_banner(row)), 0)
    following = rows[start + 1] if start + 1 < len(rows) else []
    names_below = count_filled(following) == usual and not any(map(looks_numeric, following))
    partly_numeric = any(map(looks_numeric, rows[start])) and count_filled(rows[start]) < usual
    divided_title = names_below and (partly_numeric or sum(map(looks_numeric, rows[start])) == 1)
    if divided_title and _numeric_columns(rows[start + 2 :][:200], len(following)):
        start += 1  # skip a title such as `Jan 1, 2026 - Jan 31, 2026`, whose commas divide it into cells
    while start and len(rows) > start + 1 and count_filled(rows[start - 1]) and not is_filled(rows[start - 1][0]):
        start -= 1  # include the row of group names above the names
    body = rows[start + 1 :]
    if not body:
        return start, start + 1, True
    if ids := next((at for at, row in enumerate(body[:_HEADER_MAX], start + 1) if _has_import_ids(row)), 0):
        return start, ids + 1, True
    start = _skip_lines_about_file(rows, start)
    body = rows[start + 1 :]
    width = max(map(len, rows[start:_SAMPLE]))
    numeric = _numeric_columns(body[min(3, len(body) - 1) :][:200], width)
    first = rows[start]
    over_numeric = [cell_at(first, at) for at in numeric]
    if numeric and all(map(looks_numeric, over_numeric)) and not _names_a_series(over_numeric, body, numeric):
        return start, start, False
    if not numeric and len(body) > 1 and width > 1 and _repeats_below(first, body[:1000]):
        return start, start, False
    end = start + 1
    while end < len(rows) - 1 and end - start < _HEADER_MAX:
        if not _belongs_to_header(rows[start:end], rows[end], numeric, width, rows[end + 1 : end + 3]):
            break
        end += 1
    return start, end, True


def _skip_lines_about_file(rows: Sequence[Sequence[Cell]], start: int) -> int:
    """Return the index of the header if lines about the file, at least as wide as the table, precede it. Otherwise,
    return `start`.

    A line of texts is the header if there are columns in which all cells below are numbers or all are dates, and if
    each line above has another kind of cell in one of these columns.
    """
    wide = count_filled(rows[start])
    if len(rows) > start + 3 and wide > max(count_filled(row) for row in rows[start + 1 : start + 50]):
        names = [text_of(cell) for cell in rows[start + 1]]
        if all(names) and len(set(names)) == len(names) and not any(map(looks_numeric, rows[start + 1])):
            return start + 1
    for at in range(start + 1, min(start + 10, len(rows) - 2)):
        row, above = rows[at], rows[start:at]
        below = rows[at + 1 : min(at + 51, max(at + 3, len(rows) - 1))]  # exclude the last row, which may differ
        kinds = [_kind_of([cell_at(one, column) for one in below]) for column in range(len(row))]
        names = [text_of(cell) for cell in row]
        if len(set(names)) < len(names) or any(map(looks_numeric, row)):
            continue
        typed = [column for column, kind in enumerate(kinds) if kind]
        misfits = [
            any(is_filled(cell := cell_at(one, at)) and _kind_of([cell]) != kinds[at] for at in typed) for one in above
        ]
        described = any(looks_numeric(cell) for one in above for cell in one)
        if typed and described and all(misfits) and all(names[column] for column in typed):
            return at
    return start


def _kind_of(cells: Sequence[Cell]) -> str:
    """Return "number" or "date" if all filled cells are of that kind, else ""."""
    filled = [cell for cell in cells if is_filled(cell) and not is_empty(text_of(cell))]
    if not filled or not all(map(looks_numeric, filled)):
        return ""
    dates = [is_date(text_of(cell)) for cell in filled]
    return "date" if all(dates) else "" if any(dates) else "number"


def _numeric_columns(rows: Sequence[Sequence[Cell]], width: int) -> list[int]:
    """Return the indexes of the columns in which most filled cells are numbers or dates."""
    found = []
    for at in range(width):
        filled = [cell for row in rows if is_filled(cell := cell_at(row, at))]
        if filled and sum(map(looks_numeric, filled)) * 2 > len(filled):
            found.append(at)
    return found


def _repeats_below(first: Sequence[Cell], body: Sequence[Sequence[Cell]]) -> bool:
    """Return True if a cell of the first row occurs again in its column. The cell is then a value and not a name.

    Return False if the whole first row occurs again, because it is then a repeated header.
    """
    names = [text_of(cell) for cell in first]
    columns = [{text_of(cell_at(row, at)) for row in body} for at in range(len(names))]
    if names in [[text_of(cell) for cell in row] for row in body]:
        return False  # the header itself is repeated
    return any(name and name in column for name, column in zip(names, columns, strict=True))


def _names_a_series(cells: Sequence[Cell], body: Sequence[Sequence[Cell]], columns: Sequence[int]) -> bool:
    """Return True if numbers or dates are column names, such as 0, 1, 2 from pandas, or years above other values."""
    texts = [text_of(cell) for cell in cells]
    if len(texts) > 1 and texts in ([str(n + first) for n in range(len(texts))] for first in (0, 1)):
        return True

    def are_years(row: Sequence[Cell]) -> bool:
        return all(re.fullmatch(r"(19|20)\d\d", text_of(cell)) for cell in row)

    if are_years(cells):
        sample = [[cell_at(row, at) for at in columns] for row in body[:_SAMPLE]]
        return len(set(texts)) == len(texts) and not all(map(are_years, sample))
    dates = [isinstance(cell, date) or (isinstance(cell, str) and is_date(cell)) for cell in cells]
    below = [cell_at(row, at) for row in body[:20] for at in columns]
    return (
        all(dates)
        and len(set(texts)) == len(texts) > 1
        and not any(isinstance(cell, date) or (isinstance(cell, str) and is_date(cell)) for cell in below)
    )


_UNIT: Final = re.compile(
    rf"(?i)[\[(]?(?:{'|'.join(sorted(CURRENCY_CODES))}|[€$£¥%#‰]|count|n(?:umber)?|units?|stück|anzahl|kg|g|grams?|t|km|m|cm|mm|ms"
    r"|s|sec|min|hours?|h|days?|pcs|k[€$]|mio|tsd|°?[cfk]|[a-z]{1,3}/[a-z]{1,3})[\])]?"
)
_IMPORT_ID: Final = '{"ImportId"'
"""The beginning of the cells in the third header row of survey exports (Qualtrics)."""


def _has_import_ids(row: Sequence[Cell]) -> bool:
    return sum(text_of(cell).startswith(_IMPORT_ID) for cell in row) * 2 >= len(row) > 0


def _belongs_to_header(
    above: Sequence[Sequence[Cell]],
    row: Sequence[Cell],
    numeric: Sequence[int],
    width: int,
    below: Sequence[Sequence[Cell]],
) -> bool:
    """Return True if `row` is another row of the header that begins with the rows `above`."""
    names = join_names(above, width)
    texts = [text_of(cell_at(row, at)) for at in range(width)]
    unique = all(names) and len(set(names)) == width
    if not any(texts) or (len(set(texts)) == 1 and width > 1):
        return False
    in_numeric = [texts[at] for at in numeric]
    if not texts[0] and not unique and above[-1]:
        years_or_words = all(re.fullmatch(r"|(19|20)\d\d", text) or not looks_numeric(text) for text in in_numeric)
        if not numeric or years_or_words:
            return any(is_filled(cell_at(one, 0)) for one in below)
    if _names_index(texts, above, numeric):
        return True
    words = any(in_numeric) and not any(map(looks_numeric, in_numeric))
    complete = all(in_numeric) or not texts[0]
    if not words or not complete or any(text and is_empty(text) for text in in_numeric):
        return False
    if len(numeric) == 1 and unique:  # with one column of numbers, a text above the numbers is data unless it is a unit
        return bool(_UNIT.fullmatch(in_numeric[0])) and not texts[0]
    return len(below) > 1 or not unique  # one row of numbers below does not prove that this row is a part of the header


def _names_index(texts: Sequence[str], above: Sequence[Sequence[Cell]], numeric: Sequence[int]) -> bool:
    """Return True if a row only names the index columns. pandas writes such a row below the other names."""
    beside = [at for at in numeric if at]
    named = bool(beside) and bool(texts[0]) and not any(texts[at] for at in beside)
    return named and not is_filled(cell_at(above[0], 0))


def join_names(rows: Sequence[Sequence[Cell]], width: int, filled: bool = False) -> list[str]:
    """Return the columns' names. Join the names in the header rows from the top (group names first).

    Stop at the row with which each column has a unique name. `filled` is True if the file repeats the name of a group
    above each of the group's columns.

    >>> join_names([["", "Meta", ""], ["Day", "Spend", "Clicks"]], 3)
    ['Day', 'Meta Spend', 'Meta Clicks']
    """
    monthly = _are_months([cell for row in rows for cell in row])
    lines = [[_name_of(cell_at(row, at), monthly) for at in range(width)] for row in rows]
    if not filled:
        for number, line in enumerate(lines[:-1]):
            _spread_group_names(lines, number, line)
    names = [""] * width
    for line in lines:
        if all(names) and len(set(names)) == width:
            break
        names = _append_line(names, line)
    return names


def _append_line(names: Sequence[str], line: Sequence[str]) -> list[str]:
    return [
        name if part and name.endswith(part) else " ".join(dict.fromkeys(filter(None, (name, part))))
        for name, part in zip(names, line, strict=True)
    ]


def _spread_group_names(lines: Sequence[list[str]], number: int, line: list[str]) -> None:
    """Copy the name of a column group from its first cell to the empty cells to the right, in place."""
    for at in range(1, len(line)):
        if line[at] or not line[at - 1] or not any(lower[at] for lower in lines[number + 1 :]):
            continue
        above = [upper[at] for upper in lines[:number]]
        same_group = not number or lines[number - 1][at] == lines[number - 1][at - 1]
        if not all(above) or same_group:
            line[at] = line[at - 1]


def _are_months(cells: Sequence[Cell]) -> bool:
    dates = [cell for cell in cells if isinstance(cell, date)]
    return bool(dates) and all(cell.day == 1 for cell in dates)


def _name_of(cell: Cell, monthly: bool) -> str:
    if isinstance(cell, date) and monthly:
        return f"{cell:%Y-%m}"
    return re.sub(r"\s+", " ", text_of(cell).lstrip("\ufeff"))


def _name_columns(
    head: Sequence[Sequence[Cell]], sheet: Sheet, width: int, notes: list[str], body: Sequence[Row]
) -> tuple[list[str], list[str]]:
    """Return a unique name for each column, and its unit if there is a row of units below the names."""
    units = [""] * width
    kept = [row for row in head if not _has_import_ids(row)]
    for row in kept[1:]:
        texts = [text_of(cell_at(row, at)) for at in range(width)]
        filled = [text for text in texts if text]
        matching = sum(bool(_UNIT.fullmatch(text)) for text in filled)
        repeated = len(set(filled)) < len(texts) or all(join_names(kept[:1], width))
        above = join_names(kept[: kept.index(row)], width)
        tells_nothing_apart = (
            row is not kept[-1] and all(len(text) < 9 for text in texts)
            and len(set(_append_line(above, texts))) == len(set(above)) < width
        )  # fmt: skip
        if (matching and matching >= len(filled) - 1 and repeated) or tells_nothing_apart:
            units = [text.strip("[]()") if _UNIT.fullmatch(text) or tells_nothing_apart else "" for text in texts]
            kept = [one for one in kept if one is not row]
    index = _index_names(kept, width)
    joined = join_names(kept, width, sheet.merged_filled) if kept else [""] * width
    if not sheet.header_rows and len(kept) == 1 and _first_name_is_missing(kept[0], body):
        joined = ["", *joined[:-1]]
        notes.append("The first column has no name.")
    elif not sheet.header_rows and len(kept) == 1 and _has_name_too_few(kept[0], body):
        notes.append(NAME_TOO_FEW)
    return _unique([index[at] or name for at, name in enumerate(joined)], notes), units


NAME_TOO_FEW: Final = "The header has one name too few. The file does not say which column has no name."


def _has_name_too_few(head: Sequence[Cell], body: Sequence[Row]) -> bool:
    """Return True if all rows have one more filled cell than the header has names."""
    sample = [row.cells for row in body[:200]]
    width = len(head) + 1
    return len(sample) > 1 and all(map(is_filled, head)) and all(count_filled(cells) == width for cells in sample)


def _first_name_is_missing(head: Sequence[Cell], body: Sequence[Row]) -> bool:
    """Return True if the header lacks a name for the first column, because that column numbers or names the rows."""
    width = len(head) + 1
    sample = [row.cells for row in body[:200]]
    if not sample or not all(map(is_filled, head)) or not all(len(cells) == width for cells in sample):
        return False
    first = [text_of(cells[0]) for cells in sample]
    counted = first in ([str(at + begin) for at in range(len(first))] for begin in (0, 1))
    named = len(set(first)) == len(first) and not any(map(looks_numeric, first)) and not _may_split_numbers(sample)
    return all(is_filled(cells[-1]) for cells in sample) and (counted or named)


def _may_split_numbers(rows: Sequence[Sequence[Cell]]) -> bool:
    """Return True if two columns may be one column whose numbers have separators, such as `1,250` without quotes."""
    texts = [[text_of(cell) for cell in row] for row in rows]
    return any(
        all(re.fullmatch(r"-?\d{1,3}", row[at]) and re.match(r"\d{3}(?!\d)", row[at + 1]) for row in texts)
        for at in range(1, len(texts[0]) - 1)
    )


def _index_names(kept: Sequence[Sequence[Cell]], width: int) -> list[str]:
    """Return the names of index columns in the last header row, where pandas writes them. Other columns get ""."""
    last = [text_of(cell_at(kept[-1], at)) for at in range(width)] if len(kept) > 1 else []
    is_index = last and not is_filled(cell_at(kept[0], 0)) and last[0] and sum(map(bool, last)) * 2 < width + 1
    return last if is_index else [""] * width


def _unique(names: Sequence[str], notes: list[str]) -> list[str]:
    """Return unique names: columns that share a name get numbers. Append sentences about these columns to `notes`."""
    given = [name[:_NAME_CHARS] or f"Column {at}" for at, name in enumerate(names, 1)]
    times = Counter(map(str.casefold, given))
    for name in dict.fromkeys(base.casefold() for base in given if times[base.casefold()] > 1):
        shown = next(base for base in given if base.casefold() == name)
        notes.append(f"{times[name]} columns have the name {shown!r}. They are numbered here.")
    made: list[str] = []
    taken = {name for name, count in times.items() if count == 1}
    for base in given:
        free, number = base, 1
        if times[base.casefold()] > 1:
            free = f"{base} ({number})"
        while free.casefold() in taken and times[base.casefold()] > 1:
            number += 1
            free = f"{base} ({number})"
        taken.add(free.casefold())
        made.append(free)
    return made


def is_generated_name(name: str) -> bool:
    """Return True if a name was generated, such as `Column 3`, because the file has none for the column."""
    return bool(re.fullmatch(r"Column \d+", name))
