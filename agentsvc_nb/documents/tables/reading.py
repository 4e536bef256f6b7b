"""Read the tables of a file. Call this only in a process with limits, because files may be hostile.

A file's content decides its format, not its name. Tables are read completely or not at all, so that nothing is computed
from a part of one.
"""

from __future__ import annotations

import contextlib
import gc
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Final

from agentsvc_nb.documents.decoding import decode
from agentsvc_nb.documents.media_types import table_ending
from agentsvc_nb.documents.tables.cells import read_delimited
from agentsvc_nb.documents.tables.columns import column_notes, read_columns
from agentsvc_nb.documents.tables.groups import fill_group_labels, repeats_unclearly
from agentsvc_nb.documents.tables.layout import (
    NAME_TOO_FEW,
    Row,
    TableLayout,
    arrange,
    describe_surplus,
    is_generated_name,
    looks_numeric,
    number_rows,
    split_blocks,
)
from agentsvc_nb.documents.tables.markup import read_html, read_markdown, read_word
from agentsvc_nb.documents.tables.model import (
    BYTES_MAX,
    CELLS_MAX,
    COLUMNS_MAX,
    MORE_TABLES,
    NOTES_MAX,
    TABLES_MAX,
    Cell,
    ReadColumn,
    ReadTable,
    Sheet,
    TableTooLarge,
    UnreadableTable,
    is_filled,
    text_of,
)
from agentsvc_nb.documents.tables.records import read_json, read_parquet
from agentsvc_nb.documents.tables.totals import TotalRows, describe_unchecked, find_totals
from agentsvc_nb.documents.tables.values import Hints
from agentsvc_nb.documents.tables.workbooks import read_excel_xml, read_workbook

_NAME_CHARS: Final = 60
"""The maximum length of a column name in a .txt file. Longer texts are taken for sentences."""
_WORKBOOKS: Final = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_TOO_MANY_CELLS: Final = (
    f"The file has more than {CELLS_MAX:,} cells, so nothing was computed. Leave out columns, split the file, or save "
    f"it as CSV, which may have {BYTES_MAX // 10**6} MB."
)
_TOO_MANY_COLUMNS: Final = (
    f"A table of the file has more than {COLUMNS_MAX:,} columns, so nothing was computed. Save the columns that you "
    "need as a file of their own."
)


def read_tables(name: str, media_type: str, file: Path, cells_max: int | None = None) -> list[ReadTable]:
    """Read all tables of a file.

    Args:
        name: The file's name. Its extension decides the format if the content does not. Tables without a name of their
            own get this name.
        media_type: Decides the format if the file extension is not that of a table format.
        file: The path from which to read the file.
        cells_max: For a preview: the approximate number of cells to read from the beginning of the file. The tables
            then tell how many rows and columns are left out. Without this argument, a file that exceeds the limits
            raises `TableTooLarge`.

    Raises:
        UnreadableTable: The file has no table, or is damaged.
        OSError: The file does not exist.

    >>> [table] = read_tables("sales.csv", "text/csv", Path("sales.csv"))  # doctest: +SKIP
    >>> table.columns[0].kind  # doctest: +SKIP
    'number'
    """
    ending = table_ending(name, media_type)
    if not ending:
        raise UnreadableTable("The file is not a table.")
    if file.stat().st_size > BYTES_MAX:
        raise TableTooLarge(f"The file is larger than {BYTES_MAX // 10**6} MB, so nothing was computed. Split it.")
    with _without_garbage_collection():
        try:
            sheets = _read_sheets(PurePosixPath(name.removesuffix(".gz")).stem, ending, file, cells_max or CELLS_MAX)
        except RecursionError:
            raise UnreadableTable("The file is nested too deeply.") from None
        if cells_max is None:
            _check_whole(sheets)
        return _read_all(sheets, cells_max is None)


def _read_all(sheets: Sequence[Sheet], whole: bool) -> list[ReadTable]:
    tables: list[ReadTable] = []
    for sheet in sheets:
        blocks = split_blocks(sheet)
        named = 0
        for block in blocks:
            if len(tables) > TABLES_MAX:
                break
            if not any(is_filled(cell) for row in block.rows for cell in row.cells):
                continue
            if (layout := arrange(block, sheet)) is None or not (table := read_layout(layout, sheet, whole)):
                continue
            named += 1
            tables.append(table if named == 1 else replace(table, name=f"{table.name} ({named})"))
        if named > 1:
            note = f"The sheet has {named} tables." if sheet.blank_rows_divide else f"The file has {named} tables."
            tables[-named:] = [replace(table, notes=(*table.notes, note)) for table in tables[-named:]]
    if len(tables) > TABLES_MAX:
        tables = [replace(table, notes=(*table.notes, MORE_TABLES)) for table in tables[:TABLES_MAX]]
    return tables


def _check_whole(sheets: Iterable[Sheet]) -> None:
    for sheet in sheets:
        if sheet.rows_left_out:
            raise TableTooLarge(_TOO_MANY_CELLS)
        if sheet.columns_left_out:
            raise TableTooLarge(_TOO_MANY_COLUMNS)


@contextlib.contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Pause the garbage collector: it would take as long as reading, and cells have no reference cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


# The format


def _read_sheets(name: str, ending: str, file: Path, cells_max: int) -> list[Sheet]:
    """Read the cells of a file. Its first bytes decide the format, else its extension."""
    with file.open("rb") as opened:
        head = opened.read(8)
    if head[:4] == b"PAR1":
        return read_parquet(name, file, cells_max)
    data = file.read_bytes()
    if head[:2] == b"\x1f\x8b":
        data = _unzipped(data)
        head = data[:8]
    if head[:4] == b"%PDF":
        raise UnreadableTable("The file is a PDF. Tables are not read from PDFs.")
    if head[:2] == b"PK":
        is_word = any(one.startswith("word/") for one in _parts_of_zip(data))
        return read_word(name, data, cells_max) if is_word else read_workbook(data, cells_max)
    if head == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        return read_workbook(data, cells_max)
    if ending in (".parquet", ".pq", ".docx"):
        raise UnreadableTable(
            f"The file is not {'a Word document' if ending == '.docx' else 'Parquet'}, or is damaged."
        )
    return _read_text(name, ending, data, cells_max)


def _unzipped(data: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            data = packed.read(BYTES_MAX + 1)
    except (OSError, EOFError, zlib.error):
        raise UnreadableTable("The gzip file is damaged.") from None
    if len(data) > BYTES_MAX:
        raise TableTooLarge(
            f"The file unpacks to more than {BYTES_MAX // 10**6} MB, so nothing was computed. Split it."
        )
    return data


def _parts_of_zip(data: bytes) -> list[str]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as parts:
            return parts.namelist()
    except (zipfile.BadZipFile, ValueError):
        return []


def _read_text(name: str, ending: str, data: bytes, cells_max: int) -> list[Sheet]:
    decoded = decode(data[:8_000], cut=True)
    begin = decoded.text.lstrip("\ufeff \t\r\n") if decoded else ""
    if begin[:1] == "<" and "urn:schemas-microsoft-com:office:spreadsheet" in begin:
        return read_excel_xml(data, cells_max)
    if ending in (".md", ".markdown"):
        return read_markdown(name, data, cells_max)
    if ending in (".html", ".htm", ".xhtml") or re.match(
        r"(?i)<(?:!doctype html|html|head|body|table|div|meta|style)", begin
    ):
        return read_html(name, data, cells_max)
    if ending in (".json", ".jsonl", ".ndjson"):
        return read_json(name, data)
    if begin[:1] in ("[", "{"):
        with contextlib.suppress(UnreadableTable):
            return read_json(name, data)
    sheet = read_delimited(name, data, "\t" if ending in (".tsv", ".tab") else "", cells_max)
    if ending == ".txt" and not _is_table(sheet):
        return []
    if ending in _WORKBOOKS and not sheet.delimiter:
        raise UnreadableTable("The file is not a workbook, or is damaged.")
    return [sheet]


def _is_table(sheet: Sheet) -> bool:
    """Return True if a text is a table rather than prose with commas: most lines are rows with equally many cells,
    below short names."""
    blocks = [block.rows for block in split_blocks(sheet)]
    rows = max(blocks, key=len, default=[])
    if not sheet.delimiter or len(rows) < 3 or len(rows) * 2 < sum(map(len, blocks)):
        return False
    names = [text_of(cell) for cell in rows[0].cells if is_filled(cell)]
    widths = {len(row.cells) - (not is_filled(row.cells[-1])) for row in rows}
    if len(widths) > 1 or max(widths) < 2 or any(len(name) > _NAME_CHARS for name in names):
        return False
    body = [row.cells for row in rows[1:]]
    typed = any(sum(looks_numeric(one[at]) for one in body) * 4 >= len(body) * 3 for at in range(max(widths)))
    return typed or sheet.delimiter in "\t|"


# A table


def read_layout(layout: TableLayout, sheet: Sheet, whole: bool = True) -> ReadTable | None:
    """Find the types of a table's columns and convert the cells to them. Leave out totals and headings.

    Return None if no column remains.
    """
    columns_left_out = sheet.columns_left_out + max(0, len(layout.names) - COLUMNS_MAX)
    if whole and columns_left_out:
        raise TableTooLarge(_TOO_MANY_COLUMNS)
    names, rows = layout.names[:COLUMNS_MAX], layout.rows
    hints = Hints("," if sheet.decimal_comma else "." if sheet.delimiter == "," else "")
    columns = read_columns(names, _transpose(rows, len(names)), hints)
    if missing := missing_marks(layout):
        texts = {at for at, column in enumerate(columns) if column.kind == "text"}
        rows = [_without_marks(row, missing, texts) for row in rows]
        columns = read_columns(names, _transpose(rows, len(names)), hints)
    totals = find_totals([row.cells for row in rows], columns, sheet.footer_rows)
    headings = set(_find_headings(rows, columns)) - totals.totals
    notes = [f"Lines above the table: {' / '.join(layout.titles)}."] if layout.titles else []
    notes += [*sheet.notes, *layout.notes, *total_notes(totals, [row.number for row in rows])]
    if headings:
        shown = ", ".join(f"{text_of(rows[at].cells[0])!r}" for at in sorted(headings)[:5])
        notes.append(f"{number_rows([rows[at].number for at in sorted(headings)])} left out: headings ({shown}).")
    if out := totals.totals | headings:
        rows = [row for at, row in enumerate(rows) if at not in out]
        columns = read_columns(names, _transpose(rows, len(names)), hints)
    if NAME_TOO_FEW in layout.notes:
        columns = [replace(column, doubt=NAME_TOO_FEW) for column in columns]
    rows, filled = fill_group_labels(rows, columns)
    if filled:
        columns = read_columns(names, _transpose(rows, len(names)), hints)
        notes.append(f"{names[0]}: {filled} empty cells belong to the group label above them.")
    elif repeats_unclearly(rows, columns):
        doubt = (
            "Most cells are empty. Do they belong to the label above them? The file does not say, so they "
            "count as empty."
        )
        columns[0] = replace(columns[0], doubt=doubt, notes=(*columns[0].notes, doubt))
    total_rows = tuple(layout.rows[at].number for at in sorted(totals.totals))
    columns = [
        replace(column, unit=column.unit or unit) if unit and column.kind == "number" else column
        for column, unit in zip(columns, layout.units, strict=False)
        if not is_generated_name(column.name) or any(map(is_filled, column.cells))
    ]
    if not columns:
        return None
    doubts = [
        describe_surplus(sorted({row.number for row in rows}.intersection(layout.surplus))),
        _hidden_sentence(rows, sheet),
        describe_unchecked(totals.unchecked) if totals.unchecked else "",
        total_doubts(totals, [row.number for row in layout.rows]),
    ]
    doubt = " ".join(filter(None, doubts))
    notes += [doubt] if doubt else []
    if layout.footers:
        notes.append(f"Lines below the table: {' / '.join(layout.footers[:20])}.")
    return ReadTable(
        sheet.name,
        tuple(columns),
        len(rows),
        compact_numbers([row.number for row in rows]),
        tuple((notes + column_notes(columns))[:NOTES_MAX]),
        tuple(layout.titles),
        total_rows,
        sheet.encoding,
        sheet.delimiter,
        sheet.rows_left_out,
        columns_left_out,
        doubt,
        total_warning(totals, [row.number for row in layout.rows]),
    )


_LEGEND: Final = re.compile(
    r"(?i)(\S{1,5})\s*[=:]\s*(?:values? )?(?:is |are |was |were )?"
    r"(?:missing|no data|not? (?:available|measured|recorded|reported)|unknown|fehlend|keine daten|manquant)\b.*"
)


def missing_marks(layout: TableLayout) -> frozenset[str]:
    """Return the texts that mean "no value" according to a line above or below the table, such as `M = missing`."""
    lines = [part.strip() for line in (*layout.titles, *layout.footers) for part in re.split(r"[;,]", line)]
    return frozenset(found[1] for line in lines if (found := _LEGEND.fullmatch(line)))


def _without_marks(row: Row, marks: Collection[str], texts: Collection[int]) -> Row:
    if not any(isinstance(cell, str) and cell.strip() in marks for cell in row.cells):
        return row
    cells = ["" if at not in texts and text_of(cell) in marks else cell for at, cell in enumerate(row.cells)]
    return Row(row.number, cells)


def _hidden_sentence(rows: Sequence[Row], sheet: Sheet) -> str:
    """Return a sentence that says how many rows a filter of the workbook hides and that they count, or ""."""
    hidden = sum(row.number in sheet.hidden_rows for row in rows)
    if not hidden:
        return ""
    return f"A filter hides {hidden:,} of the {len(rows):,} rows, but all rows count. Delete rows to leave them out."


def _transpose(rows: Sequence[Row], width: int) -> list[Sequence[Cell]]:
    columns = list(zip(*(row.cells for row in rows), strict=True)) if rows else [()] * width
    return [*columns[:width]]


def compact_numbers(numbers: list[int]) -> Sequence[int]:
    """Return the numbers as a `range` if they are consecutive, else unchanged."""
    whole = range(numbers[0], numbers[-1] + 1) if numbers else range(0)
    return whole if len(whole) == len(numbers) else numbers


def _find_headings(rows: Sequence[Row], columns: Sequence[ReadColumn]) -> list[int]:
    """Return the indexes of rows that are headings of the rows below: all cells have the same text, even in columns of
    numbers or dates."""
    if len(columns) < 3 or all(column.kind == "text" for column in columns):
        return []
    same = [
        at for at, row in enumerate(rows)
        if isinstance(row.cells[0], str) and row.cells[0] == row.cells[1] == row.cells[-1] and is_filled(row.cells[0])
        and len(set(map(text_of, row.cells))) == 1
    ]  # fmt: skip
    return [at for at in same if any(column.kind != "text" and column.values[at] is None for column in columns)]


_UNPROVEN: Final = "Row {} left out: it is called a total, but the rows do not add up to it."


def total_notes(found: TotalRows, numbers: Sequence[int] | Mapping[int, int]) -> list[str]:
    """Return sentences about rows that are left out as totals, and rows that count although they are called totals."""
    notes = []
    proven = [numbers[at] for at in sorted(found.totals) if at not in (*found.unproven, *found.doubted)]
    if len(proven) == 1:
        place = "above" if proven[0] > numbers[0] else "below"
        notes.append(f"Row {proven[0]} left out: total of the rows {place}.")
    elif proven:
        notes.append(f"{number_rows(proven)} left out: totals of other rows.")
    notes += [_UNPROVEN.format(numbers[at]) for at in found.unproven]
    notes += [
        f"Row {numbers[at]} is called a total but is not the sum of other rows, so it counts." for at in found.kept[:5]
    ]
    return notes


def total_warning(found: TotalRows, numbers: Sequence[int] | Mapping[int, int]) -> str:
    """Return sentences about rows that are left out as totals, although the other rows do not add up to them.

    Return "" if there are none, or if the table has another total to which rows do add up.
    """
    if not found.unproven or found.totals - {*found.unproven, *found.doubted}:
        return ""
    return " ".join(_UNPROVEN.format(numbers[at]) for at in found.unproven)


def total_doubts(found: TotalRows, numbers: Sequence[int] | Mapping[int, int]) -> str:
    """Return sentences about the rows that may be totals or data, and what the user can do about them, or ""."""
    said = []
    for places, left_out in ((found.doubted, True), (found.unnamed, False)):
        if not places:
            continue
        rows = number_rows([numbers[at] for at in places])
        totals, them, they_are = ("a total", "it", "it is") if len(places) == 1 else ("totals", "them", "they are")
        if left_out:
            said.append(f"{rows} left out as {totals}, although the other rows do not add up to {them}.")
            said.append(f"If {they_are} data, rename {them} and ask again.")
        else:
            said.append(f"{rows} counted, although {they_are} the sum of the rows above.")
            said.append(f"If {they_are} {totals}, delete {them} and ask again.")
    return " ".join(said)
