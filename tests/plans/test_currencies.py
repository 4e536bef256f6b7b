"""Amounts of money against each other: a quotient in one currency has none, and of two currencies there is none."""

from __future__ import annotations

import pytest

from agentsvc_nb.documents.plans.checks import objections
from agentsvc_nb.documents.plans.currencies import currency_of, differ
from agentsvc_nb.documents.plans.plan import Aggregate, Column, Compared, Criterion, Formula, Plan
from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile
from agentsvc_nb.documents.plans.sql import statement

ADS = TableProfile(
    "ads",
    "ads.csv",
    9,
    tuple(
        ColumnProfile(name, "number", unit, 2)
        for name, unit in [
            ("Revenue", "EUR"),
            ("Cost (EUR)", ""),
            ("Cost", ""),
            ("Fee", "€"),
            ("Spend USD", ""),
            ("Clicks", ""),
            ("Price", "$"),
            ("Net weight", "kg"),
        ]
    ),
)


def ratio(above: str, below: str, how: str = "ratio") -> Plan:
    left, right = (Aggregate("sum", Column("ads", name)) for name in (above, below))
    return Plan("ads", (Compared(how, left, right),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("above", "below", "unit"),
    [
        ("Revenue", "Cost (EUR)", ""),
        ("Revenue", "Cost", ""),
        ("Cost (EUR)", "Revenue", ""),
        ("Fee", "Cost (EUR)", ""),
        ("Revenue", "Clicks", "EUR"),
        ("Revenue", "Net weight", "EUR/kg"),
    ],
)
def test_a_quotient_of_two_amounts_has_no_currency(above: str, below: str, unit: str) -> None:
    plan = ratio(above, below)
    assert objections(plan, {"ads": ADS}) == []
    assert statement(plan, {"ads": ADS}).columns[0].unit == unit


@pytest.mark.parametrize("how", ["ratio", "percent", "difference", "change"])
def test_amounts_of_two_currencies_are_not_compared(how: str) -> None:
    [found] = objections(ratio("Revenue", "Spend USD", how), {"ads": ADS})
    assert found.code == "currencies_differ"
    assert "EUR" in found.message
    assert "USD" in found.message


def test_nor_are_they_row_by_row() -> None:
    revenue, spend = Column("ads", "Revenue"), Column("ads", "Spend USD")
    plans = [
        Plan("ads", (Aggregate("max", Formula(revenue, "/", spend)),)),
        Plan("ads", (Aggregate("sum", Formula(revenue, "-", spend)),)),
        Plan("ads", (Aggregate("count"),), where=Criterion(revenue, ">", spend)),
    ]
    assert [[one.code for one in objections(plan, {"ads": ADS})] for plan in plans] == [["currencies_differ"]] * 3


def test_a_difference_in_one_currency_has_it() -> None:
    plan = ratio("Revenue", "Cost (EUR)", "difference")
    assert objections(plan, {"ads": ADS}) == []
    assert statement(plan, {"ads": ADS}).columns[0].unit == "EUR"


def test_a_dollar_may_be_any() -> None:
    assert objections(ratio("Price", "Spend USD"), {"ads": ADS}) == []
    assert not differ("$", "CAD")
    assert differ("$", "EUR")
    assert not differ("", "EUR")


@pytest.mark.parametrize("name", ["All costs", "Try 2", "Cost in EUR and USD", "Left ft"])
def test_a_word_is_no_currency(name: str) -> None:
    assert currency_of(ColumnProfile(name, "number")) == ""
