"""Questions of which a word is easily lost: what is left out, both ends of a range, names that are nearly the same."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

import pytest

from agentsvc_nb.agents.offline.questions import split
from agentsvc_nb.agents.offline.tables.answers import answered
from agentsvc_nb.agents.offline.tables.understanding import AskedBack, Understood, understand
from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile
from agentsvc_nb.documents.plans.results import Result, ResultColumn
from tests.understanding.orders import numbers, read, texts

TRIPS: Final = TableProfile(
    "trips",
    "trips.csv",
    400,
    (
        numbers("Trip ID", "5001", "5400", 400),
        ColumnProfile("Booked On", "date", distinct=200, smallest="2024-01-02", largest="2024-12-29"),
        ColumnProfile("Returned On", "date", empty=40, distinct=150, smallest="2024-01-04", largest="2025-01-20"),
        texts("Region", "Alps", "Coast", "Islands", "Cities"),
        texts("Guide", "Ida Frost", "Nils Berg", "Uma Reyes"),
        texts("Status", "Won", "Held", "Offered"),
        numbers("Seats", "1", "12"),
        numbers("Seat Price", "20", "480", 90),
        numbers("Full Price", "30", "600", 90),
        numbers("Amount", "20", "5000", 300),
        numbers("Distance (km)", "3", "900", 200),
        numbers("Climb (m)", "0", "2400", 180),
    ),
)

_SHORT: Final = {" over the rows of trips.csv": "", "[Distance (km)]": "Distance", "[Climb (m)]": "Climb"}

READ = [
    ("total amount of all regions but the Alps", 'sum(Amount) where not (Region = "Alps")'),
    ("amount of every region but Coast", 'sum(Amount) by Region where not (Region = "Coast")'),
    ("trips per month but only in the Alps", 'count(rows) by month(Booked On) where Region = "Alps"'),
    ("how many trips are neither in the Alps nor on the Coast", 'count(rows) where not (Region in ("Alps", "Coast"))'),
    ("how many trips are neither in the Alps nor guided by Uma Reyes",
     'count(rows) where not (Region = "Alps") and not (Guide = "Uma Reyes")'),
    ("trips with neither more than 6 seats nor a distance over 300",
     "count(rows) where Seats <= 6 and not (Distance > 300)"),
    ("how many trips had fewer than 8 seats but at least 2",  "count(rows) where Seats < 8 and Seats >= 2"),
    ("how many trips have no less than 2 and no more than 5 seats", "count(rows) where Seats >= 2 and Seats <= 5"),
    ("trips whose amount is at least 100 and at most 400", "count(rows) where Amount >= 100 and Amount <= 400"),
    ("trips with a distance over 50 and at most 4 seats", "count(rows) where Distance > 50 and Seats <= 4"),
    ("how many trips were booked outside June, July and August",
     "count(rows) where not (Booked On from 2024-06-01 to 2024-06-30 or Booked On from 2024-07-01 to 2024-07-31"
     " or Booked On from 2024-08-01 to 2024-08-31)"),
    ("what is the highest seat price (not the full price) in the Alps", 'max(Seat Price) where Region = "Alps"'),
    ("longest distance, not counting the climb", "max(Distance)"),
    ("how many trips were booked (not returned) in May", "count(rows) where Booked On from 2024-05-01 to 2024-05-31"),
    ("how many trips have a lower seat price than full price", "count(rows) where Seat Price < Full Price"),
    ("how many trips with more distance than climb in the Alps",
     'count(rows) where Distance > Climb and Region = "Alps"'),
    ("combined amount of the trips we won", 'sum(Amount) where Status = "Won"'),
    ("how many trips with at least 3 seats", "count(rows) where Seats >= 3"),
    ("top 2 regions by seats", "sum(Seats) by Region top 2 by sum(Seats)"),
    ("total distance in March, in km", "sum(Distance) where Booked On from 2024-03-01 to 2024-03-31"),
]  # fmt: skip
VERDICTS = [
    ("did the Alps have more trips than the Coast", ">",
     'count(rows where Region = "Alps") - count(rows where Region = "Coast")'),
    ("were there fewer trips in May than in June", "<",
     "count(rows where Booked On from 2024-05-01 to 2024-05-31) - count(rows where Booked On from 2024-06-01"
     " to 2024-06-30)"),
    ("was the amount higher in May than in June", ">",
     "sum(Amount where Booked On from 2024-05-01 to 2024-05-31) - sum(Amount where Booked On from 2024-06-01"
     " to 2024-06-30)"),
    ("is the average distance in the Alps lower than on the Coast", "<",
     'mean(Distance where Region = "Alps") - mean(Distance where Region = "Coast")'),
    ("did the Islands sell more seats than the Alps and the Coast together", ">",
     'sum(Seats where Region = "Islands") - sum(Seats where Region in ("Alps", "Coast"))'),
    ("did Uma Reyes have more trips than Ida Frost in the Alps", ">",
     'count(rows where Guide = "Uma Reyes") - count(rows where Guide = "Ida Frost") where Region = "Alps"'),
    ("are there any trips with more than 10 seats", ">", "count(rows) where Seats > 10"),
    ("Hatten die Alps mehr Trips als Coast?", ">",
     'count(rows where Region = "Alps") - count(rows where Region = "Coast")'),
]  # fmt: skip
WITHHELD = [
    "did the Alps have more trips than the Coast or the Islands",
    "did the Alps have more trips than Uma Reyes",
    "did the Alps in May have more trips than in June in the Alps in July",
    "are there any trips",
    "did the Alps have a higher seat price than the Coast",
    "how many trips were returned (not offered) in the Moon",
    "number of trips not in the Alps or over 300 seats",
    "total distance in March, in kg",
    "how much have we won by region",
    "total amount of trips (not priced)",
    "how many trips have more seats than the Alps",
    "amount but Coast",
    "total amount not counting the climb",
    "how many seats were booked in the Alps, offered trips included",
    "which trips have no return",
    "how much of the Alps money has already been spent",
    "what amount have the guides who joined after 2020 given altogether",
]  # fmt: skip


def _read(question: str) -> str:
    told = read(question, TRIPS)
    for long, short in _SHORT.items():
        told = told.replace(long, short)
    return told


@pytest.mark.parametrize(("question", "expected"), READ, ids=[question for question, _ in READ])
def test_nothing_that_was_said_is_lost(question: str, expected: str) -> None:
    assert _read(question) == expected


@pytest.mark.parametrize("question", WITHHELD)
def test_what_may_mean_two_things_is_not_computed(question: str) -> None:
    assert _read(question) == ""


@pytest.mark.parametrize(("question", "verdict", "expected"), VERDICTS, ids=[row[0] for row in VERDICTS])
def test_whether_one_has_more_than_the_other(question: str, verdict: str, expected: str) -> None:
    found = understand(question, [TRIPS])
    assert isinstance(found, Understood)
    assert found.reading.verdict == verdict
    assert _read(question) == expected


SALARIES: Final = TableProfile(
    "staff",
    "staff.csv",
    90,
    (
        numbers("Personalnr", "7001", "7090", 90),
        ColumnProfile("Eintritt", "date", distinct=80, smallest="1999-01-02", largest="2024-02-01"),
        texts("Abteilung", "Einkauf", "Vertrieb"),
        texts("Standort", "Bremen", "Kassel"),
        numbers("Monatsgehalt", "1800", "7000", 80, "€"),
    ),
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Summe der Monatsgehälter nach Abteilung", "sum(Monatsgehalt) by Abteilung"),
        ("Durchschnitt der Monatsgehälter weder in Bremen noch im Einkauf",
         'mean(Monatsgehalt) where not (Standort = "Bremen") and not (Abteilung = "Einkauf")'),
    ],
)  # fmt: skip
def test_a_plural_is_no_compound_of_a_period(question: str, expected: str) -> None:
    assert read(question, SALARIES).replace(" over the rows of staff.csv", "") == expected


GROUPS: Final = [
    ("which guides led more than 20 trips", False, "count(rows) by Guide with count(rows) > 20"),
    ("how many regions have fewer than 100 trips", True, "count(rows) by Region with count(rows) < 100"),
    ("regions with a total amount above 5000", False, "sum(Amount) by Region with sum(Amount) > 5000"),
    ("which guides sold at least 40 seats in total", False, "sum(Seats) by Guide with sum(Seats) >= 40"),
    ("regions with an average distance over 100 in March", False,
     "mean(Distance) by Region where Booked On from 2024-03-01 to 2024-03-31 with mean(Distance) > 100"),
    ("which regions other than the Alps sold more than 60 seats in total", False,
     'sum(Seats) by Region where not (Region = "Alps") with sum(Seats) > 60'),
    ("in which months were there more than 30 trips", False, "count(rows) by month(Booked On) with count(rows) > 30"),
]  # fmt: skip
PLACES: Final = [
    ("which region has the second highest amount", 2, "sum(Amount) by Region top 2 by sum(Amount)"),
    ("which guide is third by trips", 3, "count(rows) by Guide top 3 by count(rows)"),
    ("which region has the 2nd lowest seats", 2, "sum(Seats) by Region bottom 2 by sum(Seats)"),
]
UNCLEAR: Final = [
    "regions with an amount above 5000",
    "which region has the second amount",
    "the second highest amount",
    "which trips have more than 3 trips",
]


@pytest.mark.parametrize(("question", "counted", "expected"), GROUPS, ids=[row[0] for row in GROUPS])
def test_groups_are_limited_by_their_measure(question: str, counted: bool, expected: str) -> None:
    found = understand(question, [TRIPS])
    assert isinstance(found, Understood)
    assert found.reading.counted == counted
    assert _read(question) == expected


@pytest.mark.parametrize(("question", "nth", "expected"), PLACES, ids=[row[0] for row in PLACES])
def test_the_second_is_the_last_of_two(question: str, nth: int, expected: str) -> None:
    found = understand(question, [TRIPS])
    assert isinstance(found, Understood)
    assert found.reading.nth == nth
    assert _read(question) == expected


@pytest.mark.parametrize("question", UNCLEAR)
def test_a_limit_of_rows_or_groups_is_asked_back(question: str) -> None:
    assert _read(question) == ""


SHARES: Final = [
    ("what percentage of Alps trips were guided by Ida Frost",
     'count(rows where Guide = "Ida Frost") / count(rows) in % where Region = "Alps"'),
    ("of the trips booked in May, what share went to the Coast",
     'count(rows where Region = "Coast") / count(rows) in % where Booked On from 2024-05-01 to 2024-05-31'),
    ("what share of the amount in May came from the Islands",
     'sum(Amount where Region = "Islands") / sum(Amount) in % where Booked On from 2024-05-01 to 2024-05-31'),
    ("what percentage of trips with more than 6 seats were in the Alps",
     'count(rows where Region = "Alps") / count(rows) in % where Seats > 6'),
    ("what percentage of trips were in the Alps and guided by Uma Reyes",
     'count(rows where Region = "Alps" and Guide = "Uma Reyes") / count(rows) in %'),
    ("what percentage of the trips whose amount is over 500 were in the Cities",
     'count(rows where Region = "Cities") / count(rows) in % where Amount > 500'),
    ("Wie viel Prozent der Trips im Mai waren in Coast?",
     'count(rows where Region = "Coast") / count(rows) in % where Booked On from 2024-05-01 to 2024-05-31'),
    ("how much higher was the amount in May than in June",
     "sum(Amount where Booked On from 2024-05-01 to 2024-05-31) - sum(Amount where Booked On from 2024-06-01"
     " to 2024-06-30)"),
    ("how many more trips were there in the Alps than on the Coast in May",
     'count(rows where Region = "Alps") - count(rows where Region = "Coast")'
     " where Booked On from 2024-05-01 to 2024-05-31"),
]  # fmt: skip
AMONG_WHAT: Final = [
    "what percentage of trips were in the Alps in May",
    "share of amount from the Alps by Ida Frost",
]


@pytest.mark.parametrize(("question", "expected"), SHARES, ids=[question for question, _ in SHARES])
def test_a_share_is_among_what_is_named_before_its_verb(question: str, expected: str) -> None:
    assert _read(question) == expected


@pytest.mark.parametrize("question", AMONG_WHAT)
def test_a_share_among_what_is_not_known_is_asked_back(question: str) -> None:
    assert _read(question) == ""


ROUNDS: Final = TableProfile(
    "rounds",
    "rounds.csv",
    90,
    (
        numbers("Round", "1", "18", 18),
        texts("Team", "Kings", "Owls", "Foxes"),
        texts("Referee", "Kim Lund", "Bo Falk"),
        ColumnProfile("Played On", "date", distinct=30, smallest="2024-08-01", largest="2025-05-20"),
        numbers("Fouls", "0", "9"),
        ColumnProfile("Note", "text", empty=30, distinct=3, values=("rain", "late", "snow"), all_values=True),
        ColumnProfile("Televised", "boolean", distinct=2),
    ),
)
COUNTED: Final = [
    ("fouls of the Kings in the first five rounds", 'sum(Fouls) where Team = "Kings" and Round <= 5'),
    ("total fouls in the last two rounds", "sum(Fouls) where Round > 16"),
    ("in how many months did the Owls have Bo Falk",
     'count(rows) by month(Played On) where Team = "Owls" and Referee = "Bo Falk"'),
    ("how many rows have no note filled in", "count(rows) where Note is empty"),
    ("how many rows of the Foxes have no note yet", 'count(rows) where Team = "Foxes" and Note is empty'),
]  # fmt: skip


@pytest.mark.parametrize(("question", "expected"), COUNTED, ids=[question for question, _ in COUNTED])
def test_what_is_first_or_filled_in_is_a_limit(question: str, expected: str) -> None:
    assert read(question, ROUNDS).replace(" over the rows of rounds.csv", "") == expected


@pytest.mark.parametrize("question", ["in how many months were there over 9 fouls", "fouls in the first five months"])
def test_what_may_be_of_rows_or_months_is_asked_back(question: str) -> None:
    assert read(question, ROUNDS) == ""


BOOKS: Final = TableProfile(
    "books",
    "books.csv",
    60,
    (
        texts("Genre", "Poetry", "Drama"),
        numbers("copies", "1", "9", 9),
        numbers("copies_available", "0", "7", 8),
        numbers("Yearly budget", "10", "900", 50),
    ),
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("how many copies are available of Poetry", 'sum(copies_available) where Genre = "Poetry"'),
        ("how many copies are there of Poetry", 'sum(copies) where Genre = "Poetry"'),
        ("how many people are paid from the Poetry budget", ""),
        ("how much Drama budget is there in kg", ""),
    ],
)
def test_the_nearer_of_two_headers_is_meant(question: str, expected: str) -> None:
    assert read(question, BOOKS).replace(" over the rows of books.csv", "") == expected


REGION, NUMBER = ResultColumn("Region", "text"), ResultColumn("n", "number", "", 0)


def _answer(question: str, *rows: tuple[str | Decimal, ...]) -> tuple[str, str, list[str]]:
    """What an answer rests on, its headline and its values, for a result."""
    found = understand(question, [TRIPS])
    assert isinstance(found, Understood)
    columns = (REGION, NUMBER)[2 - len(rows[0]) :]
    basis = answered(found, Result(columns, rows, 400, 400, (), False), {"trips": TRIPS}).basis
    return basis.basis, basis.headline or "", list(basis.values)


def test_an_answer_to_a_question_for_yes_or_no_is_one() -> None:
    more = "did the Alps have more trips than the Coast"
    assert _answer(more, (Decimal(12),)) == ("computed", "Yes. Difference of number of rows: 12", ["yes"])
    assert _answer(more, (Decimal(-3),))[2] == ["no"]
    assert _answer(more, (Decimal(0),))[2] == ["no"]
    assert _answer("are there any trips with more than 10 seats", (Decimal(0),))[2] == ["no"]


def test_the_second_is_told_only_where_it_stands_alone() -> None:
    second = "which region has the second highest amount"
    rows = (("Alps", Decimal(9)), ("Coast", Decimal(7)))
    assert _answer(second, *rows)[2] == ["Coast"]
    assert _answer(second, ("Alps", Decimal(9)), ("Coast", Decimal(9)))[0] == "asked_back"
    assert _answer(second, *rows, ("Cities", Decimal(7)))[0] == "asked_back"


def test_groups_are_counted() -> None:
    rows = (("Alps", Decimal(9)), ("Coast", Decimal(7)))
    assert _answer("how many regions have fewer than 100 trips", *rows)[1:] == ("Number of Region: 2", ["2"])


@pytest.mark.parametrize(
    ("message", "questions"),
    [
        (
            "How many trips were there? Ignore those of the Alps.",
            ["How many trips were there, ignore those of the Alps?"],
        ),
        ("Trips by region? Nur Mai.", ["Trips by region, nur Mai?"]),
        ("How many trips? Only the rain knows why.", ["How many trips?"]),
        ("What did one cost, i.e. cost over pieces?", ["What did one cost, i.e. cost over pieces?"]),
        ("Who supplies the tent? I need the company's name.", ["Who supplies the tent, i need the company's name?"]),
    ],
)
def test_a_sentence_that_says_what_not_to_count_belongs_to_its_question(message: str, questions: list[str]) -> None:
    assert split(message) == questions


MEDIA_PLAN: Final = TableProfile(
    "media",
    "media.xlsx",
    24,
    (
        texts("Monat", "Januar", "Februar", "März", "April"),
        texts("Kanal", "Meta", "Messe"),
        numbers("Ist EUR", "1", "9"),
    ),
)


@pytest.mark.parametrize("bound", ["until", "through", "up to", "by", "from"])
def test_a_bound_is_not_dropped_before_a_month_that_is_a_text(bound: str) -> None:
    found = understand(f"total Ist EUR {bound} March", [MEDIA_PLAN])
    assert isinstance(found, AskedBack)
    assert found.reason == "Monat has its months as text, without an order: name each one that counts."
    assert read("total Ist EUR in January and March", MEDIA_PLAN) == (
        'sum(Ist EUR) where Monat in ("Januar", "März") over the rows of media.xlsx'
    )
