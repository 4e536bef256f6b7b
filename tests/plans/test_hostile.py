"""Names, texts and numbers of strangers never change what a plan's SQL means; what can't be said in it is refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from agentsvc_nb.documents.plans.dialect import engine_names, quoted, text
from agentsvc_nb.documents.plans.execution import account, compute
from agentsvc_nb.documents.plans.plan import (
    Aggregate,
    Along,
    Column,
    Compared,
    Condition,
    Contains,
    Correlation,
    Criterion,
    DatePart,
    Formula,
    Group,
    Join,
    Measure,
    OneOf,
    Operation,
    Order,
    Plan,
    from_json,
    to_json,
)
from agentsvc_nb.documents.plans.profiles import ColumnProfile, PlanError, TableProfile
from agentsvc_nb.documents.plans.sql import sql
from tests.plans import drawn
from tests.plans.engine import engine
from tests.plans.oracle import Data
from tests.plans.sales import PRODUCTS, ROWS, SALES, TABLES, column, total

anything = st.one_of(drawn.texts, st.text(max_size=20))


def asked(table: str, names: tuple[str, str], value: str) -> tuple[Data, Plan]:
    """The same question of a table with these names and this value, in each place where a text can stand."""
    columns = (ColumnProfile(names[0], "text"), ColumnProfile(names[1], "number"))
    data = Data(TableProfile(table, value, 3, columns), [(value, Decimal(1)), ("another", Decimal(2)), (None, None)])
    name, number = Column(table, names[0]), Column(table, names[1])
    where = OneOf(name, (value, "another"))
    amount = Aggregate("sum", number, Criterion(name, "=", value))
    measures = (amount, Along("share", amount), Aggregate("count", None, Contains(name, value)))
    return data, Plan(table, measures, (Group(name),), where, order=(Order(1, True),), limit=5)


@settings(max_examples=100, deadline=None)
@given(anything.filter(bool), st.tuples(anything, anything), anything)
def test_texts_stay_texts(table: str, names: tuple[str, str], value: str) -> None:
    if names[0] == names[1] or value == "another":
        return
    data, plan = asked(table, names, value)
    tables = {table: data.profile}
    if any(0xD800 <= ord(char) <= 0xDFFF for char in table + names[0] + names[1] + value):
        with pytest.raises(PlanError, match="surrogates"):
            sql(plan, tables)
        return
    made = sql(plan, tables)
    assert [one.type for one in duckdb.extract_statements(made)] == [duckdb.StatementType.SELECT]
    result = compute(engine([data]), plan, tables)
    found = {row[0]: row[1:] for row in result.rows}
    assert found[value][:2] == (Decimal(1), Decimal(100))
    assert found.get("another", (None,))[0] is None


def test_quoting_is_doubling() -> None:
    assert quoted('a"b') == '"a""b"'
    assert text("a'b\\") == "'a''b\\'"


def test_names_that_the_engine_takes_for_the_same_stay_apart() -> None:
    names = ["Name", "name", "NAME", "name_2", "", "rowid"]
    table = TableProfile("t", "t.csv", 0, tuple(ColumnProfile(name, "number") for name in names))
    assert engine_names(table) == ("Name", "name_2", "NAME_3", "name_2_2", "column 5", "rowid_2")
    data = Data(table, [(1, 2, 3, 4, 5, 6)])
    measures = tuple(Aggregate("sum", Column("t", name)) for name in names)
    (row,) = compute(engine([data]), Plan("t", measures), {"t": table}).rows
    assert row == tuple(map(Decimal, range(1, 7)))


REVENUE, DAY, NAME = column("revenue"), column("day"), column("channel")
BY_MONTH = (Group(DAY, "month"),)


def where(condition: Condition) -> Plan:
    return Plan("sales", (ROWS,), where=condition)


def measured(measure: Measure) -> Plan:
    return Plan("sales", (measure,))


@pytest.mark.parametrize(
    ("code", "plan"),
    [
        ("unknown_table", Plan("absent", (ROWS,))),
        ("unknown_column", measured(total("absent"))),
        ("unknown_table", measured(Aggregate("sum", column("price", "products")))),
        ("wrong_kind", measured(total("channel"))),
        ("wrong_kind", measured(total("channel", "min"))),
        ("wrong_kind", measured(total("day", "mean"))),
        ("wrong_kind", measured(Correlation(REVENUE, DAY))),
        ("wrong_kind", measured(Aggregate("sum", Formula(REVENUE, "*", DAY)))),
        ("wrong_kind", measured(Compared("difference", total("day", "max"), total("day", "min")))),
        ("wrong_kind", where(Criterion(NAME, "=", Decimal(1)))),
        ("wrong_kind", where(Criterion(REVENUE, "=", "1"))),
        ("wrong_kind", where(Criterion(REVENUE, "=", True))),
        ("wrong_kind", where(Criterion(DAY, "=", time(9)))),
        ("wrong_kind", where(Criterion(NAME, "=", REVENUE))),
        ("wrong_kind", where(Criterion(DatePart(NAME, "year"), "=", Decimal(1)))),
        ("wrong_kind", where(Criterion(DatePart(DAY, "hour"), "=", Decimal(1)))),
        ("wrong_kind", where(Criterion(DatePart(DAY, "year"), "=", "2025"))),
        ("wrong_kind", where(OneOf(DAY, (date(2025, 1, 1), "2025")))),
        ("wrong_kind", where(Contains(REVENUE, "1"))),
        ("wrong_kind", Plan("sales", (ROWS,), (Group(NAME, "month"),))),
        ("invalid_value", where(Criterion(REVENUE, "=", Decimal("NaN")))),
        ("invalid_value", where(Criterion(REVENUE, "=", Decimal("1e999999")))),
        ("invalid_value", where(Criterion(REVENUE, "=", Decimal("1e-13")))),
        ("invalid_value", where(Criterion(DAY, "=", datetime(2025, 1, 1, tzinfo=UTC)))),
        ("invalid_plan", Plan("sales")),
        ("invalid_plan", Plan("sales", (ROWS,), select=(REVENUE,))),
        ("invalid_plan", Plan("sales", (ROWS,), order=(Order(1),))),
        ("invalid_plan", Plan("sales", (ROWS,), limit=0)),
        ("invalid_plan", Plan("sales", (ROWS,), (Group(NAME),) * 3)),
        ("invalid_plan", measured(Aggregate("sum"))),
        ("invalid_plan", measured(total("revenue", "quantile"))),
        ("invalid_plan", measured(Aggregate("quantile", REVENUE, quantile=Decimal("1.1")))),
        ("invalid_join", Plan("sales", (ROWS,), join=Join("sales", ((NAME, NAME),)))),
        ("invalid_join", Plan("sales", (ROWS,), join=Join("products", ()))),
        ("wrong_kind", Plan("sales", (ROWS,), join=Join("products", ((REVENUE, column("sku", "products")),)))),
        ("no_period", Plan("sales", (Along("change", total("revenue")),), (Group(NAME),))),
    ],
)
def test_what_can_not_be_computed_is_refused_before_it_is_run(code: str, plan: Plan) -> None:
    with pytest.raises(PlanError) as refused:
        sql(plan, TABLES)
    assert refused.value.code == code
    assert str(refused.value).endswith(".")


def test_a_key_in_several_rows_is_refused_when_it_is_met() -> None:
    twice = replace(PRODUCTS, rows=[*PRODUCTS.rows, ("A", "Tents", Decimal(1))])
    plan = Plan("sales", (ROWS,), join=Join("products", ((column("sku"), column("sku", "products")),)))
    with pytest.raises(PlanError, match="several rows"):
        compute(engine([SALES, twice]), plan, TABLES)


@pytest.mark.parametrize(
    ("operation", "rows"), [("sum", 2), ("mean", 1), ("median", 1), ("quantile", 2)], ids=lambda value: str(value)
)
def test_numbers_too_large_for_the_engine_are_an_error_and_no_answer(operation: Operation, rows: int) -> None:
    data = Data(drawn.amounts(rows), [(Decimal("9" * 36) + number,) for number in range(rows)])
    measure = Aggregate(operation, Column("sales", "amount"), quantile=Decimal("0.1"))
    with pytest.raises(duckdb.Error):
        compute(engine([data]), Plan("sales", (measure,)), {"sales": data.profile})


@pytest.mark.parametrize(
    "broken",
    [
        lambda text: text.replace('"sum"', '"drop"'),
        lambda text: text.replace('"number"', '"float"'),
        lambda text: text.replace('"1.5"', '"one"'),
        lambda text: text.replace('"criterion"', '"code"'),
        lambda text: text[:-1],
        lambda text: "[]",
    ],
)
def test_what_is_no_plan_in_json_is_refused(broken: Callable[[str], str]) -> None:
    made = to_json(Plan("sales", (total("revenue"),), where=Criterion(REVENUE, "=", Decimal("1.5"))))
    assert from_json(made)
    with pytest.raises(ValidationError):
        from_json(broken(made))


def test_plans_are_made_checked_and_shown_without_the_engine() -> None:
    code = """
import sys
from agentsvc_nb.documents.plans import checks, execution, expressions, plan, profiles, results, sql
table = profiles.TableProfile("t", "t.csv", 1, (profiles.ColumnProfile("a", "number"),))
made = plan.from_json('{"table": "t", "measures": [{"operation": "count", "is_a": "aggregate"}]}')
for of in (sql.sql, execution.account, expressions.expression, checks.objections):
    print(of(made, {"t": table}))
assert not {"duckdb", "pandas", "numpy", "matplotlib"} & set(sys.modules), sorted(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_account_says_why_rows_were_left_out() -> None:
    join = Join("products", ((column("sku"), column("sku", "products")),))
    where = Criterion(NAME, "!=", "Social")
    measures: tuple[Any, ...] = (total("revenue"), Aggregate("max", Formula(REVENUE, "/", column("cost"))))
    plan = Plan("sales", measures, where=where, join=join)
    result = compute(engine([SALES, PRODUCTS]), plan, TABLES)
    assert (result.total, result.used) == (8, 4)
    assert [(one.reason, one.column, one.rows) for one in result.left_out] == [
        ("unmatched", "", 1),
        ("undecided", "channel", 1),
        ("empty", "revenue", 1),
    ]
    assert account(plan, TABLES).sql.count("SELECT") == 1
    everything = compute(engine([SALES, PRODUCTS]), Plan("sales", measures), TABLES)
    assert [(one.reason, one.column, one.rows) for one in everything.left_out] == [
        ("empty", "revenue", 1),
        ("zero", "cost", 1),
    ]
