"""Tables in files whose cells have types: JSON (lists of records, records a line, columns of lists, and what pandas
writes), the sheets of workbooks (Excel, new and old, and OpenDocument), and Parquet."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

from agentsvc_nb.documents.tables.delimited import decoded_table
from agentsvc_nb.documents.tables.model import (
    BYTES_MAX,
    CELLS_MAX,
    COLUMNS_MAX,
    TABLES_MAX,
    RawTable,
    TableNotes,
    UnreadableTable,
    because,
)

_LEVELS: Final = 4
"""Levels of objects within a record whose members become columns, named such as `address.city`."""
_LOOKED_AT: Final = 10_000
"""Members of a document in which tables are looked for."""
_JSON_CHARS: Final = 2_000
_DIGITS_MAX: Final = 60


def read_json(name: str, file: Path) -> list[RawTable]:
    """The tables of a JSON document, or of lines of JSON. Raises `UnreadableTable`, and `RecursionError`."""
    decoded = decoded_table(file.read_bytes())
    text = decoded.text.lstrip("\ufeff")
    notes = TableNotes(encoding=decoded.encoding)
    try:
        document = _loads(text)
    except ValueError as error:
        return [_lines(name, text, notes, error)]
    found = [_table(title, rows, notes) for title, rows in _tables(name, document)]
    if not found and isinstance(document, dict) and document:
        found = [_table(name, _rows([document]), notes)]
    return found


def _table(name: str, rows: _Rows, notes: TableNotes) -> RawTable:
    notes = replace(notes, rows_left_out=rows.rows_left_out, columns_left_out=rows.columns_left_out)
    return RawTable(name, rows.rows, rows.header, notes, first_number=0 if rows.header == 0 else 1)


class _Rows(NamedTuple):
    """The rows of a table, the names of its columns first, and how many rows and columns are beyond the limits."""

    rows: list[Sequence[Any]]
    rows_left_out: int = 0
    columns_left_out: int = 0
    header: int | None = 0


def read_json_lines(name: str, file: Path) -> list[RawTable]:
    """The records of a file that has one a line. Raises `UnreadableTable`, and `RecursionError`."""
    decoded = decoded_table(file.read_bytes())
    return [
        _lines(name, decoded.text.lstrip("\ufeff"), TableNotes(encoding=decoded.encoding), ValueError("no records"))
    ]


def _loads(text: str) -> Any:
    return json.loads(text, parse_float=_number, parse_int=_number, parse_constant=lambda _: None)


def _number(digits: str) -> Decimal | str:
    """The exact number; one that no calculation could hold stays a text."""
    number = Decimal(digits)
    return number if len(digits) <= _DIGITS_MAX and abs(number.adjusted()) <= _DIGITS_MAX else digits


def _lines(name: str, text: str, notes: TableNotes, error: ValueError) -> RawTable:
    records, broken = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            records.append(_loads(line))
        except ValueError:
            broken.append(number)
            if len(broken) > 1 + len(records):
                break
    if not records or len(broken) > len(records):
        raise UnreadableTable(f"The file is no JSON: {because(error)}.")
    if broken:
        notes = notes.also(f"Lines that are no JSON are left out: {len(broken)} (the first is line {broken[0]}).")
    return _table(name, _as_rows(records) or _rows(records), notes)


def _tables(name: str, document: Any) -> Iterable[tuple[str, _Rows]]:
    """The tables in a document with their names, those of its members' members too."""
    waiting: list[tuple[str, Any, int]] = [(name, document, 0)]
    for title, part, level in waiting:
        rows = _as_rows(part)
        if rows:
            yield title, rows
        elif isinstance(part, dict) and level < _LEVELS and len(waiting) < _LOOKED_AT:
            waiting += [(key, value, level + 1) for key, value in part.items() if isinstance(value, dict | list)]


def _as_rows(part: Any) -> _Rows | None:
    """The rows of what is a table; None if it is none."""
    if isinstance(part, list):
        if part and all(isinstance(one, dict) for one in part):
            return _rows(part)
        if len(part) > 1 and all(isinstance(one, list) for one in part) and part[0]:
            return _Rows([[_cell(value) for value in row] for row in part], header=None)
        return None
    if not isinstance(part, dict) or not part:
        return None
    names, data = part.get("columns"), part.get("data")
    if isinstance(names, list) and isinstance(data, list) and all(isinstance(row, list) for row in data):
        return _Rows([[str(one) for one in names], *([_cell(value) for value in row] for row in data)])
    values = list(part.values())
    if all(isinstance(value, list) and value for value in values):
        even = len({len(value) for value in values}) == 1 and not any(map(_is_nested, values))
        return _Rows([list(part), *zip(*values, strict=True)]) if even else None
    if len(values) > 1 and all(isinstance(value, dict) and value for value in values):
        return _crossed(part)
    return None


def _crossed(part: dict[str, dict[str, Any]]) -> _Rows | None:
    """A table of records by name, or of columns of cells by row's name, if all have the same members."""
    members = [tuple(value) for value in part.values()]
    if len(set(members)) > 1 or any(_is_nested(value.values()) for value in part.values()):
        return None
    rows: list[Sequence[Any]] = [list(part)]
    if all(key.isdecimal() for key in members[0]):  # as pandas writes columns
        return _Rows([*rows, *zip(*(value.values() for value in part.values()), strict=True)])
    rows = [["name", *members[0]]]
    rows += ([key, *value.values()] for key, value in part.items())
    return _Rows(rows)


def _is_nested(cells: Iterable[Any]) -> bool:
    return any(isinstance(cell, dict | list) for cell in cells)


def _rows(records: Sequence[Any]) -> _Rows:
    """A row of names, then one for each record; members of objects within are columns of their own."""
    flat = [_flat(record) for record in records]
    names = list(dict.fromkeys(name for record in flat for name in record))
    kept = names[:COLUMNS_MAX]
    room = max(1, CELLS_MAX // max(1, len(kept)))
    rows: list[Sequence[Any]] = [kept]
    rows += ([record.get(name) for name in kept] for record in flat[:room])
    return _Rows(rows, max(0, len(flat) - room), len(names) - len(kept))


def _flat(record: Any) -> dict[str, Any]:
    if not isinstance(record, dict):
        return {"value": _cell(record)}
    if not any(isinstance(value, dict | list) for value in record.values()):
        return record
    found: dict[str, Any] = {}
    within = [("", iter(record.items()))]
    while within:
        before, members = within[-1]
        member = next(members, None)
        if member is None:
            within.pop()
        elif isinstance(member[1], dict) and member[1] and len(within) <= _LEVELS:
            within.append((f"{before}{member[0]}.", iter(member[1].items())))
        else:
            found[before + member[0]] = _cell(member[1])
    return found


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=_plain)[:_JSON_CHARS]
    return value


def _plain(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


ENGINE: Final[dict[str, Any]] = {
    "memory_limit": "1GB",
    "temp_directory": "",
    "max_temp_directory_size": "0KB",
    "threads": 1,
    # Messages name them, and the machine's user with them.
    "home_directory": "-",
    "secret_directory": "-",
    "extension_directory": "-",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
"""No temporary files, beside which SQL could write its own; no downloads of extensions; no access to the variables of
this process."""
_UNPACKED_MAX: Final = 4 * BYTES_MAX


def read_workbook(name: str, file: Path, cells_max: int = CELLS_MAX) -> list[RawTable]:
    """Every sheet with cells, by its name, up to so many cells of all. Raises `UnreadableTable`."""
    from python_calamine import CalamineError, CalamineWorkbook

    data = file.read_bytes()
    _check_unpacked_size(data)
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        found: list[RawTable] = []
        room = cells_max
        for sheet_name in book.sheet_names:
            if len(found) > TABLES_MAX:
                break
            sheet = book.get_sheet_by_name(sheet_name)
            if sheet.end is None:
                continue
            height, width = sheet.end[0] + 1, sheet.end[1] + 1
            rows = sheet.to_python(skip_empty_area=False, nrows=max(1, min(height, room // width)))
            room -= len(rows) * width
            notes = TableNotes(rows_left_out=height - len(rows))
            blanked = [[_sheet_cell(cell) for cell in row] for row in rows]
            _fill_merged(blanked, sheet.merged_cell_ranges or ())
            found.append(RawTable(sheet_name, [*blanked], notes=notes))
    except CalamineError as error:
        raise UnreadableTable(f"The workbook can't be read: {because(error)}.") from None
    return found


def _sheet_cell(cell: Any) -> Any:
    """The cell, with None for an empty one, and numbers with the fifteen digits that a workbook shows."""
    if isinstance(cell, float) and not cell.is_integer():
        return float(f"{cell:.15g}")
    return None if cell == "" else cell


def _fill_merged(rows: list[list[Any]], merged: Iterable[tuple[tuple[int, int], tuple[int, int]]]) -> None:
    """Repeat a cell that reaches over several rows in each of them."""
    for (top, left), (bottom, _) in merged:
        for at in range(top + 1, min(bottom + 1, len(rows))):
            if left < len(rows[at]):
                rows[at][left] = rows[top][left]


def _check_unpacked_size(data: bytes) -> None:
    """Refuse a zip bomb; one that declares a false size is stopped by the process's limits."""
    packed = io.BytesIO(data)
    if zipfile.is_zipfile(packed):
        with zipfile.ZipFile(packed) as parts:
            if sum(part.file_size for part in parts.infolist()) > _UNPACKED_MAX:
                raise UnreadableTable(f"The workbook unpacks to more than {_UNPACKED_MAX // 10**6} MB.")


def read_parquet(name: str, file: Path, cells_max: int = CELLS_MAX) -> list[RawTable]:
    """The file's table. Raises `UnreadableTable`."""
    import duckdb

    try:
        with duckdb.connect(":memory:", config=ENGINE) as engine:
            table = engine.read_parquet(str(file))
            columns = table.columns
            kept = columns[:COLUMNS_MAX]
            count = engine.execute("SELECT sum(num_rows) FROM parquet_file_metadata(?)", [str(file)]).fetchall()
            whole = int(count[0][0] or 0)
            shown = ", ".join(f'"{column.replace(chr(34), chr(34) * 2)}"' for column in kept)
            rows = table.project(shown).limit(max(1, cells_max // max(1, len(kept)))).fetchall()
    except duckdb.Error as error:
        why = because(ValueError(str(error).replace(str(file), "file")))
        raise UnreadableTable(f"The Parquet file can't be read: {why}.") from None
    notes = TableNotes(rows_left_out=max(0, whole - len(rows)), columns_left_out=len(columns) - len(kept))
    return [RawTable(name, [kept, *rows], 0, notes, first_number=0)]
