"""Questions about tables themselves: their columns, and rows that stand there more than once. Each word counts."""

from __future__ import annotations

import pytest

from agentsvc_nb.agents.offline.tables.duplicates import columns_of_tables, duplicates, plan_of
from agentsvc_nb.agents.offline.tables.structure import Columns, Duplicates, NotRead, structural
from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile
from agentsvc_nb.documents.plans.results import Result
from agentsvc_nb.documents.plans.sql import statement
from tests.understanding.orders import ORDERS, numbers, texts

LEADS = TableProfile(
    "leads",
    "leads.csv",
    33,
    (
        texts("Name", "Émile Ito", "Søren Berg"),
        ColumnProfile("Email", "text", empty=2, distinct=26, values=("a@mail.test", "b@mail.test")),
        texts("Source", "Fair", "Webinar"),
        numbers("Lead Value", "50", "200"),
        ColumnProfile("Bestell-Nr", "text", distinct=20),
    ),
)

ALL_COLUMNS = (
    "Show the columns",
    "Which columns does the table have?",
    "what are the column names",
    "colums of leads",
    "Welche Spalten hat die Tabelle?",
    "Zeig mir alle Spalten",
    "Quelles colonnes y a-t-il ?",
    "¿Qué columnas tiene la tabla?",
)


@pytest.mark.parametrize("question", ALL_COLUMNS)
def test_columns_are_listed(question: str) -> None:
    assert structural(question, [LEADS]) == Columns((LEADS,))


@pytest.mark.parametrize("question", ["How many columns are there?", "Wie viele Spalten hat die Tabelle?"])
def test_columns_are_counted(question: str) -> None:
    asked = structural(question, [LEADS])
    assert asked == Columns((LEADS,), counted=True)
    [said] = columns_of_tables(asked)
    assert said.basis.values == ["5"]


def test_of_several_tables_the_one_that_is_named_is_meant() -> None:
    assert structural("columns of orders", [LEADS, ORDERS]) == Columns((ORDERS,))
    assert structural("which columns are there", [LEADS, ORDERS]) == Columns((LEADS, ORDERS))


COMPARED = [
    ("Are there duplicates?", ()),
    ("Show duplicate rows", ()),
    ("any dupes in here?", ()),
    ("duplicate leads", ()),
    ("Gibt es Dubletten?", ()),
    ("Wie viele doppelte Zeilen gibt es?", ()),
    ("Y a-t-il des doublons ?", ()),
    ("¿Hay duplicados?", ()),
    ("duplicates by email", ("Email",)),
    ("How many duplicate emails are there?", ("Email",)),
    ("doppelte E-Mail-Adressen", ("Email",)),
    ("duplicates by emial", ("Email",)),
    ("duplicate names", ("Name",)),
    ("find duplicates in Name and Email", ("Name", "Email")),
    ("duplicates by name, email", ("Name", "Email")),
    ("which emails appear more than once?", ("Email",)),
    ("Gibt es doppelte Bestellnummern?", ("Bestell-Nr",)),
]


@pytest.mark.parametrize(("question", "by"), COMPARED)
def test_rows_are_compared_whole_or_by_columns(question: str, by: tuple[str, ...]) -> None:
    found = structural(question, [LEADS])
    assert isinstance(found, tuple)
    assert [one.by for one in found] == [by]


@pytest.mark.parametrize(
    "question",
    [
        "which columns have missing values?",
        "show the columns name and email",
        "show the columns of the customers table",
        "remove duplicates",
        "duplicates by phone",
        "duplicates by name or email",
        "duplicate emails from Fair",
        "total lead value without duplicates",
        "duplicates by name and value",
        "doppelt so viel Umsatz",
        "number of duplicates per source",
    ],
)
def test_a_word_without_a_part_is_not_read_over(question: str) -> None:
    assert isinstance(structural(question, [LEADS]), NotRead)


def test_a_column_or_a_value_that_is_called_so_is_meant() -> None:
    status = TableProfile("t", "t.csv", 3, (texts("Status", "Duplicate", "Open"), texts("Fields", "north", "south")))
    assert structural("how many duplicates", [status]) is None
    assert structural("which fields are there", [status]) is None


def test_other_questions_are_none_of_these() -> None:
    assert structural("total lead value by source", [LEADS]) is None
    assert structural("Are there duplicates?", []) is None


def test_rows_without_a_value_are_equal_to_none() -> None:
    plan = plan_of(Duplicates(LEADS, ("Email",)))
    assert 'WHERE NOT (t."Email" IS NULL)' in statement(plan, {"leads": LEADS}).sql
    assert len(plan_of(Duplicates(LEADS)).groups) == 5


def test_no_duplicates_where_an_id_differs_says_so() -> None:
    asked = Duplicates(ORDERS)
    columns = statement(plan_of(asked), {"orders": ORDERS}).columns
    said = duplicates(asked, Result(columns, (), 120, 120))
    assert said.basis.headline == "No row of orders.csv repeats another row"
    assert "Order ID is different in each row" in said.text
