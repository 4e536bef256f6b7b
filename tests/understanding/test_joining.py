"""Questions that take two tables: joined by the one key that they share, or asked back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentsvc_nb.agents.offline.tables.following.context import in_context
from agentsvc_nb.agents.offline.tables.joining import understood_joined
from agentsvc_nb.agents.offline.tables.understanding import AskedBack, Understood
from agentsvc_nb.documents.plans.expressions import expression
from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile
from tests.understanding.orders import numbers, texts

IDS = tuple(f"C{number:02}" for number in range(1, 21))
CUSTOMERS = TableProfile(
    "customers",
    "customers.csv",
    20,
    (
        texts("customer_id", *IDS),
        texts("country", "Germany", "Austria", "Spain"),
        texts("tier", "Gold", "Silver", "Basic"),
        numbers("age", "18", "80", 15),
        ColumnProfile("signup_date", "date", distinct=20, smallest="2020-01-01", largest="2024-05-05"),
    ),
)
SALES = TableProfile(
    "sales",
    "orders.csv",
    200,
    (
        numbers("order_id", "1", "200", 200),
        texts("customer_id", *IDS[:18]),
        texts("product", "Tent", "Mug", "Pack"),
        numbers("revenue", "10", "900", 150, "€"),
        numbers("order_value", "10", "900", 150, "€"),
        ColumnProfile("order_date", "date", distinct=90, smallest="2025-01-05", largest="2025-11-28"),
    ),
)
VISITS = TableProfile("visits", "visits.csv", 300, (texts("customer_id", *IDS), texts("page", "home", "shop")))

JOINED = [
    ("revenue by country", "sum(revenue) by country"),
    ("average order value of Gold customers", 'mean(order_value) where tier = "Gold"'),
    ("revenue from customers in Austria", 'sum(revenue) where country = "Austria"'),
    ("revenue by customer tier", "sum(revenue) by tier"),
    ("how many orders did Gold customers place", 'count(rows) where tier = "Gold"'),
    ("how many Gold customers have orders", 'count(distinct customer_id) where tier = "Gold"'),
    ("number of orders by country", "count(rows) by country"),
    ("revenue by month and country", "sum(revenue) by month(order_date) and country"),
    ("revenue of tents in Austria in March",
     'sum(revenue) where product = "Tent" and country = "Austria" and order_date from 2025-03-01 to 2025-03-31'),
    ("which country has the highest revenue", "sum(revenue) by country top 1 by sum(revenue)"),
    ("share of revenue by tier", "share in % of sum(revenue) by tier"),
    ("revenue not in Austria", 'sum(revenue) where not (country = "Austria")'),
]  # fmt: skip

SINGLE = [
    ("revenue by product", "sum(revenue) by product over the rows of orders.csv"),
    ("average age by tier", "mean(age) by tier over the rows of customers.csv"),
    ("number of customers by country", "count(rows) by country over the rows of customers.csv"),
]

REFUSED = [
    ("average age by product", "counted several times"),
    ("how many have a Gold tier and bought tents", ""),
    ("revenue of blorps by country", ""),
    ("revenue by country in the city", ""),
]


def read(question: str, *tables: TableProfile) -> str:
    chosen = tables or (SALES, CUSTOMERS)
    found = understood_joined(question, chosen)
    if not isinstance(found, Understood):
        return ""
    return expression(found.reading.plan, {table.name: table for table in chosen})


@pytest.mark.parametrize(("question", "expected"), JOINED)
def test_two_tables_are_joined_by_their_key(question: str, expected: str) -> None:
    assert read(question) == f"{expected} over the rows of orders.csv joined with customers.csv on customer_id"
    assert read(question, CUSTOMERS, SALES) == read(question)


@pytest.mark.parametrize(("question", "expected"), SINGLE)
def test_what_one_table_answers_is_not_joined(question: str, expected: str) -> None:
    assert read(question) == expected


@pytest.mark.parametrize(("question", "reason"), REFUSED)
def test_what_would_count_rows_twice_or_is_not_known_is_asked_back(question: str, reason: str) -> None:
    assert read(question) == ""
    found = understood_joined(question, [SALES, CUSTOMERS])
    assert reason in getattr(found, "reason", "")


def test_a_key_of_several_rows_on_either_side_is_asked_back() -> None:
    found = understood_joined("revenue by page", [SALES, VISITS])
    assert isinstance(found, AskedBack)
    assert "several rows of orders.csv and of visits.csv" in found.reason


def test_two_keys_are_asked_back() -> None:
    mails = texts("mail", *(f"{one}@x.org" for one in IDS))
    both = [replace(one, columns=(*one.columns, mails)) for one in (SALES, CUSTOMERS)]
    found = understood_joined("revenue by country", both)
    assert isinstance(found, AskedBack)
    assert "joined by customer_id or mail" in found.reason


def test_two_tables_that_both_have_the_column_are_asked_back() -> None:
    shops = replace(CUSTOMERS, name="shops", path="shops.csv")
    assert read("revenue by country", SALES, CUSTOMERS, shops) == ""


def test_keys_are_found_by_names_and_by_values() -> None:
    own_id = replace(CUSTOMERS, columns=(replace(CUSTOMERS.columns[0], name="id"), *CUSTOMERS.columns[1:]))
    assert read("revenue by country", SALES, own_id).endswith("joined with customers.csv on customer_id = id")
    held = replace(CUSTOMERS, columns=(replace(CUSTOMERS.columns[0], name="label"), *CUSTOMERS.columns[1:]))
    assert read("revenue by country", SALES, held).endswith("joined with customers.csv on customer_id = label")
    other = replace(CUSTOMERS, columns=(texts("customer_id", *(f"K{one}" for one in IDS)), *CUSTOMERS.columns[1:]))
    assert read("revenue by country", SALES, other) == ""


def test_a_column_of_either_table_and_a_day_of_the_other_are_asked_back() -> None:
    both = replace(SALES, columns=(*SALES.columns, texts("country", "Germany", "Peru")))
    assert read("revenue by country and tier", both, CUSTOMERS) == ""
    undated = replace(SALES, columns=SALES.columns[:-1])
    assert read("revenue in March", undated, CUSTOMERS) == ""


def test_a_value_of_a_table_without_a_key_is_asked_back() -> None:
    found = in_context("and for home?", ["revenue by product"], [SALES, VISITS], ["orders.csv", "visits.csv"]).found
    assert isinstance(found, AskedBack)


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        ("revenue by product | and for Gold customers?", 'sum(revenue) by product where tier = "Gold" over'),
        ("revenue by country | only tents", 'sum(revenue) by country where product = "Tent" over'),
        ("revenue in Austria | and for Spain?", 'sum(revenue) where country = "Spain" over'),
        ("total revenue | only Gold customers", 'sum(revenue) where tier = "Gold" over'),
        ("revenue in Austria | and by tier?", 'sum(revenue) by tier where country = "Austria" over'),
    ],
)
def test_a_question_that_goes_on_may_join(chain: str, expected: str) -> None:
    *before, question = chain.split(" | ")
    found = in_context(question, before, [SALES, CUSTOMERS], ["orders.csv", "customers.csv"]).found
    assert isinstance(found, Understood)
    line = expression(found.reading.plan, {"sales": SALES, "customers": CUSTOMERS})
    assert line.startswith(expected)
    assert line.endswith("joined with customers.csv on customer_id")
