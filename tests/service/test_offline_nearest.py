"""Passages near in meaning: shown after "nothing found", as a guess, and only where there is something to go by."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from agentsvc_nb.agents import choose, offline
from agentsvc_nb.agents.offline.passages.nearness import nearest
from agentsvc_nb.agents.offline.passages.splitting import passages
from agentsvc_nb.agents.offline.words import meanings
from tests.service.agents_harness import MemoryRunContext, MemoryWorkspace

NOTES = """The vessel left the harbour before dawn.

Our physician recommends plenty of sleep.

The invoice was settled by the bookkeeper in March.
"""


def ask(message: str, folder: Path, files: Mapping[str, str]) -> str:
    turn = MemoryRunContext(message, MemoryWorkspace(folder, files))
    asyncio.run(choose("offline").run(turn))
    return turn.said


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("When did the ship depart from port?", "The vessel left"),
        ("What does the doctor advise?", "Our physician"),
        ("Has the accountant paid the bill?", "The invoice"),
    ],
)
def test_the_nearest_passage_comes_first(question: str, found: str) -> None:
    best = nearest(question, passages("notes.md", "text/markdown", NOTES), 3)
    assert best[0].text.startswith(found)


def test_prose_comes_before_rows_that_are_as_near() -> None:
    table = "physician,sleep,advice\nDr Ode,plenty,rest\nDr Ahn,little,work\n"
    both = [*passages("a.csv", "text/csv", table), *passages("notes.md", "text/markdown", NOTES)]
    assert nearest("What does the doctor advise?", both, 3)[0].text.startswith("Our physician")


def test_one_sentence_that_is_near_outweighs_others_that_are_not() -> None:
    text = (
        "The quay was swept on Monday. The crane got a coat of paint. Nobody fell into the basin. "
        "Our physician recommends plenty of sleep. The cat of the harbour master had kittens.\n\n"
        "Plenty of doctors have a cat, and a good deal of advice on quays.\n\n"
        "The mayor likes advice on paint, and cranes.\n"
    )
    found = nearest("What does the medic suggest against being tired?", passages("notes.md", "text/markdown", text), 2)
    assert "physician" in found[0].text


def test_another_names_passage_is_not_near() -> None:
    text = "Our shop in Lyon opens at nine on weekdays.\n\nBread is baked at night.\n"
    found = passages("a.txt", "text/plain", text)
    question = "When does our shop in Basel open on weekdays?"
    assert nearest(question, found, 3, {found[0]: 0.6, found[1]: 0.0}) == []
    assert (
        nearest("When does our shop in Lyon open on weekdays?", found, 3, {found[0]: 1.0, found[1]: 0.0}) == found[:1]
    )


def test_a_guess_is_shown_as_one(tmp_path: Path) -> None:
    said = ask("What does the doctor advise?", tmp_path, {"notes.md": NOTES})
    assert said.startswith("nothing found for: doctor, advise")
    assert "Near, and perhaps no answer: 1 passage" in said
    assert "> Our physician recommends plenty of sleep." in said


def test_what_has_the_words_is_no_guess(tmp_path: Path) -> None:
    said = ask("What does the physician recommend?", tmp_path, {"notes.md": NOTES})
    assert "nothing found" not in said
    assert "Near, and" not in said


@pytest.mark.parametrize(
    "question",
    ["Which doctor works in Lisbon?", "Welcher Arzt empfiehlt etwas?", "Where do volcanoes erupt?", "Xyzzyq?"],
)
def test_an_unknown_name_another_language_and_another_subject_find_nothing(question: str) -> None:
    assert nearest(question, passages("notes.md", "text/markdown", NOTES), 3) == []


def test_words_of_like_meaning_have_like_vectors() -> None:
    ship, vessel, sleep, unknown = meanings().of(["ship", "vessel", "sleep", "qqzx"])
    assert ship @ vessel > 0.3 > ship @ sleep
    assert np.linalg.norm(ship) == pytest.approx(1, abs=1e-5)
    assert not unknown.any()


def test_the_table_is_small_and_its_licences_lie_beside_it() -> None:
    folder = files(offline)
    assert len(folder.joinpath("meanings.npz").read_bytes()) < 3_000_000
    licences = folder.joinpath("meanings-LICENSES.txt").read_text("utf-8")
    assert "WordNet 3.1 Copyright 2011 by Princeton University" in licences
    assert "Apache License" in licences
