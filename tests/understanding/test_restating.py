"""Nouns that say again what a value is of, measures that are explained, and the day on which one thing was done."""

from __future__ import annotations

from typing import Final

import pytest

from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile
from tests.understanding.orders import numbers, read, texts

REPAIRS: Final = TableProfile(
    "repair_bookings",
    "repair_bookings.csv",
    60,
    (
        ColumnProfile("Booking ID", "text", distinct=60, values=("RB-11", "RB-12", "RB-13")),
        ColumnProfile("Booked", "date", distinct=50, smallest="2024-01-05", largest="2024-12-20"),
        ColumnProfile("Finished on", "date", distinct=50, empty=4, smallest="2024-01-09", largest="2024-12-29"),
        ColumnProfile("Due finish", "date", distinct=50, smallest="2024-01-09", largest="2024-12-29"),
        texts("Workshop", "Bridge Street", "Old Mill"),
        texts("Trade", "Joinery", "Plumbing", "Roofing", "Glazing"),
        numbers("Visits", "1", "9", 9),
        numbers("Hourly price (€)", "30", "90", 9, "€"),
        numbers("Call-out price (€)", "30", "90", 9, "€"),
        numbers("Booking total (€)", "40", "1900", 58, "€"),
        numbers("Score", "1", "5", 5),
    ),
)
SENSORS: Final = TableProfile(
    "sensors",
    "sensors.csv",
    200,
    (
        ColumnProfile("Day", "date", distinct=100, smallest="2024-01-01", largest="2024-04-09"),
        texts("Probe", "Cellar", "Roof"),
        numbers("Rain (mm)", "0", "40", 50),
        numbers("Wind gust (km/h)", "3", "95", 60),
    ),
)
LEADS: Final = TableProfile(
    "outreach",
    "outreach.csv",
    60,
    (
        texts("Season", "Spring", "Autumn"),
        numbers("Leads", "1", "90", 40),
        numbers("Clicks", "1", "900", 50),
        numbers("Impressions", "1", "9000", 55),
        numbers("Cost", "10", "400", 38, "€"),
        numbers("Conv. value", "10", "900", 50, "€"),
    ),
)
NOVELS: Final = TableProfile(
    "shelves",
    "shelves.csv",
    30,
    (
        ColumnProfile("Title", "text", distinct=30, values=("Salt Road", "Ash Field")),
        texts("Maker", "Orla", "Pim"),
        numbers("Publication year", "1890", "2020", 25),
    ),
)


def _read(question: str, table: TableProfile) -> str:
    return read(question, table).replace(f" over the rows of {table.path}", "")


TOTAL: Final = "[Booking total (€)]"


@pytest.mark.parametrize(
    ("question", "table", "expected"),
    [
        ("what did booking RB-12 come to in total?", REPAIRS, f'sum({TOTAL}) where Booking ID = "RB-12"'),
        ("on what day was booking RB-12 finished", REPAIRS, 'values of day(Finished on) where Booking ID = "RB-12"'),
        ("in which month was RB-11 booked", REPAIRS, 'values of month(Booked) where Booking ID = "RB-11"'),
        ("in which year was Salt Road published", NOVELS, 'values of Publication year where Title = "Salt Road"'),
        ("which booking was the most expensive one? Give me its booking ID.", REPAIRS,
         f"Booking ID, {TOTAL} top 1 by {TOTAL}"),
        ("our two strongest trades by booking total", REPAIRS, f"sum({TOTAL}) by Trade top 2 by sum({TOTAL})"),
        ("weakest workshop by booking total", REPAIRS, f"sum({TOTAL}) by Workshop bottom 1 by sum({TOTAL})"),
        ("highest booking total by trade", REPAIRS, f"max({TOTAL}) by Trade"),
        ("on how many days did the roof get more than 10 mm of rain", SENSORS,
         'count(rows) by day(Day) where Probe = "Roof" and [Rain (mm)] > 10'),
        ("which probe recorded more rain in March", SENSORS,
         "sum([Rain (mm)]) by Probe where Day from 2024-03-01 to 2024-03-31 top 1 by sum([Rain (mm)])"),
        ("on which date did the strongest gust blow", SENSORS,
         "max([Wind gust (km/h)]) by Day top 1 by max([Wind gust (km/h)])"),
        ("what does one lead cost us in spring", LEADS, 'sum(Cost) / sum(Leads) where Season = "Spring"'),
        ("what does one lead cost (total cost divided by total leads)", LEADS, "sum(Cost) / sum(Leads)"),
        ("return on ad spend (conversion value / cost) by season", LEADS, "sum(Conv. value) / sum(Cost) by Season"),
        ("total conversion value", LEADS, "sum(Conv. value)"),
        ("is there a correlation between clicks and cost? Give me the coefficient.", LEADS,
         "correlation(Clicks, Cost)"),
    ],
)  # fmt: skip
def test_what_is_said_again_is_read_once(question: str, table: TableProfile, expected: str) -> None:
    assert _read(question, table) == expected


@pytest.mark.parametrize(
    ("question", "table"),
    [
        ("on what day was booking RB-12 paid", REPAIRS),  # no column has that day
        ("on what day was booking RB-99 finished", REPAIRS),
        ("in which month were the roofing bookings finished", REPAIRS),  # several
        ("which trade was the most expensive", REPAIRS),  # two prices, and a total
        ("what does one lead cost (total cost divided by total clicks)", LEADS),
        ("return on ad spend (cost / conversion value) by season", LEADS),
        ("click through rate (impressions / clicks) by season", LEADS),
        ("on how many days was there more than 10 mm of rain", SENSORS),  # of one probe, or of both
        ("which trade had more bookings", REPAIRS),  # of four
        ("which novel had more pages", NOVELS),
        ("is there a correlation between clicks and cost", LEADS),
        ("in which year was Orla published", NOVELS),  # who has several
    ],
)
def test_what_is_a_condition_or_does_not_agree_is_asked_back(question: str, table: TableProfile) -> None:
    assert _read(question, table) == ""


BRANCHES: Final = TableProfile(
    "werkstatt",
    "werkstatt.csv",
    24,
    (texts("Standort", "Aalen", "Bonn"), texts("Werkleitung", "Ida Blum", "Kurt Maas"),
     texts("Verkäufer", "Tom Hall", "Udo Penz"), numbers("Kosten", "1", "9")),
)  # fmt: skip
LIBRARY: Final = TableProfile(
    "fonds",
    "fonds.csv",
    70,
    (
        ColumnProfile("Titre", "text", distinct=70, values=("Le Phare", "La Digue")),
        texts("Auteur", "Rose Lam", "Yves Cor"),
        texts("Éditeur", "Quai", "Seuil bleu"),
        texts("Genre", "Roman", "Conte"),
        numbers("Année de parution", "1890", "2020", 60),
        numbers("Prêts 2024", "0", "90", 40),
    ),
)
PARCELS: Final = TableProfile(
    "parcels",
    "parcels.csv",
    90,
    (
        ColumnProfile("Sent", "date", distinct=60, smallest="2025-04-01", largest="2025-06-28"),
        texts("Route", "Coast", "Hills", "Town"),
        numbers("Weight (kg)", "1", "30", 25),
    ),
)


@pytest.mark.parametrize(
    ("question", "table", "expected"),
    [
        ("Wer leitet Bonn?", BRANCHES, 'values of Werkleitung where Standort = "Bonn"'),
        ("Wer kauft in Bonn?", BRANCHES, ""),  # no seller
        ("In which year was Le Phare published?", LIBRARY, 'values of Année de parution where Titre = "Le Phare"'),
        ("En quelle année est paru Le Phare ?", LIBRARY, 'values of Année de parution where Titre = "Le Phare"'),
        ("Combien de livres de Rose Lam avons-nous ?", LIBRARY, 'count(rows) where Auteur = "Rose Lam"'),
        ("Combien de films de Rose Lam avons-nous ?", LIBRARY, ""),
        ("Quels livres ont dépassé 70 prêts en 2024 ?", LIBRARY, "Titre where Prêts 2024 > 70"),
    ],
)
def test_a_verb_is_of_the_noun_of_a_header_in_any_language(question: str, table: TableProfile, expected: str) -> None:
    chat = (table, REPAIRS, SENSORS)
    assert read(question, *chat).replace(f" over the rows of {table.path}", "") == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("total weight over the whole quarter", "sum([Weight (kg)])"),
        ("which route had the highest total weight over the three months",
         "sum([Weight (kg)]) by Route top 1 by sum([Weight (kg)])"),
        ("total weight over the half-year", "sum([Weight (kg)])"),
        ("total weight over the whole month", ""),  # which of them
        ("total weight over the six months", ""),
        ("weight in the quarter by route", ""),
    ],
)  # fmt: skip
def test_a_period_that_has_all_rows_limits_nothing(question: str, expected: str) -> None:
    assert _read(question, PARCELS) == expected


@pytest.mark.parametrize(
    ("question", "table", "expected"),
    [
        ("what did bookings at Old Mill come to", REPAIRS, f'sum({TOTAL}) where Workshop = "Old Mill"'),
        ("what did the score come to", REPAIRS, ""),
        ("average booking value (booking total divided by number of bookings)", REPAIRS, ""),
        ("strongest trades by booking total", REPAIRS, ""),  # how many of them
        ("which workshop had more score", REPAIRS, ""),
    ],
)
def test_amounts_of_rows(question: str, table: TableProfile, expected: str) -> None:
    assert _read(question, table) == expected
