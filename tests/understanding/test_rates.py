"""Means of rates, which weigh nothing, and columns of yes and no, which are counted by their noun."""

from __future__ import annotations

from typing import Final

import pytest

from agentsvc_nb.agents.offline.tables.understanding import AskedBack, Understood, understand
from agentsvc_nb.agents.offline.tables.weights import rates_averaged
from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile
from tests.understanding.orders import numbers, read, texts

RATES: Final = (numbers("Conversion Rate", "0.5", "7", 30, "%"), numbers("Bounce Rate", "0.2", "0.8"))
PAGES: Final = TableProfile(
    "pages", "pages.csv", 60, (texts("Page", "/home", "/jobs"), texts("Device", "Mobile", "Desktop"), *RATES)
)
VISITED: Final = TableProfile("pages", "pages.csv", 60, (*PAGES.columns, numbers("Visits", "3", "900")))


def _read(question: str, table: TableProfile) -> str:
    return read(question, table).replace(f" over the rows of {table.path}", "")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("average conversion rate", "mean(Conversion Rate)"),
        ("average bounce rate by device", "mean(Bounce Rate) by Device"),
        ("durchschnittliche Bounce Rate auf Mobile", 'mean(Bounce Rate) where Device = "Mobile"'),
    ],
)
def test_without_anything_to_weigh_by_the_plain_mean_is_the_answer(question: str, expected: str) -> None:
    assert _read(question, PAGES) == expected


@pytest.mark.parametrize(
    "question",
    [
        "plain mean of the conversion rate",
        "unweighted average conversion rate",
        "average conversion rate (unweighted)",
        "simple average of conversion rate",
        "ungewichteter Durchschnitt der Conversion Rate",
        "einfacher Mittelwert der Conversion Rate",
    ],
)
def test_a_plain_mean_is_given_where_it_is_asked_for(question: str) -> None:
    assert _read(question, VISITED) == "mean(Conversion Rate)"
    found = understand(question, [VISITED])
    assert isinstance(found, Understood)
    assert rates_averaged(found.reading.plan, {"pages": VISITED}) == ["Conversion Rate"]


def test_what_could_be_weighed_is_asked_back_with_the_way_out() -> None:
    found = understand("average conversion rate", [VISITED])
    assert isinstance(found, AskedBack)
    assert found.reason.endswith("or for the unweighted mean.")


@pytest.mark.parametrize("question", ["unweighted total visits", "plain visits", "weighted average conversion rate"])
def test_a_weight_of_something_else_is_no_reading(question: str) -> None:
    assert _read(question, VISITED) == ""


ORDERS: Final = TableProfile(
    "bestellungen",
    "bestellungen.csv",
    48,
    (
        ColumnProfile("Bestell-Nr", "text", distinct=48),
        ColumnProfile("Datum", "date", distinct=41, smallest="2026-01-02", largest="2026-06-21"),
        texts("Kategorie", "Jacken", "Schuhe", "Zelte"),
        numbers("Menge", "1", "4", 4),
        numbers("Umsatz", "14", "996", 40, "€"),
        ColumnProfile("Retoure", "boolean", distinct=2, smallest="false", largest="true"),
    ),
)
RETURNED: Final = "where Retoure = true"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Wie viele Retouren gab es?", f"count(rows) {RETURNED}"),
        ("Wie viel Retouren gab es?", f"count(rows) {RETURNED}"),
        ("Wie viele Rücksendungen pro Kategorie?", f"count(rows) by Kategorie {RETURNED}"),
        ("Wie hoch ist die Anzahl der Retouren?", f"count(rows) {RETURNED}"),
        ("How many returns?", f"count(rows) {RETURNED}"),
        ("Wie viele Bestellungen wurden retourniert?", f"count(rows) {RETURNED}"),
        ("Wie hoch ist der Umsatz der zurückgesendeten Bestellungen?", f"sum(Umsatz) {RETURNED}"),
        ("Wie hoch ist die Anzahl der Bestellungen?", "count(rows)"),
        ("Anzahl Bestellnummern", "count(rows)"),
        ("Summe der Bestell-Nr", ""),
        ("Summe der Bestellnummern", ""),
        ("Wie viele zurückgesendete Schuhe gab es?", ""),  # pieces, or orders
        ("Wie viel wurde verkauft?", ""),
        ("Wie hoch sind die Retouren?", ""),  # an amount
        ("How many duplicates are in Schuhe?", ""),
        ("Wie viele Dubletten gab es im Mai?", ""),
    ],
)
def test_yes_and_no_is_counted_and_numbers_are_not_added_up(question: str, expected: str) -> None:
    assert _read(question, ORDERS) == expected


@pytest.mark.parametrize(
    "question",
    [
        "Wie hoch ist die Retourenquote?",
        "Wie hoch ist die Retourerate?",
        "Wie hoch ist der Anteil der Retouren?",
        "share of returns",
    ],
)
def test_a_quota_is_the_share_of_rows_that_say_yes(question: str) -> None:
    assert _read(question, ORDERS) == f"count(rows {RETURNED}) / count(rows) in %"
