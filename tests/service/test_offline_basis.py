"""What an answer of the offline agent rests on, and that nothing but its headlines is bold."""

from __future__ import annotations

import asyncio
import csv
import io
import tempfile
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentsvc_nb.agents import choose
from agentsvc_nb.agents.offline.writing import RESULTS, whole
from agentsvc_nb.notebook.display.markdown import to_html
from agentsvc_nb.wire.limits import BASIS_VALUE_CHARS, BASIS_VALUES_MAX, HEADLINE_CHARS
from agentsvc_nb.wire.runs import AnswerBasis
from tests.service.agents_harness import MemoryRunContext, MemoryWorkspace

PRODUCTS = """name,category,price_eur,discount,units_sold
Trail Tent 2,Tents,249.00,10%,1140
Trail Tent 4,Tents,349.00,20%,90
Ridge Pack,Bags,129.90,30%,310
Camp Mug,Kitchen,14.50,40%,1200
"""
FILES = {"brief.md": "# Brief\n\nParents aged 30 to 45 hike on weekends.\n", "data/products.csv": PRODUCTS}


def ask(message: str, folder: Path, files: Mapping[str, str] = FILES) -> MemoryRunContext:
    turn = MemoryRunContext(message, MemoryWorkspace(folder, files))
    asyncio.run(choose("offline").run(turn))
    return turn


class _Bold(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in ("strong", "b"):
            self._inside = True
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag not in ("strong", "b")

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.texts[-1] += data


def bold(markdown: str) -> list[str]:
    """The bold texts of an answer, as a notebook shows it."""
    parser = _Bold()
    parser.feed(to_html(markdown))
    return parser.texts


@pytest.mark.parametrize(
    ("question", "basis", "headline", "values"),
    [
        ("What is the total units sold?", "computed", "Total units_sold: 2,740", ["2740"]),
        ("What is the cheapest product?", "computed", "Camp Mug (price_eur: 14.50)", ["Camp Mug"]),
        ("Which product has the highest price?", "computed", "Trail Tent 4 (price_eur: 349.00)",
         ["Trail Tent 4"]),
        ("What is the highest price?", "computed", "Highest price_eur: 349.00", ["349.00"]),
        ("What is the median discount?", "computed", "Median discount: 25%", ["25"]),
        ("Top 2 products by price", "computed", "Trail Tent 4, Trail Tent 2 (by price_eur)",
         ["Trail Tent 4", "Trail Tent 2"]),
        ("How many products are there?", "computed", "Number of rows: 4", ["4"]),
        ("How many categories are there?", "computed", "Number of different category: 3", ["3"]),
        ("Which category has the most units sold?", "computed", "Tents (total units_sold: 1,230)",
         ["Tents"]),
        ("units sold per category, total", "computed",
         "Total units_sold by category: Bags 310; Kitchen 1,200; Tents 1,230",
         ["Bags", "310", "Kitchen", "1200", "Tents", "1230"]),
        ("Which files are there?", "looked_up", "2 files in this chat", ["brief.md", "data/products.csv"]),
        ("What does the brief say about parents?", "quoted", None, []),
        ("What is the total discount?", "asked_back", None, []),
        ("Is there a zebra or a unicorn?", "nothing", None, []),
        ("Hello!", "asked_back", None, []),
    ],
)  # fmt: skip
def test_each_answer_says_what_it_rests_on(
    question: str, basis: str, headline: str | None, values: list[str], tmp_path: Path
) -> None:
    turn = ask(question, tmp_path)
    [said] = turn.of("basis")
    assert (said.basis, said.headline, said.values) == (basis, headline, values)
    assert bold(turn.said) == ([] if headline is None else [headline])


def test_passages_that_only_come_near_are_called_so(tmp_path: Path) -> None:
    turn = ask("What does the doctor advise?", tmp_path, {"notes.md": "Our physician recommends rest.\n"})
    [said] = turn.of("basis")
    assert (said.basis, said.headline, said.values) == ("near", None, [])


def test_several_questions_have_one_basis_with_the_values_of_all_results(tmp_path: Path) -> None:
    question = "What does the brief say about parents? What is the total units sold? What is the cheapest product?"
    turn = ask(question, tmp_path)
    [said] = turn.of("basis")
    assert (said.basis, said.headline) == ("computed", "Total units_sold: 2,740")
    assert said.values == ["2740", "Camp Mug"]
    assert bold(turn.said) == ["Total units_sold: 2,740", "Camp Mug (price_eur: 14.50)"]


def test_without_a_result_the_surest_part_counts() -> None:
    parts = [AnswerBasis(basis=basis) for basis in ("nothing", "quoted", "asked_back")]
    found = whole(parts)
    assert found is not None
    assert found.basis == "quoted"
    assert whole([]) is None


def test_after_a_crash_the_parts_before_it_still_count(tmp_path: Path) -> None:
    question = "What is the total units sold? What does the brief say about parents?"
    turn = ask(question, tmp_path)
    turn.crash()
    turn.state = dict(turn.checkpoints[-1])
    asyncio.run(choose("offline").run(turn))
    first, second = turn.of("basis")
    assert first == second
    assert second.headline == "Total units_sold: 2,740"


CELL = st.text(st.characters(blacklist_categories=["Cs"]), max_size=150)
NAME = st.text(st.characters(whitelist_categories=["L", "N", "P", "S", "Zs"]), max_size=60)


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cells=st.lists(CELL, min_size=2, max_size=8), unit=st.sampled_from(["", "%", " €"]), column=NAME)
def test_a_headline_is_exactly_a_bold_text_of_the_output(cells: list[str], unit: str, column: str) -> None:
    written = io.StringIO()
    rows = [[cell, f"{number}{unit}"] for number, cell in enumerate(cells, 7)]
    csv.writer(written).writerows([[f"name {column}", "price"], *rows])
    for question in ("Which name has the highest price?", "Total price by name", "How many rows?", "Which files?"):
        with tempfile.TemporaryDirectory() as folder:
            turn = ask(question, Path(folder), {"prices.csv": written.getvalue()})
        [said] = turn.of("basis")
        assert bold(turn.said) == ([said.headline] if said.basis in RESULTS else [])
        assert len(said.headline or "") <= HEADLINE_CHARS
        assert len(said.values) <= BASIS_VALUES_MAX


def test_what_a_limit_cuts_is_dropped() -> None:
    made = AnswerBasis(basis="computed", headline="a\nb\x1b[31m" + "c" * 500, values=["x" * 500] * 80)
    assert made.headline is not None
    assert made.headline.startswith("a bccc")
    assert len(made.headline) == HEADLINE_CHARS
    assert len(made.values) == BASIS_VALUES_MAX
    assert {len(value) for value in made.values} == {BASIS_VALUE_CHARS}


def test_an_unknown_basis_is_kept() -> None:
    assert AnswerBasis.read('{"basis": "remembered", "since": 1}').basis == "remembered"
