"""Read tables from JSON (in several shapes), JSON Lines and Parquet files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.documents.tables.cells import decode_table
from agentsvc_nb.documents.tables.model import CELLS_MAX, COLUMNS_MAX, Cell, Sheet, UnreadableTable, summarize

_LEVELS: Final = 4
"""The maximum depth of nested objects whose members become columns of their own, with names such as `address.city`."""
_MEMBERS_MAX: Final = 10_000
"""The maximum number of parts of a JSON document to search for tables."""
_JSON_CHARS: Final = 2_000
_DIGITS_MAX: Final = 60


def read_json(name: str, data: bytes) -> list[Sheet]:
    """Read the tables of a JSON document, or of a text with one JSON record per line.

    Raises:
        UnreadableTable: The file is not JSON.
        RecursionError: The JSON is nested too deeply.
    """
    decoded = decode_table(data)
    text = decoded.text.lstrip("\ufeff")
    try:
        document = _parse(text)
    except ValueError as error:
        found = [_read_lines(name, text, error)]
    else:
        found = [sheet for title, part in _parts(name, document) if (sheet := _as_sheet(title, part))]
        if not found and isinstance(document, dict) and document:
            found = [_from_records(name, [document])]
    for sheet in found:
        sheet.encoding = decoded.encoding
    return found


def _parse(text: str) -> Any:
    return json.loads(text, parse_float=_number, parse_int=_number, parse_constant=lambda _: None)


def _number(digits: str) -> Decimal | str:
    """Return the exact number, or the text unchanged if the number has too many digits for calculations."""
    number = Decimal(digits)
    return number if len(digits) <= _DIGITS_MAX and abs(number.adjusted()) <= _DIGITS_MAX else digits


def _read_lines(name: str, text: str, error: ValueError) -> Sheet:
    records, broken = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            records.append(_parse(line))
        except ValueError:
            broken.append(number)
            if len(broken) > 1 + len(records):
                break
    if not records or len(broken) > len(records):
        raise UnreadableTable(f"The file is not JSON: {summarize(error)}.")
    sheet = _as_sheet(name, records) or _from_records(name, records)
    if broken:
        sheet.notes.append(f"Lines that are not JSON are left out: {len(broken)} (the first is line {broken[0]}).")
    return sheet


def _parts(name: str, document: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name and value of each part of a JSON document that has the shape of a table. Do not search inside such
    a part."""
    waiting: list[tuple[str, Any, int]] = [(name, document, 0)]
    for title, part, level in waiting:
        if _as_sheet(title, part):
            yield title, part
        elif isinstance(part, dict) and level < _LEVELS and len(waiting) < _MEMBERS_MAX:
            waiting += [(key, value, level + 1) for key, value in part.items() if isinstance(value, dict | list)]


def _as_sheet(name: str, part: Any) -> Sheet | None:
    """Return the cells of a part of a document if it has the shape of a table, else None."""
    match part:
        case [dict(), *others] if all(isinstance(one, dict) for one in others):
            return _from_records(name, part)
        case [[_, *_], _, *_] if all(isinstance(one, list) for one in part):
            return Sheet(name, [[_cell(value) for value in row] for row in part])
        case {"columns": list(names), "data": list(rows)} if all(isinstance(row, list) for row in rows):
            return _headed(name, list(map(str, names)), [[_cell(value) for value in row] for row in rows])
        case dict() if part:
            values = list(part.values())
            if all(isinstance(value, list) and value for value in values):
                even = len({len(value) for value in values}) == 1 and not any(map(_is_nested, values))
                return _headed(name, list(part), [*zip(*values, strict=True)]) if even else None
            if len(values) > 1 and all(isinstance(value, dict) and value for value in values):
                return _from_named_records(name, part)
    return None


def _headed(name: str, names: list[str], rows: Iterable[Sequence[Cell]]) -> Sheet:
    return Sheet(name, [names, *rows], header_rows=1, first_number=0)


def _from_named_records(name: str, part: dict[str, dict[str, Any]]) -> Sheet | None:
    """Return the cells of an object whose values are records, or columns as pandas writes them.

    Return None if these values have different members or contain nested values.
    """
    members = [tuple(value) for value in part.values()]
    if len(set(members)) > 1 or any(_is_nested(value.values()) for value in part.values()):
        return None
    if all(key.isdecimal() for key in members[0]):  # row numbers as keys: pandas writes columns so
        return _headed(name, list(part), zip(*(value.values() for value in part.values()), strict=True))
    return _headed(name, ["name", *members[0]], ([key, *value.values()] for key, value in part.items()))


def _is_nested(cells: Iterable[Any]) -> bool:
    return any(isinstance(cell, dict | list) for cell in cells)


def _from_records(name: str, records: Sequence[Any]) -> Sheet:
    """Return the cells of a list of records, one row per record. Members of nested objects become separate columns."""
    flat = [_flatten(record) for record in records]
    names = list(dict.fromkeys(name for record in flat for name in record))
    kept = names[:COLUMNS_MAX]
    room = max(1, CELLS_MAX // max(1, len(kept)))
    sheet = _headed(name, kept, ([record.get(one) for one in kept] for record in flat[:room]))
    sheet.rows_left_out, sheet.columns_left_out = max(0, len(flat) - room), len(names) - len(kept)
    return sheet


def _flatten(record: Any) -> dict[str, Any]:
    if not isinstance(record, dict):
        return {"value": _cell(record)}
    if not _is_nested(record.values()):
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


def _cell(value: Any) -> Cell:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=_plain)[:_JSON_CHARS]
    return value  # type: ignore[no-any-return]


def _plain(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


ENGINE: Final[dict[str, Any]] = {
    "memory_limit": "1GB",
    "temp_directory": "",
    "max_temp_directory_size": "0KB",
    "threads": 1,
    # Do not set real folders, because error messages would show them, and so the name of the machine's user.
    "home_directory": "-",
    "secret_directory": "-",
    "extension_directory": "-",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
"""The configuration of DuckDB connections: no temporary files, no extensions, and no access to Python objects."""


def read_parquet(name: str, file: Path, cells_max: int = CELLS_MAX) -> list[Sheet]:
    """Read the table of a Parquet file. Raises `UnreadableTable`."""
    import duckdb

    try:
        with duckdb.connect(":memory:", config=ENGINE) as engine:
            table = engine.read_parquet(str(file))
            names = table.columns[:COLUMNS_MAX]
            found = engine.execute("SELECT sum(num_rows) FROM parquet_file_metadata(?)", [str(file)]).fetchall()
            count = int(found[0][0] or 0)
            shown = ", ".join(f'"{column.replace(chr(34), chr(34) * 2)}"' for column in names)
            rows = table.project(shown).limit(max(1, cells_max // max(1, len(names)))).fetchall()
            surplus = len(table.columns) - len(names)
    except duckdb.Error as error:
        why = summarize(ValueError(str(error).replace(str(file), "file")))
        raise UnreadableTable(f"The Parquet file can't be read: {why}.") from None
    sheet = _headed(name, names, rows)
    sheet.rows_left_out, sheet.columns_left_out = max(0, count - len(rows)), surplus
    return [sheet]
