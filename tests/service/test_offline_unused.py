"""A number for a question that was not understood is worse than none: each word is used, or there is no result."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from agentsvc_nb.agents import choose
from agentsvc_nb.agents.offline import writing
from tests.bench.quality.judge import right
from tests.bench.quality.questions import FILES, pitfalls
from tests.service.agents_harness import MemoryRunContext, MemoryWorkspace

SALES = """product,region,month,unit_price,units,revenue
Alpha,North,2025-05-12,10,100,1000
Alpha,South,2025-06-30,10,80,800
Beta,North,2025-07-02,40,30,1200
Beta,South,2025-07-19,40,35,1400
Gamma,North,2025-08-01,25,50,1250
"""
SURVEY = """respondent_id,country,segment,nps,year
1,Germany,Retail,9,2019
2,France,Retail,10,2020
3,Germany,Agency,6,2021
4,Spain,Agency,9,2022
5,Spain,Brand,3,2023
"""
GAMES = """Rank,Nation,Strokes by,Gold,Silver,Departure
1,Norway,Finn,14,10,06:15
2,Germany,Finn,11,10,20:30
3,Greece,Ann,3,1,21:40
,Total,,28,21,
"""
SHOP = "channel,revenue,spend\nMail,100,50\nSocial,90,10\nRadio,80,0\nMail,10,1\n"
STORES = "item,unit_price,weight\nCamp Mug,10,3\nTrail Mug,20,4\n"
TABLES = {"sales.csv": SALES, "survey.csv": SURVEY, "games.csv": GAMES, "shop.csv": SHOP, "stores.csv": STORES}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader of a test needs no pauses."""
    monkeypatch.setattr(writing, "PAUSE_SECONDS", 0)


def ask(question: str, folder: Path, *names: str) -> str:
    return _asked(question, folder, {name: TABLES[name] for name in names})


def _asked(question: str, folder: Path, files: Mapping[str, str]) -> str:
    turn = MemoryRunContext(question, MemoryWorkspace(folder, files))
    asyncio.run(choose("offline").run(turn))
    return turn.said


def has_result(said: str) -> bool:
    """Whether anything is claimed: a bold line that is not about passages or files, or an expression with its value."""
    bold = [line for line in re.findall(r"(?m)^\*\*(.+?)\*\*", said) if not re.search(r"passage|in this chat", line)]
    return bool(bold) or re.search(r"(?m)^`.* = .*`$", said) is not None


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the revenue of products other than Beta?", 'where product != "Beta" over 3 rows of sales.csv = 3050'),
        ("What is the total revenue except Alpha and Beta?", "over 1 row of sales.csv = 1250"),
        ("What is the average revenue of all that is not from the North?", "over 2 rows of sales.csv = 1100"),
        ("What is the total revenue outside the South without Gamma?", "over 2 rows of sales.csv = 2200"),
        ("Was ist die Summe revenue ohne Beta?", "over 3 rows of sales.csv = 3050"),
        ("How many rows are neither Alpha nor Gamma?", "over 2 rows of sales.csv = 2"),
        ("Which product other than Alpha sold the most units?", "**Highest units by product: Beta, 65**"),
        ("How many nations have no silver?", "I did not use: “no silver”"),
        ("What is the total revenue that is not over 1000?", "I did not use: “not”"),
        ("What is the total revenue of products that were never returned?", "“never returned”"),
    ],
)
def test_what_is_to_be_left_out_is_left_out_or_no_result_is_given(question: str, expected: str, tmp_path: Path) -> None:
    said = ask(question, tmp_path, "sales.csv", "games.csv")
    assert expected in said
    assert has_result(said) is ("“" not in expected)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the total revenue after 30 June?", "where month > 2025-06-30 over 3 rows of sales.csv = 3850"),
        ("What is the total revenue before 30 June 2025?", "where month < 2025-06-30 over 1 row of sales.csv = 1000"),
        ("What is the total revenue since June?", "where month >= 2025-06 over 4 rows of sales.csv = 4650"),
        ("What is the total revenue until June 30, 2025?", "where month <= 2025-06-30 over 2 rows of sales.csv = 1800"),
        ("How many respondents were there in 2021 or later?", "where year >= 2021 over 3 rows of survey.csv = 3"),
        ("How many respondents gave an nps below 7?", "where nps < 7 over 2 rows of survey.csv = 2"),
        ("How many respondents gave an nps of 9 or more?", "where nps >= 9 over 3 rows of survey.csv = 3"),
        ("What is the average of units with at most 1000 revenue?", "mean(units) where revenue <= 1000 over 2 rows of"),
        ("How many nations have a departure after 20:00?", "I did not use: “departure after 20 00”"),
        ("How many nations have more gold than Greece?", "I did not use: “more gold than”"),
        ("Which nation has the same number of gold as Greece?", "“same”"),
        ("What is the average of units before the merger?", "I did not use: “before”, “merger”"),
        ("What is the average revenue older than 30?", "I did not use: “older than 30”"),
    ],
)
def test_a_comparison_is_made_or_no_result_is_given(question: str, expected: str, tmp_path: Path) -> None:
    said = ask(question, tmp_path, "sales.csv", "survey.csv", "games.csv")
    assert expected in said
    assert has_result(said) is ("“" not in expected)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many respondents have an nps of 9 or 10?", "where nps in 9, 10 over 3 rows of survey.csv = 3"),
        ("How many respondents gave 9 or 10 nps?", "where nps in 9, 10 over 3 rows of survey.csv = 3"),
        ("How many respondents have an nps between 5 and 9?", "where nps from 5 to 9 over 3 rows of survey.csv = 3"),
        ("What is the average nps from 2020 to 2022?", "where year from 2020 to 2022 over 3 rows of survey.csv = 8.33"),
        ("What is the total revenue from 1 July to 31 July?", "from 2025-07-01 to 2025-07-31 over 2 rows of sales.csv"),
        (
            "How many respondents are from Spain or France?",
            'country in "France", "Spain" over 3 rows of survey.csv = 3',
        ),
        ("What is the average nps of the first 3 respondents?", "I did not use: “first 3”"),
        ("What is the average nps of 18 to 30?", "“18”, “30”"),
        ("What is the average nps of Germany or Portugal?", "I did not use: “or Portugal”"),
    ],
)
def test_a_range_is_used_or_no_result_is_given(question: str, expected: str, tmp_path: Path) -> None:
    said = ask(question, tmp_path, "sales.csv", "survey.csv")
    assert expected in said
    assert has_result(said) is ("“" not in expected)


@pytest.mark.parametrize(
    ("question", "left", "readings"),
    [
        ("What are the mean and standard deviation of the nps?", "standard deviation", ["mean(nps)"]),
        ("What is the lowest and highest revenue?", "highest", ["min(revenue)", "max(revenue)"]),
        ("What is the highest average revenue?", "average", ["mean(revenue)", "max(revenue)"]),
        ("What is the average nps and its trend?", "trend", ["mean(nps)"]),
    ],
)
def test_of_two_measures_no_one_is_given_alone(question: str, left: str, readings: list[str], tmp_path: Path) -> None:
    said = ask(question, tmp_path, "sales.csv", "survey.csv")
    assert f"I did not use: “{left}”" in said
    assert all(f"- `{reading} over 5 rows of" in said for reading in readings)
    assert not has_result(said)


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("How many strokes did Finn make?", "strokes"),
        ("What is the total spend for the channel?", "channel"),
        ("How many products are there in Europe?", "Europe"),
        ("What is the average unit price of premium goods?", "premium goods"),
        ("What is the total quality of revenue?", "quality"),
        ("What is the total of units in storage?", "storage"),
        ("Which region paid the highest revenue?", "paid"),
        ("When was the average of revenue?", "When"),
        ("What is the revenue share of returned items?", "returned"),
    ],
)
def test_a_telling_word_is_used_or_no_result_is_given(question: str, left: str, tmp_path: Path) -> None:
    said = ask(question, tmp_path, *TABLES)
    assert not has_result(said)
    assert f"“{left}”" in said or f"There is no {left}" in said


@pytest.mark.parametrize(
    ("question", "match"),
    [
        ("What is the average nps of the segment?", "“segment” may be the column segment."),
        ("What is the average nps for a brand abroad?", "The columns of `survey.csv` are respondent_id, country"),
        ("What is the average weight of the mugs?", "“mugs” stands in Camp Mug (item), Trail Mug (item)."),
    ],
)
def test_what_was_not_used_is_sought_in_the_table(question: str, match: str, tmp_path: Path) -> None:
    assert match in ask(question, tmp_path, "survey.csv", "stores.csv")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which product sold the most units?", "**Highest units by product: Alpha, 180**"),
        ("Which product has the highest unit price?", "**Highest unit_price by product: Beta, 40**"),
        ("Which month had the most units?", "**Highest units: 2025-05-12, 100**"),
        ("Who is the top ranked nation?", "**Lowest Rank: Norway, 1**"),
        ("Which nation has the most gold?", "**Highest Gold: Norway, 14**"),
        ("Which segment has the most respondents?", "**Most rows by segment: Retail, Agency, 2**"),
        ("Which country is the most common?", "**Most rows by country: Germany, Spain, 2**"),
        ("Which year had the best nps?", "**Highest nps: 2020, 10**"),
    ],
)
def test_the_one_with_the_most_is_named_by_what_it_is_called(question: str, expected: str, tmp_path: Path) -> None:
    assert expected in ask(question, tmp_path, "sales.csv", "survey.csv", "games.csv")


@pytest.mark.parametrize(
    "question",
    [
        "Which product grew the most?",
        "Which nation is the oldest?",
        "Which product is the second most sold?",
        "Where is the highest revenue?",
        "Which country has the highest unit price?",
    ],
)
def test_no_other_measure_stands_in_for_the_one_that_decides(question: str, tmp_path: Path) -> None:
    assert not has_result(ask(question, tmp_path, "sales.csv", "survey.csv", "games.csv"))


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Does Alpha have the highest revenue?", "I did not use: “Does”"),
        ("Is the total revenue over 5000?", "I did not use: “Is”"),
        ("What is the highest revenue per product?", "- `max(revenue) by product"),
        ("Which product sold the most units per region?", "I did not use: “product”"),
        ("How many nations have at least 10 silver and 10 gold?", "I did not use: “10 gold”"),
        ("How many nations have a rank above 2?", "I did not use: “rank above 2”"),
        ("Total rank?", "Values of Rank do not add up"),
    ],
)
def test_another_question_is_not_answered_instead(question: str, said: str, tmp_path: Path) -> None:
    answer = ask(question, tmp_path, "sales.csv" if "revenue" in question or "sold" in question else "games.csv")
    assert said in answer
    assert not has_result(answer)


def test_half_of_a_name_is_another_thing(tmp_path: Path) -> None:
    assert not has_result(ask("How many units are there?", tmp_path, "stores.csv"))
    assert has_result(ask("What is the average unit price?", tmp_path, "stores.csv"))


def test_what_two_readings_make_different_is_asked_back(tmp_path: Path) -> None:
    said = ask("Which product other than Beta has the highest revenue?", tmp_path, "sales.csv")
    assert "- `sum(revenue) by product" in said
    assert "- `max(revenue)" in said
    assert not has_result(said)
    same = ask("Which channel has the highest revenue?", tmp_path, "shop.csv")
    assert "**Highest revenue by channel: Mail, 110**" in same


def test_a_row_of_totals_is_none_of_the_rows(tmp_path: Path) -> None:
    assert "sum(Gold) over 3 rows of games.csv = 28" in ask("What is the total of gold?", tmp_path, "games.csv")
    said = ask("Which nation has the most silver?", tmp_path, "games.csv")
    assert "**Highest Silver: Norway, Germany, 10**" in said
    assert "Left out: 1 row of totals." in said


def test_of_the_pitfalls_most_are_answered_and_none_is_answered_wrong(tmp_path: Path) -> None:
    questions, tables = pitfalls(), {path.name: path.read_text("utf-8") for path in FILES.glob("*.csv")}
    answers = [_asked(one.question, tmp_path, tables) for one in questions]
    good = [right(question, said) for question, said in zip(questions, answers, strict=True)]
    wrong = [one.id for one, said, fine in zip(questions, answers, good, strict=True) if has_result(said) and not fine]
    assert wrong == []
    assert sum(good) >= 28
