"""Questions about one table, and what they mean. A question that has a word too many is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.agents.offline.parser import Refusal
from tests.unit.offline.tables import ReadTable

ADS = """date,campaign,country,device,cost,clicks,conversions,bid price,bought
2026-01-05,Spring,Germany,mobile,10.50,30,3,2.50,yes
2026-01-05,Brand,Germany,desktop,20.00,10,0,1.50,no
2026-01-06,Spring,France,mobile,5.25,40,2,2.00,yes
2026-02-07,Summer,,mobile,8.00,,1,3.00,returned
2026-02-09,Summer,France,desktop,30.00,20,5,1.00,no
2026-03-31,Brand,Spain,desktop,1.25,5,,4.00,yes
"""
PEOPLE = """person,age,team,hired,left,city,signup date,last login
Ada,31,Blue,2024-05-01,,Kiel,2024-04-01,2026-01-02
Ben,42,Red,2025-02-03,2026-03-01,Ulm,2025-01-07,
Cleo,28,Blue,2025-08-09,,Kiel,2025-07-01,2026-02-03
Dan,42,Red,2026-01-10,,,2025-12-01,
"""


@pytest.fixture(scope="module")
def ads(tmp_path_factory: pytest.TempPathFactory) -> ReadTable:
    return ReadTable(tmp_path_factory.mktemp("ads"), "ads", ADS)


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> ReadTable:
    return ReadTable(tmp_path_factory.mktemp("people"), "staff", PEOPLE)


@pytest.mark.rule("`offline` gives a number only if it used every word of the question.")
@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("How much did we spend in cost for Germany?", None),  # `spend` is not used
        ("total cost for Germany", [(30.5,)]),
        ("median cost for mobile and Spring", [(7.875,)]),  # half a place more than the column has
        ("Most expensive day", [("2026-01-05", 30.5)]),
        ("Which campaign has the highest cost?", [("Summer", 38.0)]),
        ("cost by campaign", [("Brand", 21.25), ("Spring", 15.75), ("Summer", 38.0)]),
        ("cost by month", [("2026-01-01", 35.75), ("2026-02-01", 38.0), ("2026-03-01", 1.25)]),
        ("How many campaigns are there?", [(3,)]),
        ("How many rows are not from Germany?", [(4,)]),  # a row without a country is not from Germany
        ("total cost before 2026-01-06", [(30.5,)]),
        ("total cost between January and February 2026", [(73.75,)]),
        ("total cost on Mondays", [(60.5,)]),
        ("how many rows with at least 20 clicks and cost under 12", [(2,)]),
        ("total clicks for Germany or France on mobile", [(70,)]),
        ("percentage of rows that are mobile", [(50.0,)]),
        ("share of cost by device", [("desktop", 68.33333333333333), ("mobile", 31.666666666666668)]),
        ("what percentage of rows in Germany are mobile", [(50.0,)]),
        ("cost per conversion", [(6.704545454545454,)]),
        ("how many bought?", [(3,)]),
        ("how many did not buy?", None),  # those who say no, or all but those who bought?
        # Words that have no part in a calculation.
        ("revenue - cost", None),
        ("total cost for Germany mobile desktop", None),
        ("who had the most clicks?", None),
        ("cost over 10", None),  # each one, or their sum?
        ("campaigns with cost over 15", None),  # of each row, or in total?
        ("total cost of Germany and not France", [(30.5,)]),
        ("how many rows with 30 minutes", None),
    ],
)
def test_a_question_about_ads(ads: ReadTable, question: str, rows: list[tuple[Any, ...]] | None) -> None:
    assert ads.ask(question) == rows


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("How many people are there?", [(4,)]),
        ("how many people are older than 30?", [(3,)]),
        ("who is the oldest?", [("Ben", 42), ("Dan", 42)]),  # ties are listed
        ("how many people left?", None),  # no yes or no: those with a date, or something else?
        ("how many people were hired in 2025?", [(2,)]),
        ("how many people without a last login?", [(2,)]),
        ("how many people are not from Kiel?", [(2,)]),  # the one without a city is not from Kiel
        ("age", None),  # its total, its average?
    ],
)
def test_a_question_about_people(people: ReadTable, question: str, rows: list[tuple[Any, ...]] | None) -> None:
    assert people.ask(question) == rows


def test_an_average_per_order_is_the_mean_of_the_sums_of_orders(tmp_path: Path) -> None:
    table = ReadTable(tmp_path, "lines", "order id,shop,sales\n1,a,10\n1,a,20\n2,b,40\n3,b,20\n")
    assert table.ask("average sales per order") == [(30.0,)]
    assert table.ask("average sales by shop") == [("a", 15.0), ("b", 30.0)]


def test_what_an_empty_cell_makes_unclear_is_not_computed(tmp_path: Path) -> None:
    table = ReadTable(tmp_path, "ads", "campaign,country,clicks\na,Kiel,0\nb,,\nc,Ulm,4\n")
    assert table.ask("how many rows with no clicks") is None  # 0, or not known?
    assert table.ask("how many rows don't have clicks above 1") is None  # b has neither
    assert table.ask("how many rows have no country") == [(1,)]
    assert table.ask("how many rows where clicks is empty") == [(1,)]


def test_a_word_that_is_a_value_is_never_skipped(tmp_path: Path) -> None:
    table = ReadTable(tmp_path, "t", "status,units\nsold,1\nsold,2\nunsold,4\n")
    assert table.ask("how many units were sold?") in (None, [(3,)])
    states = ReadTable(tmp_path, "u", "state,visits\nIN,1\nOR,2\nME,4\n")
    assert states.ask("visits in IN") == [(1,)]


def test_daily_words_are_used_or_left_out(tmp_path: Path) -> None:
    text = "Ticket No,opened_on,Agent,Cost (EUR),Pets allowed,Recommend\n"
    text += "T-1,2026-01-02,Ann,10,yes,Yes\nT-2,2026-01-09,Ben,20,no,Maybe\nT-3,2026-02-01,Ann,40,yes,No\n"
    table = ReadTable(tmp_path, "support_tickets_q1", text)
    assert table.ask("What's our total spend pls") == [(70,)]
    assert table.ask("how much did we spend on Ann in total?") == [(50,)]
    assert table.ask("tickets per month") == [("2026-01-01", 2), ("2026-02-01", 1)]
    assert table.ask("how many tickets allow pets?") == [(2,)]
    assert table.ask("share of tickets from Ann, in percent") is not None
    assert table.ask("two biggest tickets by cost") == [("T-3", 40), ("T-2", 20)]
    assert table.ask("how many would not recommend us?") is None  # those who say no, or maybe, too?
    assert table.ask("average cost per ticket overall") == [(70 / 3,)]
    assert table.ask("how many did they allow") is None
    assert table.ask("share of tickets that allow pets by agent") is None  # within each agent, or of all?


def test_two_readings_at_one_price_are_both_questions_that_work(tmp_path: Path) -> None:
    table = ReadTable(tmp_path, "t", "date,cost\n2025-03-01,1\n2026-03-01,2\n2026-04-01,4\n")
    refusal = table.parser.parse("total cost in March")
    assert isinstance(refusal, Refusal)
    assert [table.run(calculation) for calculation in refusal.readings] == [[(1,)], [(2,)]]
    for calculation in refusal.readings:
        words = table.parser.question(calculation)
        assert words
        assert table.parser.parse(words) == calculation


def test_rows_are_counted_by_the_date_on_which_they_began(tmp_path: Path) -> None:
    text = "deal id,Created At,Closed At,Stage\n1,2026-01-02,2026-02-02,Won\n2,2026-01-05,2026-03-01,Lost\n"
    table = ReadTable(tmp_path, "deals", text)
    assert table.ask("deals per month") == [("2026-01-01", 2)]
    assert table.ask("won deals per month") is None  # created, or closed?
    assert table.ask("how many deals in February 2026?") is None
