"""Strategies of Hypothesis: small tables with everything that is awkward, and plans over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal, cast

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from agentsvc_nb.documents.plans.plan import (
    Aggregate,
    AllOf,
    Along,
    AnyOf,
    Between,
    Column,
    Compared,
    Condition,
    Contains,
    Correlation,
    Criterion,
    DatePart,
    DatePartName,
    Empty,
    Formula,
    Group,
    Join,
    Measure,
    Not,
    OneOf,
    Operation,
    Operator,
    Order,
    Plan,
)
from agentsvc_nb.documents.plans.profiles import ColumnProfile, Kind, TableProfile
from tests.plans.oracle import Data, period_place

AWKWARD = "aAbBzZ01\"'`;,-/*\\%_$.()[]{}|#? \0\n\tÄäßéÉ日😀"
HOSTILE = (
    '"',
    "'",
    '"; DROP TABLE "sales"; --',
    "'; DROP TABLE sales; --",
    "' OR '1'='1",
    "x' UNION SELECT 1 --",
    "a\\' OR 1=1 --",
    "/* */",
    "${name}",
    "$1",
    "?",
    "rowid",
    "t",
    "u",
    "g1",
    "b1",
    "s",
    "r",
    "count(*)",
    "NULL",
)
texts = st.one_of(st.sampled_from(HOSTILE), st.text(AWKWARD, max_size=4))
VALUES = (
    "Email",
    "email",
    "Search",
    "O'Neill",
    'the "best"',
    "",
    " ",
    "Ölçü",
    "日本",
    "' OR '1'='1",
    "50%",
    "a_b",
    "\0",
)
KINDS: tuple[tuple[Kind, int], ...] = (
    ("text", 0),
    ("text", 0),
    ("number", 0),
    ("number", 2),
    ("number", 4),
    ("date", 0),
    ("datetime", 0),
    ("time", 0),
    ("boolean", 0),
)


def _day(after: int) -> date:
    return date(2025, 1, 1) + timedelta(days=after)


def cells(kind: Kind, decimals: int) -> SearchStrategy[Any]:
    """Values of a column, with duplicates and gaps."""
    few = st.integers(-3, 3).map(lambda number: Decimal(number).scaleb(-decimals))
    many = st.integers(-(10 ** (4 + decimals)), 10 ** (4 + decimals)).map(lambda n: Decimal(n).scaleb(-decimals))
    near = st.sampled_from([-7, -1, 0, 1, 6, 30, 31, 58, 59, 89, 90, 365]).map(_day)
    days = st.one_of(near, near, near, st.dates(date(1900, 1, 1), date(2100, 1, 1)))
    clocks = st.sampled_from([time(0), time(9, 30), time(20), time(23, 59, 59, 999_999)])
    by_kind: dict[Kind, SearchStrategy[Any]] = {
        "text": st.sampled_from(VALUES),
        "number": st.one_of(few, many),
        "date": days,
        "datetime": st.builds(datetime.combine, days, clocks),
        "time": clocks,
        "boolean": st.booleans(),
    }
    return by_kind[kind]


@st.composite
def tables(draw: DrawFn, name: str, kinds: Sequence[tuple[Kind, int]] = KINDS, rows_max: int = 9) -> Data:
    names = draw(st.lists(texts, min_size=len(kinds), max_size=len(kinds), unique=True))
    columns = tuple(
        ColumnProfile(title, kind, unit=draw(st.sampled_from(["", "€", "%"])), decimals=decimals)
        for title, (kind, decimals) in zip(names, kinds, strict=True)
    )
    # Of few values, so that some are equal, and some follow each other.
    pools = [draw(st.lists(cells(*of), min_size=2, max_size=5)) for of in kinds]
    row = st.tuples(*(st.sampled_from([*pool, *pool, None]) for pool in pools))
    rows = draw(st.lists(row, min_size=draw(st.sampled_from([0, 1, 4, rows_max])), max_size=rows_max))
    return Data(TableProfile(name, draw(texts), len(rows), columns), rows)


@st.composite
def joinable(draw: DrawFn, name: str) -> Data:
    """A table whose first column is a key: it stands in no two rows."""
    data = draw(tables(name, (("text", 0), ("number", 2)), 6))
    rows = list({row[0]: row for row in data.rows}.values())
    return Data(data.profile, rows)


class Columns:
    """The columns of a table, by kind."""

    def __init__(self, *data: Data) -> None:
        self.all = [(Column(one.profile.name, column.name), column) for one in data for column in one.profile.columns]

        self._cells = {
            Column(one.profile.name, column.name): [row[place] for row in one.rows]
            for one in data
            for place, column in enumerate(one.profile.columns)
        }

    def of(self, *kinds: Kind) -> SearchStrategy[Column]:
        return st.sampled_from([column for column, profile in self.all if profile.kind in kinds])

    def profile(self, column: Column) -> ColumnProfile:
        return next(profile for one, profile in self.all if one == column)

    def values(self, column: Column) -> SearchStrategy[Any]:
        """Mostly those that are there."""
        profile = self.profile(column)
        drawn = cells(profile.kind, profile.decimals or 0)
        there = [value for value in self._cells[column] if value is not None]
        return st.one_of(st.sampled_from(there), st.sampled_from(there), drawn) if there else drawn


_OPERATORS: tuple[Operator, ...] = ("=", "!=", "<", "<=", ">", ">=")
_PARTS: tuple[DatePartName, ...] = ("year", "quarter", "month", "week", "day", "weekday")


@st.composite
def comparisons(draw: DrawFn, columns: Columns) -> Condition:
    shape = draw(st.integers(0, 6))
    anything = columns.of("text", "number", "date", "datetime", "time", "boolean")
    column = draw(st.one_of(anything, anything, columns.of("datetime")))
    kind = columns.profile(column).kind
    if shape == 0:
        return Empty(column)
    if shape == 1:
        return Contains(
            draw(columns.of("text")), draw(st.sampled_from(["e", "MAIL", "'", "%", "_", "", "日", "ö", "\0"]))
        )
    if shape == 2:
        part = DatePart(draw(columns.of("date", "datetime")), draw(st.sampled_from(_PARTS)))
        return Criterion(
            part, draw(st.sampled_from(_OPERATORS)), Decimal(draw(st.sampled_from([1, 2, 4, 7, 52, 2025])))
        )
    values = columns.values(column)
    if kind == "datetime":
        values = st.one_of(values, values.map(datetime.date))
    if shape == 3:
        return OneOf(column, tuple(draw(st.lists(values, max_size=3))))
    if shape == 4:
        return Between(column, draw(values), draw(values))
    if shape == 5:
        return Criterion(column, draw(st.sampled_from(_OPERATORS)), draw(columns.of(kind)))
    return Criterion(column, draw(st.sampled_from(_OPERATORS)), draw(values))


def conditions(columns: Columns) -> SearchStrategy[Condition]:
    def trees(inner: SearchStrategy[Condition]) -> SearchStrategy[Condition]:
        several = st.lists(inner, max_size=3).map(tuple)
        return st.one_of(inner.map(Not), several.map(AllOf), several.map(AnyOf))

    return st.recursive(comparisons(columns), trees, max_leaves=4)


_NUMERIC: tuple[Operation, ...] = ("sum", "mean", "median", "min", "max", "stddev", "quantile")
_EXACT: tuple[Operation, ...] = ("sum", "mean", "median", "min", "max")


@st.composite
def aggregates(draw: DrawFn, columns: Columns, numeric: Sequence[Operation] = _NUMERIC) -> Aggregate:
    where = draw(st.one_of(st.none(), st.none(), conditions(columns)))
    shape = draw(st.integers(0, 4))
    if shape == 0:
        return Aggregate("count", None, where)
    if shape == 1:
        anything = columns.of("text", "number", "date", "datetime", "time", "boolean")
        return Aggregate(draw(st.sampled_from(cast(list[Operation], ["count", "distinct"]))), draw(anything), where)
    numbers = columns.of("number")
    operation = draw(st.sampled_from(numeric))
    share = draw(st.sampled_from(["0", "0.1", "0.25", "0.5", "0.9", "0.975", "1"])) if operation == "quantile" else None
    operand: Column | Formula = draw(numbers)
    if shape == 4:
        operator = draw(st.sampled_from(cast(list[Literal["+", "-", "*", "/"]], ["+", "-", "*", "/"])))
        operand = Formula(draw(numbers), operator, draw(numbers))
    return Aggregate(operation, operand, where, Decimal(share) if share else None)


@st.composite
def measures(draw: DrawFn, columns: Columns, groups: bool, period: bool) -> Measure:
    shape = draw(st.sampled_from(["correlation", "compared", "moment", "aggregate", "along", "along"]))
    if shape == "correlation":
        return Correlation(draw(columns.of("number")), draw(columns.of("number")))
    if shape == "compared":
        operations: Any = ["difference", "ratio", "percent", "change"]
        pair = aggregates(columns, _EXACT)
        return Compared(draw(st.sampled_from(operations)), draw(pair), draw(pair))
    if shape == "along" and groups:
        along: Any = ["share", "running", "difference", "change"] if period else ["share"]
        return Along(draw(st.sampled_from(along)), draw(aggregates(columns, _EXACT)))
    if shape == "moment":
        moments = columns.of("date", "datetime", "time")
        return Aggregate(draw(st.sampled_from(cast(list[Operation], ["min", "max"]))), draw(moments))
    return draw(aggregates(columns))


@st.composite
def groupings(draw: DrawFn, columns: Columns) -> Group:
    if draw(st.booleans()):
        return Group(draw(columns.of("text", "number", "date", "boolean")))
    periods: Any = ["day", "week", "month", "quarter", "year", "weekday"]
    return Group(draw(columns.of("date", "datetime")), draw(st.sampled_from(periods)))


def orderable(measure: Measure) -> bool:
    """Floating point is not ordered: the oracle's last digits are others."""
    return not isinstance(measure, Correlation) and not (
        isinstance(measure, Aggregate) and measure.operation == "stddev"
    )


@st.composite
def plans(draw: DrawFn, own: Data, other: Data | None) -> Plan:
    join = None
    columns = Columns(own)
    if other is not None:
        key = Column(other.profile.name, other.profile.columns[0].name)
        join = Join(other.profile.name, ((draw(columns.of("text")), key),))
        columns = Columns(own, other)
    where = draw(st.one_of(st.none(), conditions(columns)))
    limit = draw(st.one_of(st.none(), st.integers(1, 4)))
    if draw(st.integers(0, 4)) == 0:
        shown = st.lists(st.sampled_from([column for column, _ in columns.all]), min_size=1, max_size=4)
        selected = tuple(draw(shown))
        return Plan(
            own.profile.name,
            where=where,
            select=selected,
            order=draw(_orders(range(len(selected)))),
            limit=limit,
            join=join,
        )
    groups = tuple(draw(st.lists(groupings(columns), max_size=2)))
    one = measures(columns, bool(groups), period_place(groups, columns.profile) is not None)
    measured = tuple(draw(st.lists(one, min_size=0 if groups else 1, max_size=3)))
    places = list(range(len(groups)))
    places += [len(groups) + place for place, measure in enumerate(measured) if orderable(measure)]
    return Plan(own.profile.name, measured, groups, where, order=draw(_orders(places)), limit=limit, join=join)


def _orders(places: Sequence[int]) -> SearchStrategy[tuple[Order, ...]]:
    """By measures rather than by groups, which differ anyway."""
    if not places:
        return st.just(())
    build: Callable[..., Order] = Order
    one = st.builds(build, st.one_of(st.sampled_from(places), st.just(places[-1])), st.booleans())
    return st.one_of(st.lists(one, max_size=2), st.lists(one, min_size=1, max_size=1)).map(tuple)


def amounts(rows: int) -> TableProfile:
    return TableProfile("sales", "sales.csv", rows, (ColumnProfile("amount", "number", "€", 2),))


def every_exact_measure() -> Plan:
    amount = Column("sales", "amount")
    quantile = Aggregate("quantile", amount, quantile=Decimal("0.9"))
    return Plan("sales", (*(Aggregate(operation, amount) for operation in _EXACT), quantile))
