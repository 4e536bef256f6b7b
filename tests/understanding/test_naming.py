"""Words of a file's or a sheet's title that only name the table, beside those that limit it or mean something in it."""

from __future__ import annotations

from typing import Final

import pytest

from agentsvc_nb.agents.offline.tables.understanding import Understood, understand
from agentsvc_nb.documents.plans.expressions import expression
from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile
from tests.understanding.orders import numbers, read, texts

BOOKINGS: Final = TableProfile(
    "boathouse_rentals_2025",
    "boathouse_rentals_2025.csv",
    90,
    (
        numbers("Rental No", "1", "90", 90),
        ColumnProfile("Rented on", "date", distinct=70, smallest="2025-01-03", largest="2025-12-28"),
        texts("Boat", "Pelican", "Heron", "Coot"),
        texts("Desk", "House", "Pier", "Phone"),
        numbers("Rental total (€)", "20", "900", 80, "€"),
        numbers("Tips (€)", "0", "40", 20, "€"),
    ),
)
SPRAYS: Final = TableProfile(
    "spray_log",
    "spray_log.csv",
    40,
    (
        ColumnProfile("Month", "date", distinct=4, smallest="2025-01-01", largest="2025-04-01"),
        texts("Spray plan", "Early", "Late", "Organic"),
        texts("Orchard", "North", "South"),
        numbers("Litres", "5", "90", 30),
        numbers("Cost", "10", "400", 38, "€"),
    ),
)
CLIMATE: Final = TableProfile(
    "climate",
    "climate.csv",
    365,
    (
        ColumnProfile("Date", "date", distinct=365, smallest="2024-01-01", largest="2024-12-30"),
        texts("Site", "Moor", "Quay"),
        numbers("humidity_pct", "20", "99", 70, "%"),
        numbers("Sunshine share (%)", "0", "99", 70, "%"),
    ),
)
PAY: Final = TableProfile(
    "wages",
    "wages.csv",
    60,
    (texts("Name", "Ann Low", "Bo Dahl"), texts("Trade", "Cook", "Smith"), numbers("Wage", "100", "900", 50, "€")),
)
FIRMS: Final = TableProfile(
    "wages", "wages.csv", 60, (texts("Company", "Alba", "Borea"), numbers("Wage", "100", "900", 50, "€"))
)
STOCK: Final = TableProfile(
    "shelf",
    "shelf.xlsx",
    40,
    (
        texts("Article", "Lamp", "Rope"),
        texts("Aisle", "A1", "B2"),
        numbers("Units on shelf", "0", "90", 30),
        numbers("Shelf cost", "1", "9", 30, "€"),
    ),
    "Shelf",
)

READ: Final = [
    ("boat house total by month", BOOKINGS, "sum([Rental total (€)]) by month(Rented on)"),
    ("tips in the boat-house in May", BOOKINGS, "sum([Tips (€)]) where Rented on from 2025-05-01 to 2025-05-31"),
    ("average rental value for the Heron", BOOKINGS, 'mean([Rental total (€)]) where Boat = "Heron"'),
    ("by how many percent did rental revenue grow from Q1 to Q2", BOOKINGS, "change in % from sum([Rental total (€)]"),
    ("spray cost by orchard", SPRAYS, "sum(Cost) by Orchard"),
    ("spray litres in the north", SPRAYS, 'sum(Litres) where Orchard = "North"'),
    ("what did we spend on sprays in March", SPRAYS, "sum(Cost) where Month from 2025-03-01 to 2025-03-31"),
    ("cost by spray plan", SPRAYS, "sum(Cost) by Spray plan"),
    ("average humidity per site", CLIMATE, "mean(humidity_pct) by Site"),
    ("average wage in the company", PAY, "mean(Wage)"),
]


@pytest.mark.parametrize(("question", "table", "expected"), READ, ids=[row[0] for row in READ])
def test_words_of_a_title_name_the_table(question: str, table: TableProfile, expected: str) -> None:
    told = read(question, table).replace(f" over the rows of {table.path}", "")
    assert told.startswith(expected) if expected.startswith("change") else told == expected


@pytest.mark.parametrize(
    ("question", "table"),
    [
        ("phone house total by month", BOOKINGS),  # values of one column
        ("pier house total", BOOKINGS),
        ("orchard house total", BOOKINGS),
        ("rental price of the Heron", BOOKINGS),
        ("apple spray cost", SPRAYS),
        ("field cost by orchard", SPRAYS),
        ("average sunshine share per site", CLIMATE),  # a mean of shares
        ("total shelf value", STOCK),  # what is there by what it costs
        ("shelf value by aisle", STOCK),
        ("average wage in the company of Alba's owner", FIRMS),
    ],
)
def test_words_that_say_more_than_a_title_are_not_passed_over(question: str, table: TableProfile) -> None:
    assert read(question, table) == ""


def test_a_value_is_a_condition_also_where_it_is_a_word_of_the_title() -> None:
    told = read("house total (€) in May", BOOKINGS)
    assert told == "" or 'Desk = "House"' in told


def test_a_table_that_is_named_is_meant_among_several() -> None:
    found = understand("spray cost in March", (SPRAYS, BOOKINGS, PAY))
    assert isinstance(found, Understood)
    assert found.titled
    assert expression(found.reading.plan, {"spray_log": SPRAYS}).startswith("sum(Cost) where Month")
