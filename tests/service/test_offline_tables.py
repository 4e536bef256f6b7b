"""What the offline agent makes of questions about tables: amounts, months, shares, quotients, products, refusals."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from agentsvc_nb.agents import choose
from agentsvc_nb.agents.offline import writing
from tests.service.agents_harness import MemoryRunContext, MemoryWorkspace

TRIPS = """trip_id,date,city,guide,guests,fee_eur,days
901,2024-03-05,Oslo,Ann,12,40.50,3
902,2024-03-19,Rome,Bob,8,55.00,5
903,2024-05-02,Oslo,Bob,20,40.50,2
904,2025-05-07,Rome,Ann,0,60.00,9
"""
GUIDES = "guide,trips,km\nAnn,2,1500000\nBob,2,900000\n"
FILES = {
    "trips.csv": TRIPS,
    "guides.csv": GUIDES,
    "notes.md": "The office opens at nine. How much it rains is unknown.\n",
}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader of a test needs no pauses."""
    monkeypatch.setattr(writing, "PAUSE_SECONDS", 0)


def ask(message: str, folder: Path, files: Mapping[str, str] = FILES) -> str:
    turn = MemoryRunContext(message, MemoryWorkspace(folder, files))
    asyncio.run(choose("offline").run(turn))
    return turn.said


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the total of guests with days 5?", "sum(guests) where days = 5 over 1 row of trips.csv = 8"),
        ("How many trips with guests of 0?", "count(rows) where guests = 0 over 1 row of trips.csv = 1"),
        ("How many guides have km above 1 million?", "where km > 1000000 over 1 row of guides.csv = 1"),
        ("How many guests came in May?", "sum(guests) where date in may over 2 rows of trips.csv = 20"),
        ("How many guests came in May 2024?", "sum(guests) where date in 2024-05 over 1 row of trips.csv = 20"),
        ("How many guests came in 2024?", "sum(guests) where date in 2024 over 3 rows of trips.csv = 40"),
        ("What share of the guests went to Rome?", "**Share of guests: 20.00%**"),
        ("What share of the trips went to Rome?", "/ count(rows) over 4 rows = 50.00%"),
        ("What is the ratio of guests to days?", "**Overall guests per days: 2.11**"),
        ("What are guests divided by days in Oslo?", 'sum(guests) / sum(days) where city = "Oslo" over 2 rows of'),
        ("What is the sum of fee times guests?", "sum(fee_eur * guests) over 4 rows of trips.csv = 1736.00"),
        ("What is the average number of guests?", "mean(guests) over 4 rows of trips.csv = 10"),
        ("How many guests did Ann lead?", 'sum(guests) where guide = "Ann" over 2 rows of trips.csv = 12'),
        ("Which trip was the longest?", "**Highest days: 904, 9**"),
        ("guests by city", "**Total guests by city**"),
    ],
)
def test_a_question_is_understood_and_its_expression_shown(question: str, expected: str, tmp_path: Path) -> None:
    assert expected in ask(question, tmp_path)


def test_ids_are_not_added_up(tmp_path: Path) -> None:
    assert "trip_id" not in ask("What is the average trip?", tmp_path, {"trips.csv": TRIPS})


@pytest.mark.parametrize(
    "question", ["What is the total of guests from Paris?", "How many guests went to the city of Lima?"]
)
def test_a_name_that_the_table_lacks_gets_no_number(question: str, tmp_path: Path) -> None:
    said = ask(question, tmp_path)
    assert "in `trips.csv`, so there is no result for it." in said
    assert " = " not in said


def test_a_share_of_nothing_is_asked_back(tmp_path: Path) -> None:
    assert "name the rows whose share is wanted" in ask("What is the share of guests?", tmp_path)


def test_one_word_by_chance_is_no_answer(tmp_path: Path) -> None:
    said = ask("Which dentist opens a bakery in Madrid?", tmp_path)
    assert "nothing found for: dentist, bakery, Madrid" in said
    assert "The office opens" not in said


@pytest.mark.parametrize(("more", "computed"), [(0, True), (1, False)])
def test_a_table_may_have_a_thousand_columns(more: int, computed: bool, tmp_path: Path) -> None:
    """A wider one would be looked at for seconds for every question."""
    others = range(TABLE_MAX_COLUMNS - 2 + more)
    names = ",".join(["city", "price", *(f"x{number}" for number in others)])
    rows = "\n".join(",".join([city, "7", *("-" for _ in others)]) for city in ("Oslo", "Rome"))
    said = ask("What is the total price?", tmp_path, {"wide.csv": f"{names}\n{rows}\n"})
    assert ("**Total price: 14**" in said) is computed, said[:300]
