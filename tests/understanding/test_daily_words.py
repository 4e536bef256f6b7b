"""Questions in words of daily life: verbs and nouns that no header has, superlatives that say of what they are, nouns
for rows in a chat of several files, and words that are mistyped. Near-by questions about what is not there have no
plan."""

from __future__ import annotations

from typing import Final

import pytest

from agentsvc_nb.agents.offline.tables.understanding import Understood, understand
from agentsvc_nb.documents.plans.expressions import expression
from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile
from tests.understanding.orders import ORDERS, numbers, texts

CLIMATE: Final = TableProfile(
    "climate_2023",
    "climate_2023.csv",
    365,
    (
        ColumnProfile("Date", "date", distinct=365, smallest="2023-01-01", largest="2023-12-31"),
        numbers("High temp (°C)", "-4", "36", 200),
        numbers("Low temp (°C)", "-15", "22", 200),
        numbers("Rainfall (mm)", "0", "60", 90),
        numbers("Gust (km/h)", "3", "95", 90),
    ),
)
MATCHES: Final = TableProfile(
    "handball_2024",
    "handball_2024.csv",
    132,
    (
        ColumnProfile("Played on", "date", distinct=44, smallest="2024-01-05", largest="2024-12-20"),
        texts("Home", "Kiel", "Essen", "Gummersbach"),
        texts("Away", "Kiel", "Essen", "Gummersbach"),
        numbers("Home goals", "15", "40", 25),
        numbers("Attendance", "400", "9000", 120),
        texts("Referee", "Ann Low", "Bo Dahl"),
    ),
)
VISITS: Final = TableProfile(
    "visitor_feedback",
    "visitor_feedback.csv",
    200,
    (
        numbers("Response ID", "1", "200", 200),
        texts("Age group", "18-34", "35-54", "55+"),
        texts("Gender", "female", "male"),
        texts("Ticket", "Day", "Family", "Season"),
        numbers("Satisfaction", "1", "5", 5),
        ColumnProfile("Comment", "text", empty=80, distinct=110, values=("Nice", "Too loud")),
    ),
)
BILLS: Final = TableProfile(
    "invoices",
    "invoices.csv",
    90,
    (
        numbers("Invoice No", "1", "90", 90),
        ColumnProfile("Issued", "date", distinct=70, smallest="2024-01-03", largest="2024-12-28"),
        texts("Firm", "Alba", "Borea", "Ceres"),
        texts("Owner", "Mia Roth", "Jon Pell"),
        numbers("Invoice total", "20", "9000", 88, "€"),
        texts("State", "open", "settled"),
    ),
)
CHAT: Final = (ORDERS, CLIMATE, MATCHES, VISITS, BILLS)


def read(question: str) -> str:
    """The plan in one line, without the table's name but for its beginning; empty if there is none."""
    found = understand(question, CHAT)
    if not isinstance(found, Understood):
        return ""
    line = expression(found.reading.plan, {table.name: table for table in CHAT})
    what, _, where = line.partition(" over the rows of ")
    return f"{where.partition('.')[0]}: {what}"


MAY: Final = "Issued from 2024-05-01 to 2024-05-31"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many units were charged in all?", "orders: sum(Units)"),
        ("Break the units down by channel", "orders: sum(Units) by Channel"),
        ("names of the customers from Spain", 'orders: values of Customer where Country = "Spain"'),
        ("how many units did Germany rack up", 'orders: sum(Units) where Country = "Germany"'),
        ("How much did we take in in May with Alba?", f'invoices: sum(Invoice total) where {MAY} and Firm = "Alba"'),
        ("How much did Alba bring in in May 2024?", f'invoices: sum(Invoice total) where Firm = "Alba" and {MAY}'),
        ("Which firm brought in the most?", "invoices: sum(Invoice total) by Firm top 1 by sum(Invoice total)"),
        ("turnover by firm", "invoices: sum(Invoice total) by Firm"),
        ("How much profit did Alba bring in?", ""),
        ("How much money did settled invoices make?", 'invoices: sum(Invoice total) where State = "settled"'),
        ("How much did settled invoices grow?", ""),
        ("How much money did Alba make?", 'invoices: sum(Invoice total) where Firm = "Alba"'),
        ("how much tax did we bill to Alba", ""),
        ("what was our biggest invoice", "invoices: Invoice No, Invoice total top 1 by Invoice total"),
        ("who has the biggest open invoice",
         'invoices: max(Invoice total) by Owner where State = "open" top 1 by max(Invoice total)'),
    ],
)  # fmt: skip
def test_verbs_and_nouns_of_daily_life(question: str, expected: str) -> None:
    assert read(question).replace("[Invoice total]", "Invoice total") == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("which day was the hottest?", "max([High temp (°C)]) by day(Date) top 1 by max([High temp (°C)])"),
        ("the coldest day in March", "Date, [Low temp (°C)] where Date from 2023-03-01 to 2023-03-31 bottom 1"
         " by [Low temp (°C)]"),
        ("What was the wettest month?", "sum([Rainfall (mm)]) by month(Date) top 1 by sum([Rainfall (mm)])"),
        ("the strongest gust in April", "max([Gust (km/h)]) where Date from 2023-04-01 to 2023-04-30"),
        ("How much precipitation was recorded in July 2023?",
         "sum([Rainfall (mm)]) where Date from 2023-07-01 to 2023-07-31"),
        ("the snowiest month", ""),
        ("the sunniest day", ""),
        ("the average temperature in June 2023", ""),
        ("How much snow was recorded in July 2023?", ""),
    ],
)  # fmt: skip
def test_superlatives_say_of_what_they_are(question: str, expected: str) -> None:
    assert read(question) == (f"climate_2023: {expected}" if expected else "")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many games were played in October?",
         "handball_2024: count(rows) where Played on from 2024-10-01 to 2024-10-31"),
        ("which referee had the most matches", "handball_2024: count(rows) by Referee top 1 by count(rows)"),
        ("the busiest month for handball", "handball_2024: "),
        ("How many respondents have a Season ticket?", 'visitor_feedback: count(rows) where Ticket = "Season"'),
        ("share of people by gender", "visitor_feedback: share in % of count(rows) by Gender"),
        ("how many people left a comment", "visitor_feedback: count(rows) where Comment is not empty"),
        ("which ticket has the happiest people",
         "visitor_feedback: mean(Satisfaction) by Ticket top 1 by mean(Satisfaction)"),
        ("our three best sellers", "orders: sum(Units) by Product Name top 3 by sum(Units)"),
        ("how many films were played in October", ""),
        ("how many patients left a comment", ""),
        ("how many orders were there of a Season ticket", ""),
        ("which match had the highest attendance", ""),
        ("how many employees are there", ""),
    ],
)  # fmt: skip
def test_rows_are_called_by_nouns_that_go_with_the_headers(question: str, expected: str) -> None:
    if expected.endswith(": "):
        expected = ""  # by matches, or by those who came
    assert read(question) == expected


@pytest.mark.parametrize(
    ("question", "expected", "told"),
    [
        ("avrage attendnce per refere", "mean(Attendance) by Referee", "avrage was read as average."),
        ("hihgest attendence in Essn", 'max(Attendance) where Home = "Essen"', ""),
        ("tootal rainfal by month", "sum([Rainfall (mm)]) by month(Date)", "tootal was read as total."),
        ("average revnuex by chnnl", "", ""),
    ],
)
def test_mistyped_words_are_mended_and_told(question: str, expected: str, told: str) -> None:
    found = understand(question, CHAT)
    if not told:
        assert not isinstance(found, Understood)
        return
    assert isinstance(found, Understood)
    assert read(question).endswith(f": {expected}")
    assert told in found.told


SHELF: Final = TableProfile(
    "museum_loans",
    "museum_loans.csv",
    60,
    (
        numbers("Item ID", "1", "60", 60),
        ColumnProfile("Title", "text", distinct=55, values=("Blue Vase", "Old Clock"), all_values=False),
        texts("Hall", "East", "West"),
        numbers("Views 2022", "0", "900", 50),
        numbers("Views 2023", "0", "900", 50),
        texts("Outcome", "Won", "Lost", "Pending"),
    ),
)
SEATS: Final = TableProfile(
    "halls",
    "halls.csv",
    30,
    (texts("Hall", "East", "West"), numbers("Seats", "10", "900"), numbers("Seats free", "0", "90")),
)
ADS: Final = TableProfile(
    "ads_report",
    "ads_report.csv",
    80,
    (
        texts("Campaign", "Spring Sale", "Brand"),
        numbers("Impressions", "10", "9000"),
        numbers("Clicks", "1", "900"),
        numbers("CTR", "0.1", "9", unit="%"),
        numbers("Cost", "1", "300", unit="€"),
        numbers("Conversions", "0", "60"),
    ),
)


@pytest.mark.parametrize(
    ("question", "table", "expected"),
    [
        ("views in 2022 by hall", SHELF, "sum(Views 2022) by Hall"),
        ("how many views did the East hall get in 2023?", SHELF, 'sum(Views 2023) where Hall = "East"'),
        ("which item had the most views in 2023", SHELF, "Title, Views 2023 top 1 by Views 2023"),
        ("views by hall", SHELF, ""),
        ("views in 2021 by hall", SHELF, ""),
        ("how many items did we lose", SHELF, 'count(rows) where Outcome = "Lost"'),
        ("how many items did we win or lose", SHELF, 'count(rows) where Outcome in ("Won", "Lost")'),
        ("how many items did we restore", SHELF, ""),
        ("CTR of Brand", ADS, 'sum(Clicks) / sum(Impressions) in % where Campaign = "Brand"'),
        ("cpa by campaign", ADS, "sum(Cost) / sum(Conversions) by Campaign"),
        ("which campaign has the highest conversion rate", ADS,
         "sum(Conversions) / sum(Clicks) in % by Campaign top 1 by sum(Conversions) / sum(Clicks) in %"),
        ("ad spend of Brand", ADS, 'sum(Cost) where Campaign = "Brand"'),
        ("how much did we spend on ads altogether", ADS, "sum(Cost)"),
        ("ROAS by campaign", ADS, ""),
        ("per campaign", ADS, ""),
        ("how many goals were conceded at home", MATCHES, ""),
        ("how many seats are free in the West hall", SEATS, 'sum(Seats free) where Hall = "West"'),
        ("how many seats are there in the West hall", SEATS, 'sum(Seats) where Hall = "West"'),
        ("cost per follower", ADS, ""),
    ],
)  # fmt: skip
def test_what_stands_apart_belongs_together(question: str, table: TableProfile, expected: str) -> None:
    found = understand(question, [table])
    line = expression(found.reading.plan, {table.name: table}) if isinstance(found, Understood) else ""
    assert line.partition(" over the rows of ")[0] == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Going from May to June, how much did the invoice total grow?",
         "sum(Invoice total where Issued from 2024-06-01 to 2024-06-30)"
         " - sum(Invoice total where Issued from 2024-05-01 to 2024-05-31)"),
        ("how closely do gust and rainfall correlate", "correlation([Gust (km/h)], [Rainfall (mm)])"),
        ("which month was the warmest on average",
         "mean([High temp (°C)]) by month(Date) top 1 by mean([High temp (°C)])"),
        ("how many 18-34 year olds have a Day ticket",
         'count(rows) where Age group = "18-34" and Ticket = "Day"'),
        ("which month was the warmest by total", ""),
    ],
)  # fmt: skip
def test_other_ways_of_saying_it(question: str, expected: str) -> None:
    assert read(question).partition(": ")[2] == expected
