"""Read a large CSV file with DuckDB ("the engine"). The table is the same as that of `documents.tables.reading`, but
reading is much faster.

Python reads the head of the file to find its format and header. Python decides the kind of each column (such as date or
number) from a sample of its cells and from all cells that DuckDB cannot read. DuckDB reads all rows, converts their
cells to types and adds them up. If a file is not regular enough for that, Python alone reads it.
"""

from __future__ import annotations

import codecs
import contextlib
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.documents.decoding import decode
from agentsvc_nb.documents.engine.dialect import column_names, number_type, quote_name, quote_text, sql_type
from agentsvc_nb.documents.engine.loading import load_map
from agentsvc_nb.documents.engine.unchecked import BLANK, UncheckedRows
from agentsvc_nb.documents.tables.cells import ONE_COLUMN, CsvForm, encoding_notes, find_form, parse_rows
from agentsvc_nb.documents.tables.columns import column_notes, note_unread
from agentsvc_nb.documents.tables.layout import (
    NAME_TOO_FEW,
    SEPARATOR,
    TableLayout,
    arrange,
    describe_surplus,
    is_generated_name,
    is_separator,
    split_blocks,
)
from agentsvc_nb.documents.tables.model import CELLS_MAX, COLUMNS_MAX, NOTES_MAX, ReadColumn, ReadTable, Sheet
from agentsvc_nb.documents.tables.reading import missing_marks, total_doubts, total_notes, total_warning
from agentsvc_nb.documents.tables.totals import (
    Line,
    Suspects,
    TotalRows,
    decide_in_runs,
    has_total_word,
    is_only_names,
    is_starred,
    label_names,
)
from agentsvc_nb.documents.tables.values import (
    NO_HINTS,
    ColumnReading,
    Hints,
    collect_hints,
    is_currency,
    is_empty,
    parse_amount,
    parse_date,
    read_number,
    read_texts,
)

if TYPE_CHECKING:
    import duckdb

WORTH_BYTES: Final = 2_000_000
"""The minimum size of a file for the engine. Smaller files are fast in Python (27,000 rows of six cells a second)."""
CHECKED_CELLS_MAX: Final = 1_200_000
"""The maximum number of cells in a file of which Python checks each row if some may be totals, in up to 7 s."""
HEAD_BYTES: Final = 400_000
TAIL_BYTES: Final = 64_000
_SAMPLE: Final = 2_000
_UNUSUAL_MAX: Final = 300_000
"""The maximum number of distinct cells in a column that Python reads one by one."""
_REJECTS_MAX: Final = 1_000
_SUSPECTS_MAX: Final = 2_000
_MARKS_UNREAD: Final = (
    "A line of the file says which texts mean a missing value. It was ignored, because the file is large."
)
_NEVER: Final = "\\x01none\\x01"
"""The text that DuckDB reads as NULL. No file contains this text, so DuckDB reads empty cells as empty texts."""
_WORDS: Final = (
    "tota|totu|sum|som|gesamt|ergebnis|razem|ogó|celkem|spolu|összes|toplam|ukupno|yhteens|sammanlagt|итого|всего|σύνολο|kop"
    "|kokku|jumlah|tổng|overall|all|tous|todos|合計|合计|总计|總計|小計|小计|計|합계|총계|المجموع|averag|avg|mean|durchschnitt|mittel"
    "|moyenne|media|promedio|gemiddelde|średnia|genomsnitt|平均|^\\s*\\*+\\s*$"
)
"""Matches a part of every word for totals, asterisks, and some other words. `has_total_word` then decides."""


class _NotRegular(Exception):
    """The file is not regular enough for the engine, so Python must read it."""


@dataclass(frozen=True, slots=True)
class _Head:
    """Holds what the head of the file shows: the CSV format, the header and the beginning of the data."""

    form: CsvForm
    layout: TableLayout
    skip: int
    """The number of lines before the first row of data."""


@dataclass(slots=True)
class _Column:
    """A column while it is read.

    DuckDB converts the usual cells, which are all cells that one SQL expression can convert. Python reads the other
    cells ("unusual cells").
    """

    name: str
    sql: str
    reading: ColumnReading
    counts: Counter[str]
    """The cells that Python reads, with their counts: a sample, and all unusual cells."""
    usual: str = ""
    """The SQL expression for a usual cell's value. It gives NULL for unusual cells. "" if all cells are unusual."""
    largest: Decimal = Decimal(0)
    """The largest absolute number of the usual cells."""
    unusual: tuple[str, ...] = ()
    hints: Hints = NO_HINTS
    """Hints from the other columns. They are empty while the column is read for the first time."""


def load_large(engine: duckdb.DuckDBPyConnection, name: str, file: Path, delimiter: str) -> ReadTable | None:
    """Create the table `name` from a CSV file, and return its description without its cells.

    If the file is small or not regular enough, return None and create no table. `delimiter` is what the file's
    extension suggests.
    """
    if file.stat().st_size < WORTH_BYTES:
        return None
    try:
        with _regular_copy(file) as (regular, notes, encoding, footers):
            head = _read_head(regular, delimiter)
            _read_cells(engine, f"{name}_raw", regular, head)
            head.layout.footers[:] = footers
            table = _BulkLoader(engine, name, head).load()
    except _NotRegular:
        engine.execute(f"DROP TABLE IF EXISTS {name}")
        return None
    finally:
        engine.execute(f"DROP TABLE IF EXISTS {name}_raw; DROP TABLE IF EXISTS gone")
    below = [f"Lines below the table: {' / '.join(footers)}."] if footers else []
    return replace(table, notes=(*notes, *table.notes, *below)[:NOTES_MAX], encoding=encoding)


@contextlib.contextmanager
def _regular_copy(file: Path) -> Iterator[tuple[Path, list[str], str, list[str]]]:
    """Yield the path of a file for DuckDB, notes about the encoding, the encoding, and the lines below the table.

    The path is that of `file`, or of a copy that is in UTF-8, has uniform line ends, and lacks the lines below the
    table.
    """
    data = file.read_bytes()
    if data[:2] in (b"PK", b"\x1f\x8b") or data[:4] in (b"PAR1", b"%PDF", b"\xd0\xcf\x11\xe0"):
        raise _NotRegular
    if re.match(rb'(\xef\xbb\xbf)?\s*(<|\{|\[|"?sep=)', data):
        raise _NotRegular
    tail_at = len(data) - TAIL_BYTES
    blank = re.compile(rb"\n[ \t]*\r?\n")
    ends_at = len(data.rstrip(b"\x1a\r\n \t"))
    gap = blank.search(data, max(HEAD_BYTES, tail_at), ends_at)
    regular = _is_utf8(data) and b"\0" not in data and not gap and ends_at >= len(data) - 2
    if regular and data.count(b"\r") in (0, data.count(b"\n")):
        if blank.search(data, HEAD_BYTES, max(0, tail_at)):
            raise _NotRegular  # there may be several tables
        yield file, [], "utf-8", []
        return
    decoded = decode(data.removesuffix(b"\x1a"), cut=False)
    if decoded is None or decoded.text[:8].lstrip('\ufeff"').startswith("sep="):
        raise _NotRegular
    body = (
        decoded.text.replace("\0", "").lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").rstrip("\n\t \x1a")
        + "\n"
    )
    tail_start = max(HEAD_BYTES, len(body) - TAIL_BYTES)
    divided = re.compile(r"\n[ \t]*\n")
    footers: list[str] = []
    if found := divided.search(body, tail_start):
        footers = [line for line in body[found.end() :].split("\n") if line.strip()]
        body = body[: found.start() + 1]
        if len(footers) > 20 or any(len(line) > 300 for line in footers):
            raise _NotRegular
    if divided.search(body, HEAD_BYTES):
        raise _NotRegular
    notes = encoding_notes(decoded, data)
    with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8", errors="replace", newline="") as copy:
        copy.write(body)
        copy.flush()
        yield Path(copy.name), notes, decoded.encoding, footers


def _is_utf8(data: bytes) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for at in range(0, len(data), 1 << 22):
            decoder.decode(data[at : at + (1 << 22)])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _read_head(file: Path, delimiter: str) -> _Head:
    """Find the CSV format, the header and the first row of data."""
    with file.open("rb") as opened:
        data = opened.read(HEAD_BYTES)
    head = data[: data.rfind(b"\n") + 1].decode("utf-8-sig", "replace")
    form = find_form(head, delimiter)
    if form != CsvForm(form.delimiter) or form.delimiter == ONE_COLUMN:
        raise _NotRegular
    reader = form.reader(head.splitlines(keepends=True))
    rows, lines = [], []
    for row in reader:
        rows.append(row)
        lines.append(reader.line_num)
        if len(rows) > _SAMPLE:
            break
    sheet = Sheet("table", [*rows], decimal_comma=form.delimiter == ";", delimiter=form.delimiter)
    blocks = split_blocks(sheet)
    layout = arrange(blocks[0], sheet) if len(blocks) == 1 else None
    if layout is None or len(layout.rows) < 50 or not 1 < len(layout.names) <= COLUMNS_MAX or layout.footers:
        raise _NotRegular
    first = layout.rows[0].number - 1
    return _Head(form, layout, lines[first - 1] if first else 0)


def _read_cells(engine: duckdb.DuckDBPyConnection, raw: str, file: Path, head: _Head) -> None:
    """Create the table `raw` with all cells as texts.

    DuckDB rejects lines that have more or fewer cells than there are columns. Python parses these lines and appends
    them.
    """
    import duckdb

    width = len(head.layout.names)
    columns = ", ".join(f"'c{at}': 'VARCHAR'" for at in range(width))
    options = (
        f"delim = {quote_text(head.form.delimiter)}, quote = '\"', escape = '\"', header = false, skip = {head.skip},"
        f" auto_detect = false, nullstr = {quote_text(_NEVER)}, strict_mode = true, null_padding = false,"
        f" compression = 'none', ignore_errors = true, store_rejects = true, rejects_limit = {_REJECTS_MAX + 1},"
        f" max_line_size = 20000000, columns = {{{columns}}}"
    )
    try:
        engine.execute(f"CREATE TEMP TABLE {raw} AS SELECT * FROM read_csv(?, {options})", [str(file)])
        rejected = engine.execute("SELECT DISTINCT line, csv_line FROM reject_errors ORDER BY line").fetchall()
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error:
        raise _NotRegular from None
    finally:
        engine.execute("DROP TABLE IF EXISTS reject_errors; DROP TABLE IF EXISTS reject_scans")
    first = engine.execute(f"SELECT * FROM {raw} LIMIT 1").fetchone() or ()
    (count,) = engine.execute(f"SELECT count(*) FROM {raw}").fetchone() or (0,)
    if len(rejected) > _REJECTS_MAX or list(first) != list(head.layout.rows[0].cells):
        raise _NotRegular
    last = head.skip + count + len(rejected)
    surplus = []
    for number, line in rejected:
        # Appending keeps the order only for lines at the end of the file. For other lines, Python
        # reads the whole file, unless it has too many cells for Python.
        in_order = number > last - len(rejected)
        if not in_order and (
            count * width <= CELLS_MAX or any(map(has_total_word, str(line).split(head.form.delimiter)))
        ):
            raise _NotRegular
        rows, _, faulty = parse_rows(str(line), head.form)
        if faulty or len(rows) != 1:
            raise _NotRegular
        if is_separator(rows[0]):
            continue
        if any(str(cell).strip() for cell in rows[0][width:]):
            surplus.append(number)
        cells = [*map(str, rows[0][:width]), *[""] * (width - len(rows[0]))]
        engine.execute(f"INSERT INTO {raw} VALUES ({', '.join('?' * width)})", cells)
    head.layout.surplus = surplus


class _BulkLoader:
    """Converts the cells of a raw table (all cells as texts) to types, and separates data rows from totals."""

    def __init__(self, engine: duckdb.DuckDBPyConnection, name: str, head: _Head) -> None:
        self.engine, self.name, self.raw, self.layout = engine, name, f"{name}_raw", head.layout
        self.hints = Hints("," if head.form.delimiter == ";" else "." if head.form.delimiter == "," else "")
        self.delimiter = head.form.delimiter
        self.named: list[tuple[int, str]] = []
        """The cells that name a total, such as `Total`, each with the index of its column."""
        self._cut_blank_end()
        (self.rows,) = self.query_row("count(*)")

    def query_row(self, what: str, where: str = "true") -> tuple[Any, ...]:
        """Return the first row of a query over the raw table."""
        return self.engine.execute(f"SELECT {what} FROM {self.raw} WHERE {where}").fetchone() or ()

    def _cut_blank_end(self) -> None:
        """Delete blank rows at the end of the file, unless there are blank rows elsewhere."""
        blank = " AND ".join(f"c{at} = ''" for at in range(len(self.layout.names)))
        (count,) = self.query_row("count(*)", blank)
        if count:
            (end, others) = self.query_row(f"max(rowid) FILTER (NOT ({blank})), count(*)")
            if others - 1 - end == count:
                self.engine.execute(f"DELETE FROM {self.raw} WHERE rowid > {end}")

    def load(self) -> ReadTable:
        names = self.layout.names
        lines = quote_text(f"{SEPARATOR}|")
        separators = " AND ".join(f"regexp_full_match(trim(c{at}), {lines})" for at in range(len(names)))
        if self.query_row("count(*)", f"c0 <> '' AND {separators}")[0]:
            raise _NotRegular
        columns = [self._draft_column(f"c{at}", name) for at, name in enumerate(names)]
        shown = collect_hints([column.reading for column in columns], self.hints)
        for column in columns:
            if not column.reading.sure:
                column.hints = shown
                column.reading = read_texts(column.name, column.counts, shown)
                self._find_unusual(column)
        made = self._create_table(columns)
        totals = self._remove_totals(columns, made)
        unchecked = UncheckedRows(self.engine, self.name, self.raw, self.rows, made)
        first = self.layout.rows[0].number
        numbers = {at: first + at for at in (0, *totals.totals, *totals.kept, *totals.unproven)}
        surplus = describe_surplus(sorted({*self.layout.surplus} - {first + at for at in totals.totals}))
        doubt = f"{surplus} {unchecked.describe(self.named)}".strip()
        if missing_marks(self.layout):
            doubt = f"{doubt} {_MARKS_UNREAD}".strip()
        if doubt and self.rows * len(columns) <= CHECKED_CELLS_MAX:
            raise _NotRegular
        doubt = f"{doubt} {total_doubts(totals, numbers)}".strip()
        made = [self._note_unread_cells(column, read) for column, read in zip(columns, made, strict=True)]
        if NAME_TOO_FEW in self.layout.notes:
            made = [replace(read, doubt=NAME_TOO_FEW) for read in made]
        made = [
            replace(read, unit=read.unit or unit) if read.kind == "number" else read
            for read, unit in zip(made, self.layout.units, strict=True)
        ]
        notes = [f"Lines above the table: {' / '.join(self.layout.titles)}."] if self.layout.titles else []
        notes += [doubt] if doubt else []
        notes += [*self.layout.notes, *total_notes(totals, numbers)]
        made = self._name_columns(made)
        return ReadTable(
            "table",
            tuple(made),
            self.rows - len(totals.totals),
            (),
            tuple(notes + column_notes(made)),
            tuple(self.layout.titles),
            tuple(numbers[at] for at in sorted(totals.totals)),
            delimiter=self.delimiter,
            doubt=doubt,
            warning=total_warning(totals, numbers),
        )

    # Columns

    def _draft_column(self, sql: str, name: str) -> _Column:
        """Decide how to read a column, first from a sample, then also from all its unusual cells."""
        stride = self.rows // _SAMPLE + 1
        asked = f"SELECT {sql} FROM {self.raw} WHERE {{}} AND {sql} <> '' LIMIT {_SAMPLE}"
        sample = self.engine.execute(asked.format("true")).fetchall()
        sample += self.engine.execute(asked.format(f"rowid % {stride} = 0")).fetchall()
        counts = Counter(cell for (cell,) in sample)
        filled = [cell for cell in counts if not is_empty(cell)]
        if sum(1 for cell in filled if parse_amount(cell) or parse_date(cell)) * 2 < len(filled) and len(filled) > 12:
            return _Column(name, sql, ColumnReading("text", {}), Counter())
        column = _Column(name, sql, read_texts(name, counts), counts)
        self._find_unusual(column)
        return column

    def _find_unusual(self, column: _Column) -> None:
        """Find the unusual cells of a column and their counts, then decide again how to read the column.

        A new decision can change which cells are unusual, so repeat this until the decision stays the same.
        """
        for _ in range(4):
            before = column.reading
            column.usual = self._usual_value(column)
            unusual = f"{column.usual} IS NULL AND {column.sql} <> ''" if column.usual else f"{column.sql} <> ''"
            most = f"max(abs({column.usual}))" if before.kind == "number" and column.usual else "NULL"
            counts = f"count(*) FILTER ({unusual}), count({column.usual or 'NULL'})"
            (others, usual, largest) = self.query_row(f"{counts}, {most}")
            column.largest = Decimal(largest or 0)
            found = Counter[str]()
            if others:
                asked = f"SELECT {column.sql}, count(*) FROM {self.raw} WHERE {unusual} GROUP BY 1"
                found.update(dict(self.engine.execute(f"{asked} LIMIT {_UNUSUAL_MAX + 1}").fetchall()))
            if len(found) > _UNUSUAL_MAX:
                if column.reading.kind == "text":
                    column.reading = ColumnReading("text", {})
                    return
                raise _NotRegular
            kept = {cell: count for cell, count in column.counts.items() if cell not in found}
            # Multiply the counts of the sample by the number of usual cells that each represents, so that usual and
            # unusual cells keep their shares of the column.
            share = max(1, usual // max(1, sum(kept.values())))
            column.counts = (
                found
                + Counter({cell: count * share for cell, count in kept.items()})
                + self._find_certain_dates(column)
            )
            column.reading = read_texts(column.name, column.counts, column.hints)
            column.unusual = tuple(found)
            if column.reading.has_same_form(before):
                return
        raise _NotRegular

    def _find_certain_dates(self, column: _Column) -> Counter[str]:
        """Return cells that show whether the day or the month comes first, with the number of such cells in the column.

        These are a date whose first number is above 12, and one whose second number is above 12, if the column has
        them. The sample may lack them.
        """
        if column.reading.kind not in ("date", "datetime"):
            return Counter()
        found = Counter[str]()
        for pattern in (r"^\s*(1[3-9]|2\d|3[01])[-/]", r"^\s*\d{1,2}[-/]\s?(1[3-9]|2\d|3[01])[-/]"):
            what = f"min({column.sql}), count(*)"
            cell, count = self.query_row(what, f"regexp_matches({column.sql}, {quote_text(pattern)})")
            if count:
                found[cell] += count
        return found

    def _usual_value(self, column: _Column) -> str:
        """Return the SQL that reads the usual cells of a column, or "" if Python must read all its cells."""
        reading, cell = column.reading, column.sql
        if reading.kind == "number" and reading.unit != "s":
            return self._usual_number(reading, cell)
        if reading.kind not in ("date", "datetime") or reading.unit == "month":
            return ""
        type_ = sql_type(reading.kind)
        if reading.unit in ("", "UTC"):
            zone = "Z" if reading.unit else ""
            clock = (
                rf"([T ]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{{1,6}})?{zone})?"
                if reading.kind == "datetime"
                else "( 00:00:00)?"
            )
            iso = rf"\d{{4}}-\d\d-\d\d{clock}"
            stripped = f"replace({cell}, 'Z', '')" if zone else cell
            valid = f"regexp_full_match({cell}, {quote_text(iso)}) AND {cell}[:4] <> '0000'"
            value = f"CASE WHEN {valid} THEN TRY_CAST({stripped} AS {type_}) END"
        else:
            return ""
        day_first = "%d/%m/%Y" if reading.day_first else "%m/%d/%Y"
        days = [day_first, day_first.replace("/", "-"), "%d.%m.%Y"]
        clocks = ["", " %H:%M:%S", " %H:%M", " %I:%M %p", " %I:%M:%S %p"] if reading.kind == "datetime" else [""]
        forms = ", ".join(quote_text(day + clock) for clock in clocks for day in days)
        written = r"\d{1,2}([-/.])\d{1,2}[-/.](1|2)\d{3}.*"
        matches = f"regexp_full_match({cell}, {quote_text(written)})"
        other = f"CASE WHEN {matches} THEN try_strptime({cell}, [{forms}])::{type_} END"
        return f"coalesce({value}, {other})" if not reading.unit else value

    def _usual_number(self, reading: ColumnReading, cell: str) -> str:
        """Return the SQL that converts numbers with the column's unit and decimal mark, or "" if Python must read all
        cells.

        The SQL gives NULL for numbers with more decimals than `reading.decimals`, so Python reads those.
        """
        mark, places = reading.decimal_mark or ".", reading.decimals
        group = "," if mark == "." else "."
        if places > 18:
            return ""
        # Exclude numbers that Python must see: those with leading zeros, because they are codes, and `0.5`, because it
        # decides whether the point in `1.234` is a decimal mark.
        whole = r"(0|[1-9]\d{0,14})"
        if reading.decimal_mark:
            whole = rf"(0|[1-9]\d{{0,14}}|[1-9]\d{{0,2}}({re.escape(group)}\d{{3}})+)"
        number = whole + (rf"({re.escape(mark)}\d{{1,{places}}})?" if places else "")
        digits, shape = cell, f"-?{number}"
        if reading.unit:
            if any(char in reading.unit for char in "0123456789.,- "):
                return ""
            unit = re.escape(reading.unit)
            # A cell may lack its currency. Any other unit is required.
            before = f"(-?{unit} ?|{unit} ?-|-)?" if is_currency(reading.unit) else "-?"
            after = f"( ?{unit})?" if is_currency(reading.unit) else f" ?{unit}"
            shape, digits = f"{before}{number}{after}", f"trim(replace({cell}, {quote_text(reading.unit)}, ''))"
            if is_currency(reading.unit):
                digits = f"replace({digits}, '- ', '-')"
        if reading.decimal_mark:
            digits = f"replace({digits}, {quote_text(group)}, '')"
            digits = f"replace({digits}, ',', '.')" if mark == "," else digits
        type_ = f"DECIMAL({18 if places < 4 else 38},{places})" if places else "BIGINT"
        return f"CASE WHEN regexp_full_match({cell}, {quote_text(shape)}) THEN TRY_CAST({digits} AS {type_}) END"

    # The table

    def _create_table(self, columns: Sequence[_Column]) -> list[ReadColumn]:
        """Create the table with typed columns. Until `_name_columns`, the columns are called `c0`, `c1` and so on."""
        terms, joins, made, maps = [], [], [], 0
        for column in columns:
            reading = column.reading
            about = ReadColumn(
                column.name, reading.kind, (), (), reading.unit, reading.decimals,
                decimal_mark=reading.decimal_mark, notes=reading.notes, doubt=reading.doubt,
            )  # fmt: skip
            type_ = self._type(column)
            if reading.kind == "text":
                # Trimming takes much longer than checking whether any cell needs it.
                (spaced,) = self.query_row(f"count(*) FILTER (regexp_matches({column.sql}, {quote_text(_AT_AN_END)}))")
                terms.append(f"nullif({f'trim({column.sql}, {quote_text(_SPACES)})' if spaced else column.sql}, '')")
            elif column.unusual:
                table = f"{self.name}_m{column.sql}"
                load_map(self.engine, table, {cell: reading.values.get(cell) for cell in column.unusual}, type_)
                maps += len(column.unusual)
                joins.append(f" LEFT JOIN {table} ON {self.raw}.{column.sql} = {table}.said")
                terms.append(f"coalesce({column.usual}::{type_}, {table}.value)" if column.usual else f"{table}.value")
            else:
                terms.append(f"({column.usual or 'NULL'})::{type_}")
            made.append(about)
        named = ", ".join(f"{term} AS {column.sql}" for term, column in zip(terms, columns, strict=True))
        # DuckDB's join keeps the order of the rows only if the joined tables are the smaller side.
        order = f" ORDER BY {self.raw}.rowid" if maps * 4 > self.rows else ""
        self.engine.execute(f"CREATE TABLE {self.name} AS SELECT {named} FROM {self.raw}{''.join(joins)}{order}")
        for column in columns:
            self.engine.execute(f"DROP TABLE IF EXISTS {self.name}_m{column.sql}")
        return made

    def _type(self, column: _Column) -> str:
        if column.reading.kind != "number":
            return sql_type(column.reading.kind)
        values = [column.reading.values.get(cell) for cell in column.unusual]
        most = max((abs(value) for value in values if isinstance(value, Decimal)), default=Decimal(0))
        return number_type(column.reading.decimals, max(most, column.largest))

    def _note_unread_cells(self, column: _Column, about: ReadColumn) -> ReadColumn:
        """Add a note about unread cells to the column's description. Call this after totals are removed."""
        if about.kind in ("text", "boolean") and not column.unusual:
            return about
        lost = f"SELECT {column.sql} FROM {self.raw} WHERE {column.sql} <> '' AND rowid NOT IN (SELECT place FROM gone)"
        unread = [cell for cell in column.unusual if column.reading.values.get(cell) is None]
        if not unread or about.kind == "text":
            return about
        counts = Counter[str]()
        for at in range(0, len(unread), 10_000):
            some = ", ".join(map(quote_text, unread[at : at + 10_000]))
            found = self.engine.execute(
                f"SELECT s, count(*) FROM ({lost}) t(s) WHERE s IN ({some}) GROUP BY 1"
            ).fetchall()
            counts.update(dict(found))
        return note_unread(about, counts)

    def _name_columns(self, made: Sequence[ReadColumn]) -> list[ReadColumn]:
        """Rename the columns to their names in the file, and drop columns that have neither a name nor a value."""
        kept = []
        for at, column in enumerate(made):
            if is_generated_name(column.name) and not self.query_row(f"count(*) FILTER (c{at} <> '')")[0]:
                self.engine.execute(f"ALTER TABLE {self.name} DROP COLUMN c{at}")
            else:
                kept.append((at, column))
        # A column of the file may itself be called `c3`, so first rename all columns to names that no file has.
        for at, _ in kept:
            self.engine.execute(f'ALTER TABLE {self.name} RENAME COLUMN c{at} TO "\x01{at}"')
        for name, (at, _) in zip(column_names(column for _, column in kept), kept, strict=True):
            self.engine.execute(f'ALTER TABLE {self.name} RENAME COLUMN "\x01{at}" TO {quote_name(name)}')
        return [column for _, column in kept]

    # Totals

    def _remove_totals(self, columns: Sequence[_Column], made: Sequence[ReadColumn]) -> TotalRows:
        """Find the totals by the same rules as in small tables, and delete their rows from the table."""
        numeric = [at for at, column in enumerate(made) if column.kind == "number"]
        labels = [at for at, column in enumerate(made) if column.kind != "number"]
        self.engine.execute("CREATE OR REPLACE TEMP TABLE gone (place BIGINT)")
        if not numeric:
            return TotalRows(set())
        suspects = self._find_suspects(columns, made, labels)
        found = decide_in_runs(
            self.rows,
            suspects,
            lambda place: self._read_line(place, numeric, made),
            lambda begin, end: self._sum_rows(begin, end, numeric),
            lambda place: [
                str(cell) for cell in self.query_row(", ".join(f"c{at}" for at in labels) or "''", f"rowid = {place}")
            ],
        )
        if found.totals:
            self.engine.executemany("INSERT INTO gone VALUES (?)", [[place] for place in sorted(found.totals)])
            self.engine.execute(f"DELETE FROM {self.name} WHERE rowid IN (SELECT place FROM gone)")
        return found

    def _find_suspects(self, columns: Sequence[_Column], made: Sequence[ReadColumn], labels: Sequence[int]) -> Suspects:
        names = label_names(column.name for column in made)
        groups = _Labels(self, labels)
        found = Suspects(rates={at for at, column in enumerate(made) if column.unit == "%"})
        first: dict[int, str] = {}
        for at, column in enumerate(columns):
            cells = self._find_total_labels(column)
            if stars := ", ".join(quote_text(cell) for cell in cells if is_starred(cell)):
                (count,) = self.query_row("count(*)", f"{column.sql} IN ({stars})")
                if at or count * 2 >= self.rows:  # ratings or marks
                    cells = [cell for cell in cells if not is_starred(cell)]
            if not cells:
                continue
            said = ", ".join(map(quote_text, cells))
            (count,) = self.query_row("count(*)", f"{column.sql} IN ({said})")
            (values,) = self.engine.execute(f"SELECT count({column.sql}) FROM {self.name}").fetchone() or (0,)
            strict = made[at].kind != "text" and values + count >= self.rows
            for cell in cells:
                is_named = is_only_names(cell, names, groups)
                if is_named:
                    self.named.append((at, cell))
                places = self.engine.execute(
                    f"SELECT rowid FROM {self.raw} WHERE {column.sql} = ? LIMIT {_SUSPECTS_MAX + 1}", [cell]
                ).fetchall()
                for (place,) in places:
                    label = cell.strip()
                    found.add_worded(place, label, first.setdefault(place, label), is_named, strict)
        for at in labels:
            empty = f"c{at} IN {BLANK}"
            (count,) = self.query_row(f"count(*) FILTER ({empty})")
            if 0 < count * 2 < self.rows:
                where = "true" if at == labels[-1] else f"c{labels[0]} <> ''"
                if count > _SUSPECTS_MAX:
                    where = f"rowid IN (0, {self.rows - 1})"
                places = self.engine.execute(f"SELECT rowid FROM {self.raw} WHERE {empty} AND ({where})").fetchall()
                found.hollow |= {place for (place,) in places}
        for at in range(len(columns)) if not labels else ():  # a total may lack only its id
            places = self.engine.execute(f"SELECT rowid FROM {self.raw} WHERE c{at} = '' LIMIT 2").fetchall()
            found.hollow |= {place for (place,) in places} & {0, self.rows - 1} if len(places) == 1 else set()
        found.hollow -= found.worded
        return found

    def _find_total_labels(self, column: _Column) -> list[str]:
        """List the distinct cells of a column that contain a word for totals."""
        if column.reading.kind != "text":
            return [cell for cell in column.unusual if has_total_word(cell)]
        matches = f"regexp_matches({column.sql}, {quote_text(f'(?i){_WORDS}')})"
        asked = f"SELECT DISTINCT {column.sql} FROM {self.raw} WHERE {matches}"
        found = self.engine.execute(f"{asked} LIMIT {_UNUSUAL_MAX}").fetchall()
        return [cell for (cell,) in found if has_total_word(cell)]

    def _read_line(self, place: int, numeric: Sequence[int], made: Sequence[ReadColumn]) -> Line:
        """Return the numbers of a row. A number without the column's unit, as in some totals, counts too."""
        row = (
            self.engine.execute(
                f"SELECT {', '.join(f'c{at}' for at in numeric)} FROM {self.name} WHERE rowid = {place}"
            ).fetchone()
            or ()
        )
        cells = self.query_row(", ".join(f"c{at}" for at in numeric), f"rowid = {place}")
        numbers: dict[int, Decimal | None] = {}
        for at, value, cell in zip(numeric, row, cells, strict=True):
            numbers[at] = _decimal(value) if value is not None else read_number(cell, made[at].decimal_mark)
        return Line(numbers)

    def _sum_rows(self, begin: int, end: int, numeric: Sequence[int]) -> Line:
        what = ", ".join(f"sum(c{at}), max(abs(c{at}))" for at in numeric)
        found = (
            self.engine.execute(f"SELECT {what} FROM {self.name} WHERE rowid >= {begin} AND rowid < {end}").fetchone()
            or ()
        )
        sums = {at: _decimal(one) for at, one in zip(numeric, found[::2], strict=True)}
        return Line(
            sums, end - begin, {at: _decimal(one) or Decimal(0) for at, one in zip(numeric, found[1::2], strict=True)}
        )


class _Labels:
    """A container of the table's labels. `in` queries the table."""

    def __init__(self, loader: _BulkLoader, labels: Sequence[int]) -> None:
        self._loader, self._labels = loader, labels

    def __contains__(self, group: object) -> bool:
        same = " OR ".join(f"lower(trim(c{at})) = {quote_text(str(group))}" for at in self._labels)
        return bool(group and same and self._loader.query_row("count(*)", same)[0])


def _decimal(value: Any) -> Decimal | None:
    if value is None:
        return None
    return value if isinstance(value, Decimal) else Decimal(repr(value) if isinstance(value, float) else value)


_SPACES: Final = "".join(
    map(chr, [*range(9, 14), *range(28, 33), 133, 160, 5760, *range(8192, 8203), 8232, 8233, 8239, 8287, 12288])
)
"""The characters that `str.strip` removes."""
_AT_AN_END: Final = rf"\A[{_SPACES}]|[{_SPACES}]\z"
