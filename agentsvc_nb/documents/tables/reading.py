"""One reader of tables, for files of any format. It belongs into a limited process, as files may be hostile.

Rows of totals and of headings among a table's rows are told apart, so that nothing is counted that is none.
"""

from __future__ import annotations

import contextlib
import gc
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from pathlib import Path, PurePosixPath
from typing import Any, Final

from agentsvc_nb.documents.media_types import table_ending
from agentsvc_nb.documents.tables.columns import Hints, plain_value, read_columns, text_of
from agentsvc_nb.documents.tables.delimited import read_delimited
from agentsvc_nb.documents.tables.layout import TableGrid, arrange, parted
from agentsvc_nb.documents.tables.markup import read_document, read_html, read_markdown
from agentsvc_nb.documents.tables.model import (
    BYTES_MAX,
    CELLS_MAX,
    COLUMNS_MAX,
    MORE_TABLES,
    TABLES_MAX,
    AsideRow,
    RawTable,
    ReadColumn,
    ReadTable,
    TableNotes,
    TableTooLarge,
    UnreadableTable,
    Value,
    is_empty,
)
from agentsvc_nb.documents.tables.numbers import number_of
from agentsvc_nb.documents.tables.typed import read_json, read_json_lines, read_parquet, read_workbook

_Reader = Callable[[str, Path, int], list[RawTable]]


MARKS: Final = {";": ",", ",": "."}
"""The decimal mark that goes with a delimiter: where decimals have a comma, semicolons divide cells."""


def read_tables(name: str, media_type: str, file: Path, cells_max: int | None = None) -> list[ReadTable]:
    """Read all tables of a file, whose name, or else media type, tells its format.

    Tables are read whole or not at all, so that nothing is computed over a part of one. A preview sets `cells_max`, to
    read about so many cells from the beginning; the notes then count the rows and columns that were left out.
    Raises `UnreadableTable`, and `OSError` when there is no such file.

    >>> [table] = read_tables("sales.csv", "text/csv", Path("sales.csv"))  # doctest: +SKIP
    >>> table.columns[0].kind  # doctest: +SKIP
    'number'
    """
    reader = _reader(name, media_type)
    if reader is None:
        raise UnreadableTable("The file is none of tables.")
    if file.stat().st_size > BYTES_MAX:
        raise TableTooLarge(f"The file is larger than {BYTES_MAX // 10**6} MB, so nothing was computed. Split it.")
    with _without_collections():
        try:
            raw = reader(PurePosixPath(name).stem, file, cells_max or CELLS_MAX)
        except RecursionError:
            raise UnreadableTable("The file nests too deeply.") from None
        if cells_max is None:
            _check_whole(one.notes for one in raw)
        parts = [part for one in raw for part in parted(one)]
        if len(parts) > TABLES_MAX:
            for part in parts:
                part.notes = part.notes.also(MORE_TABLES)
        tables = [table for part in parts[:TABLES_MAX] if (table := read_table(part)) is not None]
        if cells_max is None:
            _check_whole(one.notes for one in tables)
        return tables


def _check_whole(notes: Iterable[TableNotes]) -> None:
    """Raise `TableTooLarge` if rows or columns were left out."""
    for one in notes:
        if one.rows_left_out:
            raise TableTooLarge(
                f"The file has more than {CELLS_MAX:,} cells, so nothing was computed. Leave out columns, split the "
                f"file, or save it as plain CSV (UTF-8, dates as 2026-03-31, numbers as 1234.5), which may have "
                f"{BYTES_MAX // 10**6} MB."
            )
        if one.columns_left_out:
            raise TableTooLarge(
                f"A table of the file has more than {COLUMNS_MAX:,} columns, so nothing was computed. Save the columns "
                "that you need as a file of their own."
            )


@contextlib.contextmanager
def _without_collections() -> Iterator[None]:
    """Millions of cells make no circles: looking for them would take as long as reading."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def read_table(raw: RawTable) -> ReadTable | None:
    """The table among a file's rows, its columns typed and its rows of totals told apart; None if there is none."""
    grid = arrange(raw)
    if grid is None:
        return None
    hints = Hints(MARKS.get(raw.notes.delimiter, ""))
    columns = _without_asides(grid, hints)
    marks = sorted({column.decimal_mark for column in columns if column.decimal_mark})
    notes = replace(grid.notes, decimal_mark=" and ".join(marks))
    return ReadTable(raw.name, tuple(columns), len(grid.rows), _compact(grid.numbers), notes)


def _without_asides(grid: TableGrid, hints: Hints) -> list[ReadColumn]:
    """The columns of the grid, from which rows of totals and headings are taken out and noted."""
    totals, columns = _without_totals(grid, hints)
    if nameless := _unnamed(columns):
        totals += _taken(grid, nameless)
        columns = _read(grid, hints)
    heads: list[AsideRow] = []
    if aside := headings(grid.rows, columns):
        heads = _taken(grid, aside)
        columns = _read(grid, hints)
    totals.sort(key=lambda row: row.number)
    grid.notes = replace(grid.notes, headings=tuple(heads), totals=tuple(totals))
    return columns


def _without_totals(grid: TableGrid, hints: Hints) -> tuple[list[AsideRow], list[ReadColumn]]:
    """The rows called totals, which are taken out, and the columns of the others."""
    rows, numbers, doubtful = grid.rows, grid.numbers, _suspects(grid.rows)
    totals = _taken(grid, doubtful)
    columns = _read(grid, hints)
    sure = set(_confirmed(rows, doubtful, columns))
    wrong = [at for at in doubtful if at not in sure]
    if wrong:
        first = f"Row {numbers[wrong[0]]} is called {_cells(rows[wrong[0]])[0]}"
        grid.notes = grid.notes.also(f"{first}, but adds nothing up, so it counts as a row.")
        grid.rows, grid.numbers = rows, numbers
        totals = _taken(grid, sorted(sure))
        columns = _read(grid, hints)
    return totals, columns


def _taken(grid: TableGrid, places: Sequence[int]) -> list[AsideRow]:
    """Take rows out of the grid."""
    out = [AsideRow(grid.numbers[at], _cells(grid.rows[at])) for at in places]
    if gone := set(places):
        grid.rows = [row for at, row in enumerate(grid.rows) if at not in gone]
        grid.numbers = [number for at, number in enumerate(grid.numbers) if at not in gone]
    return out


def _read(grid: TableGrid, hints: Hints) -> list[ReadColumn]:
    cells = list(zip(*grid.rows, strict=True)) if grid.rows else [()] * len(grid.names)
    return read_columns(grid.names, cells, hints)


def _cells(row: Sequence[Any]) -> tuple[str, ...]:
    return tuple(cell if isinstance(cell, str) else text_of(plain_value(cell)) for cell in row)


def _compact(numbers: list[int]) -> Sequence[int]:
    """The same numbers as a range, if they follow each other."""
    whole = range(numbers[0], numbers[-1] + 1) if numbers else range(0)
    return whole if len(whole) == len(numbers) else numbers


def _delimited(name: str, file: Path, cells_max: int) -> list[RawTable]:
    return [read_delimited(name, file.read_bytes(), cells_max=cells_max)]


def _tabbed(name: str, file: Path, cells_max: int) -> list[RawTable]:
    return [read_delimited(name, file.read_bytes(), tabs=True, cells_max=cells_max)]


def _whole(reader: Callable[[str, Path], list[RawTable]]) -> _Reader:
    return lambda name, file, _: reader(name, file)


_BY_ENDING: Final[dict[str, _Reader]] = {
    ".csv": _delimited,
    **dict.fromkeys((".tsv", ".tab"), _tabbed),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), read_workbook),
    ".json": _whole(read_json),
    **dict.fromkeys((".jsonl", ".ndjson"), _whole(read_json_lines)),
    **dict.fromkeys((".html", ".htm", ".xhtml"), _whole(read_html)),
    **dict.fromkeys((".md", ".markdown"), _whole(read_markdown)),
    ".docx": _whole(read_document),
    **dict.fromkeys((".parquet", ".pq"), read_parquet),
}


def _reader(name: str, media_type: str) -> _Reader | None:
    return _BY_ENDING.get(table_ending(name, media_type))


_SURE: Final = re.compile(
    r"(?ix)\s*(?: (?:grand|sub|overall|account|campaigns?|report|column|running)[ -]?totals?"
    r" | totals?\s*[:\u2013\u2014-]\s*\w.* | totals?\s*:"
    r" | (?:gesamt|zwischen|end)(?:summe|ergebnis|betrag)n? | gesamt\s*: .* | summe | summe\s*[:(].*"
    r" | total\s+g[ée]n[ée]ral | sous-total | suma(?:\s+total)? | total\s+general | totaal"
    r" | totale(?:\s+generale)? | sum | sum\s*: | all\s+rows )\s*"
)
_LIKELY: Final = re.compile(
    r"(?i)\s*(?:totals?|gesamt|insgesamt|ergebnis|somme|overall|all|alle|tous|todos)(?:\s*\(.*\))?\s*"
)
_INITIALS: Final = frozenset(["", " ", *"tgsozaeicrTGSOZAEICR"])
"""What rows of totals begin with; nothing if their name stands in the next cell."""
_LABEL_MAX: Final = 100
_PRECISION: Final = 120


def headings(rows: Sequence[Sequence[Any]], columns: Sequence[ReadColumn]) -> list[int]:
    """The indices of rows that only head those below: one text in all cells, also of columns of numbers or dates."""
    if len(columns) < 3 or all(column.kind == "text" for column in columns):
        return []
    same = [at for at, row in enumerate(rows) if row[0] == row[1] == row[-1] and row[0].__class__ is str]
    told = [at for at in same if _row_text(rows[at])]
    return [at for at in told if any(column.kind != "text" and column.values[at] is None for column in columns)]


def _row_text(row: Sequence[Any]) -> str:
    """The one text that all cells have; empty if they differ."""
    return str(row[0]) if len(set(map(str, row))) == 1 and not is_empty(row[0]) else ""


def _suspects(rows: Sequence[Sequence[Any]]) -> list[int]:
    """The indices of rows whose first filled cell is a word for totals."""
    if not rows:
        return []
    firsts = ((at, row[0]) for at, row in enumerate(rows))
    may_be = [at for at, cell in firsts if cell is None or (cell.__class__ is str and cell[:1] in _INITIALS)]
    found = [at for at in may_be if is_label(_first(rows[at]))]
    return found if len(found) * 2 <= len(rows) else []


def _first(row: Sequence[Any]) -> str:
    cell = next((cell for cell in row if cell is not None and str(cell).strip()), "")
    return cell if isinstance(cell, str) else ""


def is_label(cell: str) -> bool:
    """Whether it is a word for totals."""
    return len(cell) <= _LABEL_MAX and bool(_SURE.fullmatch(cell) or _LIKELY.fullmatch(cell))


def _confirmed(rows: Sequence[Sequence[Any]], suspected: Sequence[int], columns: Sequence[ReadColumn]) -> list[int]:
    """The _suspects that are rows of totals: by their names, or because their numbers are the sums of the columns (of
    the rows without _suspects), or of what is between the suspect before and this one; the last also if its numbers are
    larger than the sums. A company called Total is none."""
    numeric = [(at, column) for at, column in enumerate(columns) if column.kind == "number"]
    whole = {at: _sum(column.values) for at, column in numeric}
    found = []
    begin = 0
    for count, place in enumerate(suspected):
        end = place - count  # among the rows without _suspects
        last = end == len(rows) - len(suspected)
        parts = {at: _sum(column.values[begin:end]) for at, column in numeric}
        begin = end
        if _SURE.fullmatch(_first(rows[place])) or _adds_up(rows[place], numeric, whole, parts, last):
            found.append(place)
    return found


def is_total(row: Sequence[Any], columns: Sequence[ReadColumn], sums: Mapping[int, Decimal], rows: int) -> bool:
    """Whether the last row, the only suspect, is one of totals, as `_confirmed` has it: below so many rows, whose
    numbers have these sums."""
    numeric = [(at, replace(columns[at], values=(None,) * rows)) for at in sums]  # only how many counts
    return bool(_SURE.fullmatch(_first(row))) or _adds_up(row, numeric, sums, sums, last=True)


def _adds_up(
    row: Sequence[Any],
    numeric: Sequence[tuple[int, ReadColumn]],
    whole: Mapping[int, Decimal],
    parts: Mapping[int, Decimal],
    last: bool,
) -> bool:
    values = [(at, column, value) for at, column in numeric if (value := _number(column, row[at])) is not None]
    for at, column, value in values:
        slack = Decimal(len(column.values)).scaleb(-column.decimals - 1) if column.decimals else Decimal(0)
        if any(total and abs(total - value) <= slack for total in (whole[at], parts[at])):
            return True
        if last and value > whole[at] > 0:
            return True
    return last and not values


def _sum(values: Iterable[Value]) -> Decimal:
    with localcontext(prec=_PRECISION):
        return sum((one for one in values if isinstance(one, Decimal)), Decimal(0))


def _number(column: ReadColumn, cell: Any) -> Decimal | None:
    if column.kind != "number":
        return None
    if isinstance(cell, str):
        return number_of(cell, column.decimal_mark)
    value = plain_value(cell)
    return value if isinstance(value, Decimal) else None


def _unnamed(columns: Sequence[ReadColumn]) -> list[int]:
    """The index of a first or last row without a name whose numbers are the sums of the others', as some exports have
    it."""
    labels = [column for column in columns if column.kind != "number"]
    numbers = [column for column in columns if column.kind == "number"]
    count = len(columns[0].values) if columns else 0
    if not labels or not numbers or count < 3:
        return []
    texts = [column for column in labels if column.kind in ("text", "boolean")] or labels
    hollow = [at for at in (0, count - 1) if not any(column.texts[at].strip() for column in texts)]
    return [at for at in hollow if any(_only_gap(column, at) for column in texts) and _is_sum(at, numbers)][:1]


def _only_gap(column: ReadColumn, at: int) -> bool:
    return not column.texts[at].strip() and sum(1 for text in column.texts if not text.strip()) == 1


def _is_sum(at: int, numbers: Sequence[ReadColumn]) -> bool:
    with localcontext(prec=_PRECISION):
        for column in numbers:
            value = column.values[at]
            known = [one for one in column.values if isinstance(one, Decimal)]
            if (
                not isinstance(value, Decimal)
                or not value
                or len(known) < 3
                or known[0] + 2 == known[1] + 1 == known[2]
            ):
                continue  # no sum; or numbers that count rows
            if sum(known, -value) == value:
                return True
    return False
