"""What the engine computes of a plan is what plain Python computes: to the last digit, wherever numbers are decimal."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import duckdb
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from agentsvc_nb.documents.plans import plan as plans_json
from agentsvc_nb.documents.plans import results as results_json
from agentsvc_nb.documents.plans.dialect import quoted
from agentsvc_nb.documents.plans.execution import compute
from agentsvc_nb.documents.plans.expressions import expression
from agentsvc_nb.documents.plans.plan import Plan
from agentsvc_nb.documents.plans.results import markdown
from agentsvc_nb.documents.plans.sql import sql
from tests.plans import drawn
from tests.plans.engine import engine
from tests.plans.oracle import Data, Number, rows_of, used

TOLERANCE = 1e-6


def same(found: Any, expected: Number) -> bool:
    if not expected.approximate or found is None:
        return bool(found == expected.value)
    return math.isclose(float(found), float(expected.value), rel_tol=TOLERANCE, abs_tol=TOLERANCE)


@st.composite
def questions(draw: st.DrawFn) -> tuple[dict[str, Data], Plan]:
    own_name, other_name = draw(st.lists(drawn.texts.filter(bool), min_size=2, max_size=2, unique_by=str.casefold))
    own = draw(drawn.tables(own_name))
    other = draw(st.one_of(st.none(), st.none(), drawn.joinable(other_name)))
    data = {one.profile.name: one for one in (own, other) if one is not None}
    return data, draw(drawn.plans(own, other))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(questions())
def test_a_plan_has_the_result_of_plain_python(question: tuple[dict[str, Data], Plan]) -> None:
    data, plan = question
    tables = {name: one.profile for name, one in data.items()}
    note(sql(plan, tables))
    connection = engine(data.values())
    result = compute(connection, plan, tables)
    expected = rows_of(plan, data)
    note(f"found    {result.rows}")
    note(f"expected {[[one.value for one in row] for row in expected]}")
    assert len(result.rows) == len(expected)
    for found, wanted in zip(result.rows, expected, strict=True):
        assert len(found) == len(wanted) == len(result.columns)
        assert all(map(same, found, wanted))
    assert (result.total, result.used) == (len(data[plan.table].rows), used(plan, data))

    assert plans_json.from_json(plans_json.to_json(plan)) == plan
    assert results_json.from_json(results_json.to_json(result)) == result
    assert len(expression(plan, tables, result).splitlines()) == 1
    assert markdown(result).count("\n|") == min(len(result.rows), 20) + 1
    statements = duckdb.extract_statements(sql(plan, tables))
    assert [one.type for one in statements] == [duckdb.StatementType.SELECT]
    for name, one in data.items():
        kept = connection.execute(f"SELECT * FROM {quoted(name)}").fetchall()
        assert [tuple(row) for row in kept] == [tuple(row) for row in one.rows]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.decimals(min_value=-(10**20), max_value=10**20, places=2), min_size=1, max_size=7))
def test_large_decimals_stay_exact(numbers: list[Decimal]) -> None:
    """Floating point would have lost the cents at 10^14."""
    data = Data(drawn.amounts(len(numbers)), [(number,) for number in numbers])
    plan = drawn.every_exact_measure()
    tables = {"sales": data.profile}
    (found,) = compute(engine([data]), plan, tables).rows
    (expected,) = rows_of(plan, {"sales": data})
    assert all(map(same, found, expected))
