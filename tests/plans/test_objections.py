"""What speaks against a plan: each reason by itself, and none against the plans that are answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentsvc_nb.documents.plans.checks import objections
from agentsvc_nb.documents.plans.plan import (
    Aggregate,
    Along,
    Column,
    Compared,
    Criterion,
    Formula,
    Group,
    Join,
    Order,
    Plan,
)
from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile
from agentsvc_nb.documents.plans.roles import is_identifier, is_label, is_rank, is_ratio
from tests.plans.sales import ROWS, SALES, TABLES, column, total
from tests.plans.test_operations import TABLE

REVENUE = total("revenue")
MARGIN = Formula(column("revenue"), "/", column("cost"))
BY_CHANNEL = (Group(column("channel")),)
LOOKUP = Plan("sales", limit=1, order=(Order(0, True),))

REFUSED: list[tuple[list[str], Plan]] = [
    (["mean_of_ratios"], Plan("sales", (total("ctr", "mean"),))),
    (["mean_of_ratios"], Plan("sales", (Aggregate("mean", MARGIN),))),
    (["mean_of_ratios"], Plan("sales", (Compared("difference", total("ctr", "mean"), total("ctr", "mean")),))),
    (["sum_of_ratios"], Plan("sales", (total("ctr"),))),
    (["sum_of_ratios"], Plan("sales", (Aggregate("sum", MARGIN),))),
    (["percent_in_formula"], Plan("sales", (Aggregate("sum", Formula(column("revenue"), "*", column("ctr"))),))),
    (["units_differ"], Plan("sales", (Aggregate("sum", Formula(column("revenue"), "-", column("units"))),))),
    (["units_differ"], Plan("sales", (Compared("difference", REVENUE, total("units")),))),
    (["parts_do_not_add_up"], Plan("sales", (Along("share", total("revenue", "mean")),), BY_CHANNEL)),
    (["parts_do_not_add_up"], Plan("sales", (Along("running", total("channel", "distinct")),), BY_CHANNEL)),
    (["identifier_grouped"], Plan("sales", (REVENUE,), (Group(column("order id")),))),
    (["identifier_measured"], Plan("sales", (total("order id", "mean"),))),
    (["rank_measured"], Plan("sales", (total("rank", "max"),))),
    (["rank_ordered"], replace(LOOKUP, select=(column("rank"),))),
    (["identifier_ordered"], replace(LOOKUP, select=(column("order id"),))),
    (["date_ordered"], replace(LOOKUP, select=(column("day"),))),
    (
        ["join_multiplies"],
        Plan("products", (ROWS,), join=Join("sales", ((column("sku", "products"), column("sku")),))),
    ),
    (
        ["identifier_grouped", "sum_of_ratios"],
        Plan("sales", (total("ctr"), total("ctr")), (Group(column("order id")),)),
    ),
]


@pytest.mark.parametrize(("codes", "plan"), REFUSED)
def test_what_speaks_against_a_plan(codes: list[str], plan: Plan) -> None:
    assert [one.code for one in objections(plan, TABLES)] == codes
    assert all(one.message.endswith(".") and "None" not in one.message for one in objections(plan, TABLES))


@pytest.mark.parametrize("row", TABLE, ids=[row[0] for row in TABLE])
def test_nothing_speaks_against_what_users_ask(row: tuple[str, Plan, str, list[str]]) -> None:
    assert objections(row[1], TABLES) == []


def test_an_order_of_all_rows_asks_nothing_of_its_column() -> None:
    assert objections(Plan("sales", select=(column("day"),), order=(Order(0),)), TABLES) == []


def test_amounts_of_several_currencies_are_not_added_up() -> None:
    currency = ColumnProfile("Currency", "text", distinct=2)
    table = TableProfile(
        "ads", "ads.csv", 9, (ColumnProfile("Cost", "number"), ColumnProfile("Clicks", "number"), currency)
    )
    cost, clicks, by = (Column("ads", name) for name in ("Cost", "Clicks", "Currency"))
    mixed = Plan("ads", (Aggregate("sum", cost),))
    assert [one.code for one in objections(mixed, {"ads": table})] == ["currencies_differ"]
    assert objections(replace(mixed, groups=(Group(by),)), {"ads": table}) == []
    assert objections(replace(mixed, where=Criterion(by, "=", "EUR")), {"ads": table}) == []
    assert objections(Plan("ads", (Aggregate("sum", clicks),)), {"ads": table}) == []


def named(name: str, **known: object) -> ColumnProfile:
    return ColumnProfile(name, "number", **known)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["id", "PassengerId", "order_id", "Train No.", "SKU", "Kundennummer Nr."])
def test_an_identifier_is_named_so_and_differs_in_each_row(name: str) -> None:
    table = SALES.profile
    assert is_identifier(named(name, distinct=table.rows), table)
    assert not is_identifier(named(name, distinct=table.rows - 1), table)


def test_roles_go_by_whole_words() -> None:
    table = TableProfile("t", "t.csv", 3, ())
    assert not is_identifier(named("paid", distinct=3), table)
    columns = [named("World Rank"), named("franking"), ColumnProfile("place", "text")]
    assert [is_rank(one) for one in columns] == [True, False, False]
    columns = [named("Conversion rate"), named("x", unit="%"), named("crates")]
    assert [is_ratio(one) for one in columns] == [True, True, False]
    columns = [named("Year"), named("zip"), named("yearly cost")]
    assert [is_label(one) for one in columns] == [True, True, False]
