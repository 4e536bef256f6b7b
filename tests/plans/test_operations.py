"""Each operation that users ask of tables: its expression and its result, by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from agentsvc_nb.documents.plans.execution import compute
from agentsvc_nb.documents.plans.expressions import expression
from agentsvc_nb.documents.plans.plan import (
    Aggregate,
    AllOf,
    Along,
    AnyOf,
    Between,
    Column,
    Compared,
    Contains,
    Correlation,
    Criterion,
    DatePart,
    Empty,
    Formula,
    Group,
    Join,
    Kept,
    Not,
    OneOf,
    Operation,
    Order,
    Plan,
)
from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile
from agentsvc_nb.documents.plans.results import plain, shown
from tests.plans.engine import engine
from tests.plans.oracle import Data
from tests.plans.sales import PRODUCTS, ROWS, SALES, TABLES, column, total

REVENUE = total("revenue")
EMAIL = Criterion(column("channel"), "=", "Email")
BY_CHANNEL, BY_MONTH = Group(column("channel")), Group(column("day"), "month")
JOIN = Join("products", ((column("sku"), column("sku", "products")),))


def year_of_day(year: int) -> Criterion:
    return Criterion(DatePart(column("day"), "year"), "=", Decimal(year))


def where(condition: object, *measures: Aggregate) -> Plan:
    return Plan("sales", measures or (REVENUE,), where=condition)  # type: ignore[arg-type]


EIGHT = "over 8 of 8 rows of data/sales.csv"
TABLE: list[tuple[str, Plan, str, list[str]]] = [
    ("rows", Plan("sales", (ROWS,)), f"count(rows) {EIGHT}", ["8"]),
    ("values", Plan("sales", (total("revenue", "count"),)), "count(revenue) over 7 of 8 rows of data/sales.csv", ["7"]),
    (
        "distinct values",
        Plan("sales", (total("channel", "distinct"),)),
        "count(distinct channel) over 7 of 8 rows of data/sales.csv",
        ["3"],
    ),
    ("total", Plan("sales", (REVENUE,)), "sum(revenue) over 7 of 8 rows of data/sales.csv", ["7550.49"]),
    ("average", Plan("sales", (total("units", "mean"),)), f"mean(units) {EIGHT}", ["8.63"]),
    ("median", Plan("sales", (total("units", "median"),)), f"median(units) {EIGHT}", ["7.5"]),
    (
        "quantile",
        Plan("sales", (Aggregate("quantile", column("units"), quantile=Decimal("0.90")),)),
        f"quantile(units, 0.9) {EIGHT}",
        ["20"],
    ),
    ("smallest", Plan("sales", (total("cost", "min"),)), f"min(cost) {EIGHT}", ["0.00"]),
    ("latest", Plan("sales", (total("day", "max"),)), f"max(day) {EIGHT}", ["2025-05-05"]),
    ("spread", Plan("sales", (total("units", "stddev"),)), f"stddev(units) {EIGHT}", ["7.89"]),
    (
        "correlation",
        Plan("sales", (Correlation(column("cost"), column("units")),)),
        f"correlation(cost, units) {EIGHT}",
        ["0.9461"],
    ),
    (
        "ratio of sums",
        Plan("sales", (Compared("ratio", REVENUE, total("cost")),)),
        f"sum(revenue) / sum(cost) {EIGHT}",
        ["2.2539"],
    ),
    (
        "row by row",
        Plan("sales", (Aggregate("sum", Formula(column("revenue"), "-", column("cost"))),)),
        "sum(revenue - cost) over 7 of 8 rows of data/sales.csv",
        ["4250.49"],
    ),
    (
        "share of a part",
        Plan("sales", (Compared("percent", replace(REVENUE, where=EMAIL), REVENUE),)),
        'sum(revenue where channel = "Email") / sum(revenue) in % over 7 of 8 rows of data/sales.csv',
        ["29.14"],
    ),
    (
        "two groups compared",
        Plan(
            "sales",
            (
                Compared(
                    "difference",
                    replace(REVENUE, where=Criterion(column("channel"), "=", "Search")),
                    replace(REVENUE, where=EMAIL),
                ),
            ),
        ),
        'sum(revenue where channel = "Search") - sum(revenue where channel = "Email")'
        " over 5 of 8 rows of data/sales.csv",
        ["2799.50"],
    ),
    (
        "two periods compared",
        Plan(
            "sales",
            (
                Compared(
                    "change",
                    replace(REVENUE, where=Criterion(DatePart(column("day"), "month"), "=", Decimal(4))),
                    replace(REVENUE, where=Criterion(DatePart(column("day"), "month"), "=", Decimal(1))),
                ),
            ),
        ),
        "change in % from sum(revenue where month(day) = 1) to sum(revenue where month(day) = 4)"
        " over 5 of 8 rows of data/sales.csv",
        ["123.26"],
    ),
    ("equal", where(EMAIL), 'sum(revenue) where channel = "Email" over 3 of 8 rows of data/sales.csv', ["2200.50"]),
    (
        "unequal",
        where(Not(EMAIL)),
        'sum(revenue) where not (channel = "Email") over 3 of 8 rows of data/sales.csv',
        ["5250.00"],
    ),
    (
        "unequal or empty",
        where(AnyOf((Not(EMAIL), Empty(column("channel"))))),
        'sum(revenue) where not (channel = "Email") or channel is empty over 4 of 8 rows of data/sales.csv',
        ["5349.99"],
    ),
    (
        "empty",
        where(Empty(column("revenue")), ROWS),
        "count(rows) where revenue is empty over 1 of 8 rows of data/sales.csv",
        ["1"],
    ),
    (
        "not empty",
        where(Not(Empty(column("revenue"))), ROWS),
        "count(rows) where revenue is not empty over 7 of 8 rows of data/sales.csv",
        ["7"],
    ),
    (
        "one of",
        where(OneOf(column("channel"), ("Email", "Social"))),
        'sum(revenue) where channel in ("Email", "Social") over 4 of 8 rows of data/sales.csv',
        ["2450.50"],
    ),
    (
        "contains",
        where(Contains(column("channel"), "EA"), ROWS),
        'count(rows) where channel contains "EA" over 3 of 8 rows of data/sales.csv',
        ["3"],
    ),
    (
        "range",
        where(Between(column("units"), Decimal(5), Decimal(10)), ROWS),
        "count(rows) where units from 5 to 10 over 3 of 8 rows of data/sales.csv",
        ["3"],
    ),
    (
        "after a date",
        where(Criterion(column("day"), ">", date(2025, 4, 2)), ROWS),
        "count(rows) where day > 2025-04-02 over 2 of 8 rows of data/sales.csv",
        ["2"],
    ),
    (
        "quarter of a year",
        where(AllOf((year_of_day(2025), Criterion(DatePart(column("day"), "quarter"), "=", Decimal(2)))), ROWS),
        "count(rows) where year(day) = 2025 and quarter(day) = 2 over 4 of 8 rows of data/sales.csv",
        ["4"],
    ),
    (
        "weekday",
        where(Criterion(DatePart(column("day"), "weekday"), "=", Decimal(1)), ROWS),
        "count(rows) where weekday(day) = Monday over 4 of 8 rows of data/sales.csv",
        ["4"],
    ),
    (
        "three conditions",
        where(
            AllOf(
                (
                    AnyOf((EMAIL, Criterion(column("channel"), "=", "Search"))),
                    Criterion(column("units"), ">=", Decimal(10)),
                    Criterion(column("revenue"), ">", column("cost")),
                )
            ),
            ROWS,
        ),
        'count(rows) where (channel = "Email" or channel = "Search") and units >= 10 and revenue > cost'
        " over 4 of 8 rows of data/sales.csv",
        ["4"],
    ),
    (
        "by a column",
        Plan("sales", (REVENUE,), (BY_CHANNEL,)),
        "sum(revenue) by channel over 7 of 8 rows of data/sales.csv",
        ["Email", "2200.50", "Search", "5000.00", "Social", "250.00", "–", "99.99"],
    ),
    (
        "by two columns",
        Plan("sales", (ROWS,), (Group(column("day"), "quarter"), Group(column("sku"))), where=EMAIL),
        'count(rows) by quarter(day) and sku where channel = "Email" over 3 of 8 rows of data/sales.csv',
        ["2025 Q1", "A", "1", "2025 Q1", "B", "1", "2025 Q2", "X", "1"],
    ),
    (
        "by weekday",
        Plan("sales", (ROWS,), (Group(column("day"), "weekday"),)),
        f"count(rows) by weekday(day) {EIGHT}",
        ["Monday", "4", "Tuesday", "2", "Wednesday", "2"],
    ),
    (
        "by week",
        Plan("sales", (ROWS,), (Group(column("day"), "week"),), limit=2),
        f"count(rows) by week(day) first 2 {EIGHT}",
        ["2025-W02", "1", "2025-W04", "1"],
    ),
    (
        "top",
        Plan("sales", (REVENUE,), (BY_CHANNEL,), order=(Order(1, True),), limit=2),
        "sum(revenue) by channel top 2 by sum(revenue) over 7 of 8 rows of data/sales.csv",
        ["Search", "5000.00", "Email", "2200.50"],
    ),
    (
        "top with all that are equal",
        Plan("sales", select=(column("order id"), column("units")), order=(Order(1, True),), limit=1),
        f"order id, units top 1 by units {EIGHT}",
        ["3", "20", "7", "20"],
    ),
    (
        "bottom",
        Plan("sales", select=(column("channel"), column("cost")), order=(Order(1),), limit=2),
        f"channel, cost bottom 2 by cost {EIGHT}",
        ["–", "0.00", "Search", "50.00"],
    ),
    (
        "shares",
        Plan("sales", (Along("share", REVENUE),), (BY_CHANNEL,)),
        "share in % of sum(revenue) by channel over 7 of 8 rows of data/sales.csv",
        ["Email", "29.14", "Search", "66.22", "Social", "3.31", "–", "1.32"],
    ),
    (
        "change to the month before, which March was not",
        Plan("sales", (Along("change", REVENUE),), (BY_MONTH,)),
        "change in % of sum(revenue) to the period before by month(day) over 7 of 8 rows of data/sales.csv",
        ["2025-01", "–", "2025-02", "33.29", "2025-04", "–", "2025-05", "-79.1"],
    ),
    (
        "difference to the month before",
        Plan("sales", (Along("difference", ROWS),), (BY_MONTH,)),
        f"difference of count(rows) to the period before by month(day) {EIGHT}",
        ["2025-01", "–", "2025-02", "0", "2025-04", "–", "2025-05", "-2"],
    ),
    (
        "running total",
        Plan("sales", (Along("running", total("units")),), (BY_MONTH,)),
        f"running total of sum(units) by month(day) {EIGHT}",
        ["2025-01", "15", "2025-02", "36", "2025-04", "59", "2025-05", "69"],
    ),
    (
        "values of a column",
        Plan("sales", groups=(BY_CHANNEL,), where=Not(Empty(column("channel")))),
        "values of channel where channel is not empty over 7 of 8 rows of data/sales.csv",
        ["Email", "Search", "Social"],
    ),
    (
        "look-up",
        Plan("sales", select=(column("revenue"),), where=Criterion(column("order id"), "=", Decimal(2))),
        "revenue where order id = 2 over 1 of 8 rows of data/sales.csv",
        ["500.50"],
    ),
    (
        "two files",
        Plan("sales", (REVENUE,), (Group(column("category", "products")),), join=JOIN),
        "sum(revenue) by category over 6 of 8 rows of data/sales.csv"
        " joined with products.xlsx, sheet Spring 2025 on sku",
        ["Stoves", "3750.50", "Tents", "3099.99"],
    ),
    (
        "computed over two files",
        Plan("sales", (Aggregate("sum", Formula(column("price", "products"), "*", column("units"))),), join=JOIN),
        "sum(price * units) over 7 of 8 rows of data/sales.csv joined with products.xlsx, sheet Spring 2025 on sku",
        ["4650.00"],
    ),
]


@pytest.mark.parametrize(("plan", "said", "values"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_an_operation(plan: Plan, said: str, values: list[str]) -> None:
    result = compute(engine([SALES, PRODUCTS]), plan, TABLES)
    assert expression(plan, TABLES, result) == said
    found = [plain(cell, of) for row in result.rows for cell, of in zip(row, result.columns, strict=True)]
    assert found == values


def test_an_expression_quotes_what_could_be_taken_for_a_part_of_it() -> None:
    odd = Criterion(column('total" or 1'), "=", 'a "b"\n\u2028c')
    said = expression(where(odd, ROWS), TABLES)
    assert said == r'count(rows) where [total\" or 1] = "a \"b\"\n\u2028c" over the rows of data/sales.csv'


def test_floating_point_is_shown_with_three_digits_or_two_decimals() -> None:
    profile = TableProfile("lab", "lab.csv", 3, (ColumnProfile("mass", "number", "g", decimals=None),))
    data = Data(profile, [(0.1,), (0.2,), (float("nan"),)])
    mass = Column("lab", "mass")
    some = Criterion(mass, "<", Decimal("0.5"))
    operations: tuple[Operation, ...] = ("sum", "mean", "median", "min", "stddev")
    measures = (*(Aggregate(operation, mass, some) for operation in operations), Aggregate("max", mass))
    quantile = Aggregate("quantile", mass, some, Decimal("0.25"))
    ratio = Compared("percent", Aggregate("min", mass), Aggregate("sum", mass, some))
    result = compute(engine([data]), Plan("lab", (*measures, quantile, ratio)), {"lab": profile})
    found = [shown(cell, of) for cell, of in zip(result.rows[0], result.columns, strict=True)]
    assert found == ["0.3 g", "0.15 g", "0.15 g", "0.1 g", "0.0707 g", "–", "0.125 g", "33.33%"]


def _of_shops(*rows: tuple[str | None, int], keep: tuple[Kept, ...] = ()) -> list[list[str]]:
    """The sums by month."""
    columns = (ColumnProfile("month", "text"), ColumnProfile("sold", "number", decimals=0))
    profile = TableProfile("shops", "shops.csv", len(rows), columns)
    sold, by = Aggregate("sum", Column("shops", "sold")), Group(Column("shops", "month"))
    plan = Plan("shops", (sold,), (by,), keep=keep)
    found = compute(engine([Data(profile, list(rows))]), plan, {"shops": profile})
    return [[plain(cell, of) for cell, of in zip(row, found.columns, strict=True)] for row in found.rows]


def test_months_by_name_are_in_the_order_of_the_year() -> None:
    assert [row[0] for row in _of_shops(("Mar", 5), ("Dec", 1), ("Jan", 7), ("Feb", 2))] == ["Jan", "Feb", "Mar", "Dec"]
    assert [row[0] for row in _of_shops(("März", 5), ("Mai", 1), ("Total", 6))] == ["Mai", "März", "Total"]


def test_groups_are_kept_by_their_measure() -> None:
    many = Kept(1, ">", Decimal(4))
    assert _of_shops(("Mar", 3), ("Mar", 2), ("Jan", 4), ("Feb", 9), keep=(many,)) == [["Feb", "9"], ["Mar", "5"]]
