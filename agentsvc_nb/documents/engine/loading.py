"""Tables put into DuckDB with their types, exactly, and as plans and people's SQL see them: `load` takes a table whose
columns were typed in Python, `typed_columns` types columns of texts in the engine, as `tables.columns` does in
Python."""

from __future__ import annotations

import csv
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.documents.engine.dialect import DIGITS, engine_names, engine_type, quoted, text
from agentsvc_nb.documents.tables.columns import (
    NO_HINTS,
    ColumnReading,
    Hints,
    around,
    column_reading,
    counted_column,
    numbers_at_once,
    shown_hints,
    strided,
    truth_values,
)
from agentsvc_nb.documents.tables.dates import DateReading
from agentsvc_nb.documents.tables.model import Kind, ReadColumn, ReadTable
from agentsvc_nb.documents.tables.numbers import NumberReading
from agentsvc_nb.documents.tables.profiles import DECIMALS_MAX, TableProfile

if TYPE_CHECKING:
    import duckdb


_TYPES: Final = {
    "text": "VARCHAR",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "time": "TIME",
    "boolean": "BOOLEAN",
}
_LARGEST: Final = 2**63
_NARROW_DIGITS: Final = 18
_LINE_BYTES: Final = 256_000_000


def load(engine: duckdb.DuckDBPyConnection, name: str, table: ReadTable) -> None:
    """Make a table of this name, whose columns are `c1`, `c2` and so on. It goes through CSV of one fixed form with the
    types told, which leaves DuckDB nothing to guess."""
    types = {f"c{place}": _column_type(column) for place, column in enumerate(table.columns, 1)}
    engine.execute(f"CREATE TABLE {name} ({', '.join(f'{column} {kind}' for column, kind in types.items())})")
    if not table.rows:
        return
    # Half a pair of surrogates, which no file takes, becomes a question mark.
    with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="", encoding="utf-8", errors="replace") as file:
        csv.writer(file).writerows(zip(*(column.values for column in table.columns), strict=True))
        file.flush()
        form = "delimiter = ',', quote = '\"', escape = '\"', new_line = '\\r\\n', header = false, auto_detect = false"
        read = f"read_csv(?, {form}, max_line_size = {_LINE_BYTES}, parallel = false, columns = {types})"
        engine.execute(f"INSERT INTO {name} SELECT * FROM {read}", [file.name])


def _column_type(column: ReadColumn) -> str:
    if column.kind != "number":
        return _TYPES[column.kind]
    most = max((abs(value) for value in column.values if isinstance(value, Decimal)), default=Decimal(0))
    return _number_type(column.decimals, most)


def _number_type(decimals: int, most: Decimal) -> str:
    """The narrowest type that holds numbers of so many decimals up to `most` exactly; else floating point."""
    if decimals > DECIMALS_MAX or most.adjusted() >= DIGITS - DECIMALS_MAX:
        return "DOUBLE"
    if not decimals and most < _LARGEST:
        return "BIGINT"
    return f"DECIMAL({max(most.adjusted() + 1 + decimals, _NARROW_DIGITS)},{decimals})"


def plan_view(profile: TableProfile, source: str) -> str:
    """The statement that makes a loaded table what plans compute with (`dialect.definition`), under its own name."""
    wide = (
        f"CAST(c{place} AS {engine_type(column)})" if column.kind == "number" else f"c{place}"
        for place, column in enumerate(profile.columns, 1)
    )
    return _view(profile, source, ["rowid AS rowid", *_named(profile, wide)])


def sql_view(profile: TableProfile, source: str) -> str:
    """The statement that makes a table for SQL of a loaded one, under its own name: types are narrow, months texts."""
    plain = (
        f"strftime(c{place}, '%Y-%m')" if column.kind == "date" and column.unit == "month" else f"c{place}"
        for place, column in enumerate(profile.columns, 1)
    )
    return _view(profile, source, _named(profile, plain))


def _named(profile: TableProfile, terms: Iterable[str]) -> list[str]:
    return [f"{term} AS {quoted(name)}" for term, name in zip(terms, engine_names(profile), strict=True)]


def _view(profile: TableProfile, source: str, columns: Iterable[str]) -> str:
    return f"CREATE VIEW {quoted(profile.name)} AS SELECT {', '.join(columns)} FROM {source}"


_SAMPLE: Final = 300
_DISTINCT_MAX: Final = 20_000
"""A column that has to be read text by text and has more of them is left to Python."""
_SPACES: Final = "".join(
    map(chr, [*range(9, 14), *range(28, 33), 133, 160, 5760, *range(8192, 8203), 8232, 8233, 8239, 8287, 12288])
)
"""What Python strips."""
_AT_AN_END: Final = text(rf"\A[{_SPACES}]|[{_SPACES}]\z")
TRIMMED: Final = f"CASE WHEN regexp_matches({{0}}, {_AT_AN_END}) THEN trim({{0}}, {text(_SPACES)}) ELSE {{0}} END"
"""To trim takes much longer than to see whether that is needed."""
_DAY: Final = r"\d{4}-\d\d-\d\d"
_CLOCK: Final = r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d"


@dataclass(frozen=True, slots=True)
class EngineColumn:
    """A column `sql` of texts of the table `raw`, none of them NULL, and its name in the file."""

    engine: duckdb.DuckDBPyConnection
    raw: str
    sql: str
    name: str

    def sample(self) -> list[str]:
        """As `tables.columns.sample`."""
        (rows,) = self.all("count(*)")
        taken = f"rowid % {strided(rows)} = 0 AND {self.sql} <> ''"
        return self._texts(f"{self.sql} <> ''") + self._texts(taken)

    def counts(self) -> Counter[str] | None:
        """How often each text stands there, in their order; None if there are too many."""
        asked = f"SELECT {self.sql}, count(*) FROM {self.raw} GROUP BY 1 ORDER BY min(rowid) LIMIT {_DISTINCT_MAX}"
        found = self.engine.execute(asked).fetchall()
        return Counter(dict(found)) if len(found) < _DISTINCT_MAX else None

    def all_match(self, pattern: str, and_then: str = "true") -> bool:
        """Whether every cell that is not empty matches the pattern as a whole, and a condition."""
        fits = f"regexp_full_match({self.sql}, {text(pattern)}) AND {and_then}"
        (others,) = self.all(f"count(*) FILTER (WHERE {self.sql} <> '' AND NOT coalesce({fits}, false))")
        return bool(others == 0)

    def ends(self) -> tuple[str, str]:
        """The first cell and the last."""
        (first, last) = self.all(f"arg_min({self.sql}, rowid), arg_max({self.sql}, rowid)")
        return first, last

    def all(self, what: str) -> tuple[Any, ...]:
        return self.engine.execute(f"SELECT {what} FROM {self.raw}").fetchone() or ()

    def one(self, what: str) -> Any:
        return self.all(what)[0]

    def _texts(self, where: str) -> list[str]:
        # The first ones: the engine keeps the order.
        asked = f"SELECT {self.sql} FROM {self.raw} WHERE {where} LIMIT {_SAMPLE}"
        return [cell for (cell,) in self.engine.execute(asked).fetchall()]


@dataclass(frozen=True, slots=True)
class _TypedTerm:
    """What is known of a column, and its values in SQL."""

    column: ReadColumn
    sql: str
    type: str


_Decided = tuple[ColumnReading, _TypedTerm | None, Mapping[str, int]]
"""What a column was read as; its values, or how often each text stands there."""


def typed_columns(columns: Sequence[EngineColumn], name: str, hints: Hints) -> list[ReadColumn] | None:
    """Make the table `name` of the columns, typed. Returns what there is to know of them, without their cells; None if
    they are left to Python, and then there is no table."""
    decided = []
    for column in columns:
        one = _decided(column)
        if one is None:
            return None
        decided.append(one)
    shown = shown_hints([reading for reading, _, _ in decided], hints)
    try:
        terms = [
            term or _counted(column, reading, counts, shown, f"{name}_{column.sql}")
            for column, (reading, term, counts) in zip(columns, decided, strict=True)
        ]
        if _may_end_in_totals(columns, terms):
            return None
        _make(name, columns, terms)
    finally:
        for column in columns:
            column.engine.execute(f"DROP TABLE IF EXISTS {name}_{column.sql}")
    return [term.column for term in terms]


def _make(name: str, columns: Sequence[EngineColumn], terms: Sequence[_TypedTerm]) -> None:
    raw, engine = columns[0].raw, columns[0].engine
    joins = "".join(
        f" LEFT JOIN {name}_{column.sql} AS m{column.sql} ON {raw}.{column.sql} = m{column.sql}.c1"
        for column, term in zip(columns, terms, strict=True)
        if term.sql.startswith("m")
    )
    types = ", ".join(f"{column.sql} {term.type}" for column, term in zip(columns, terms, strict=True))
    values = ", ".join(term.sql for term in terms)
    engine.execute(f"CREATE TABLE {name} ({types})")
    engine.execute(f"INSERT INTO {name} SELECT {values} FROM {raw}{joins} ORDER BY {raw}.rowid")


def _decided(column: EngineColumn) -> _Decided | None:
    cells = column.sample()
    some = Counter(cells)
    reading = column_reading(column.name, some, NO_HINTS)
    if reading is None and (len(some) > 8 or not truth_values(some)):
        return None, _text(column), {}
    if len(some) > some.total() / 2 and (term := _at_once(column, cells[:_SAMPLE], reading)):
        return reading, term, {}
    counts = column.counts()
    return None if counts is None else (column_reading(column.name, counts, NO_HINTS), None, counts)


def _text(column: EngineColumn) -> _TypedTerm:
    trimmed = TRIMMED.format(f"{column.raw}.{column.sql}")
    return _TypedTerm(ReadColumn(column.name, "text", (), ()), f"nullif({trimmed}, '')", "VARCHAR")


def _at_once(column: EngineColumn, cells: Sequence[str], reading: ColumnReading) -> _TypedTerm | None:
    if isinstance(reading, NumberReading):
        return _numbers(column, cells, reading)
    if isinstance(reading, DateReading) and reading.kind != "time":
        return _dates(column)
    return None


def _numbers(column: EngineColumn, cells: Sequence[str], reading: NumberReading) -> _TypedTerm | None:
    """As `tables.columns.numbers_at_once`."""
    if numbers_at_once(cells, reading) is None:
        return None
    before, after = around(cells[0]) or ("", "")
    group = "," if reading.mark == "." else "."
    whole = rf"(0|[1-9]\d{{0,17}}|[1-9]\d{{0,2}}({re.escape(group)}\d{{3}})+)" if reading.mark else r"(0|[1-9]\d{0,17})"
    part = rf"({re.escape(reading.mark)}\d{{1,18}})?" if reading.mark else ""
    head = re.escape(before)
    if not column.all_match(rf"(-?{head}|{head}-){whole}{part}{re.escape(after)}"):
        return None
    digits = f"{column.raw}.{column.sql}"
    for literal in filter(None, (before, after)):
        digits = f"replace({digits}, {text(literal)}, '')"
    if reading.mark:
        digits = f"replace({digits}, {text(group)}, '')"
    digits = f"replace({digits}, ',', '.')" if reading.mark == "," else digits
    point = f"strpos({digits}, '.')"
    behind = f"CASE {point} WHEN 0 THEN 0 ELSE length({digits}) - {point} END"
    decimals, longest = column.all(f"max({behind}), max(length({digits}))")
    if decimals > DECIMALS_MAX or longest > 32:
        return None
    most = column.one(f"max(abs(CAST(nullif({digits}, '') AS DECIMAL(38,{decimals}))))")
    kind = _number_type(decimals, Decimal(most))
    about = ReadColumn(column.name, "number", (), (), reading.unit, decimals, decimal_mark=reading.mark)
    return _TypedTerm(about, f"CAST(nullif({digits}, '') AS {kind})", kind)


def _dates(column: EngineColumn) -> _TypedTerm | None:
    """As `tables.columns` reads them at once."""
    cell = f"{column.raw}.{column.sql}"
    day = f"TRY_CAST({cell}[:10] AS DATE) IS NOT NULL AND {cell}[:4] <> '0000'"
    if column.all_match(_DAY, day):
        return _moments(column, "date", "DATE")
    if column.all_match(f"{_DAY}[ T]{_CLOCK}", day) and column.one(
        f"count(*) FILTER (WHERE {cell}[12:] <> '00:00:00' AND {cell} <> '')"
    ):
        return _moments(column, "datetime", "TIMESTAMP")
    return None


def _moments(column: EngineColumn, kind: Kind, type_: str) -> _TypedTerm:
    about = ReadColumn(column.name, kind, (), ())
    return _TypedTerm(about, f"CAST(nullif({column.raw}.{column.sql}, '') AS {type_})", type_)


def _counted(
    column: EngineColumn, reading: ColumnReading, counts: Mapping[str, int], hints: Hints, table: str
) -> _TypedTerm:
    """The column through a table of its texts and their values."""
    sure = not isinstance(reading, NumberReading | DateReading) or reading.sure
    reading = reading if sure else column_reading(column.name, counts, hints)
    texts = [*counts]
    made = counted_column(column.name, texts, counts, reading)
    keys = ReadColumn("text", "text", texts, texts)
    load(column.engine, table, ReadTable("", (keys, made), len(texts), ()))
    return _TypedTerm(replace(made, values=(), texts=()), f"m{column.sql}.c2", _column_type(made))


def _may_end_in_totals(columns: Sequence[EngineColumn], terms: Sequence[_TypedTerm]) -> bool:
    """Whether the first or last row lacks its names, as one of totals may (`tables.reading`)."""
    kinds = [term.column.kind for term in terms]
    named = [at for at, kind in enumerate(kinds) if kind in ("text", "boolean")]
    named = named or [at for at, kind in enumerate(kinds) if kind != "number"]
    ends = [columns[at].ends() for at in named]
    return (
        "number" in kinds
        and bool(ends)
        and not all(any(cell.strip() for cell in row) for row in zip(*ends, strict=True))
    )
