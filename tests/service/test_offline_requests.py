"""What only a language model can do is said in a sentence, in four languages; a summary is an outline; and questions
about files stay questions about files."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsvc_nb.agents import choose
from agentsvc_nb.agents.offline import questions
from agentsvc_nb.agents.offline.languages import REQUESTS
from agentsvc_nb.agents.offline.requests import SWITCH, expects, language_of, needs_model, outline_words
from tests.service.agents_harness import MemoryRunContext, MemoryWorkspace

BRIEF = """# Brief

Northpeak sells tents. They are light.

## Audience

Parents aged 30 to 45. They hike on weekends.

## Budget

Total budget is 40,000 EUR.
"""
FILES: Mapping[str, str | bytes] = {
    "brief.md": BRIEF,
    "prices.csv": "product,price,since\nTent,249.50,2025-01-02\nMug,14.00,2025-03-04\nPack,,2025-02-01\n",
    "shoe.png": b"\x89PNG\r\n\x1a\n\0",
}


def ask(message: str, folder: Path, files: Mapping[str, str | bytes] = FILES) -> MemoryRunContext:
    turn = MemoryRunContext(message, MemoryWorkspace(folder, files))
    asyncio.run(choose("offline").run(turn))
    return turn


def basis(turn: MemoryRunContext) -> str:
    [said] = turn.of("basis")
    return str(said.basis)


@pytest.mark.parametrize(
    "message",
    [
        "Write a newsletter about the tents",
        "Could you please translate the brief into French?",
        "What do you think of the budget?",
        "Is the budget realistic?",
        "Describe the picture shoe.png",
        "What does shoe.png show?",
        "Come up with five slogans for parents. They should be short.",
        "Schreib mir einen Text über die Zelte",
        "Kannst du das Briefing ins Englische übersetzen?",
        "Was hältst du von dem Budget?",
        "Rédige un communiqué sur les tentes",
        "Que penses-tu du budget ?",
        "Pouvez-vous traduire le brief ?",
        "Traduce el texto al inglés",
        "¿Qué opinas del presupuesto?",
        "Hazme un eslogan para las tiendas",
    ],
)
def test_what_needs_a_model_is_said_once_with_the_line_that_switches(message: str, tmp_path: Path) -> None:
    turn = ask(message, tmp_path)
    assert basis(turn) == "cannot"
    assert turn.said.count(f"`{SWITCH}`") == 1
    assert "\n> " not in turn.said


def test_it_is_said_in_a_chat_without_files_too(tmp_path: Path) -> None:
    assert basis(ask("Write a poem", tmp_path, {})) == "cannot"


@pytest.mark.parametrize(
    "message",
    [
        "Who writes the newsletter?",
        "What does the brief say about translations?",
        "When must the page be translated?",
        "Which tent is recommended for families?",
        "Why is a better grip important?",
        "Was empfiehlt der Bericht?",
        "Wer schreibt die Texte?",
        "Qui rédige le communiqué ?",
        "¿Quién escribe el informe?",
        "How good were the sales in May?".replace("How good", "How high"),
        "What is the total price?",
        "Show me the prices",
        "Correct answers by student",
        "Draft budget total",
        "What should I do if my laptop is stolen?",
    ],
)
def test_questions_about_such_words_are_none(message: str) -> None:
    assert not needs_model(message)


def test_the_other_questions_of_the_message_are_answered(tmp_path: Path) -> None:
    turn = ask("Translate the brief. What is the total budget in EUR? Write a slogan.", tmp_path)
    assert "40,000 EUR" in turn.said
    assert basis(turn) == "quoted"


@pytest.mark.parametrize(
    "message",
    [
        "Summarise brief.md",
        "Can you give me a short summary of the brief in three sentences?",
        "What is the brief about?",
        "Fasse brief.md zusammen",
        "Kannst du brief.md kurz zusammenfassen?",
        "Fais-moi un résumé de brief.md",
        "Haz un resumen de brief.md",
        "brief.md",
    ],
)
def test_a_summary_is_an_outline_and_called_one(message: str, tmp_path: Path) -> None:
    turn = ask(message, tmp_path)
    assert basis(turn) == "outline"
    assert "This is an outline and no summary" in turn.said
    assert "Outline of `brief.md`:" in turn.said
    assert "    - Audience\n".strip() in turn.said
    assert "Parents aged 30 to 45." in turn.said
    assert "They hike" not in turn.said
    assert "prices.csv" not in turn.said


def test_the_outline_of_a_table_is_its_columns_and_what_they_hold(tmp_path: Path) -> None:
    said = ask("Summarise prices.csv", tmp_path).said
    assert "3 rows, 3 columns" in said
    assert "`product` (text: " in said
    assert "`price` (number: 14" in said
    assert "1 empty" in said
    assert "`since` (date: 2025-01-02 to 2025-03-04)" in said


def test_of_all_files_when_none_is_named(tmp_path: Path) -> None:
    said = ask("Give me an overview of the files", tmp_path).said
    assert "Outline of `brief.md`" in said
    assert "Outline of `prices.csv`" in said


def test_a_summary_of_something_in_the_files_is_quoted(tmp_path: Path) -> None:
    turn = ask("Summarise what the brief says about parents", tmp_path)
    assert basis(turn) == "quoted"
    assert "Parents aged 30 to 45" in turn.said


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("What does the brief say?", "english"),
        ("Wie hoch ist die Miete?", "german"),
        ("Quel est le prix de la licence ?", "french"),
        ("¿Cuántos empleados tiene la empresa?", "spanish"),
        ("zebra", "english"),
    ],
)
def test_the_language_of_a_question(question: str, language: str) -> None:
    assert language_of(question) == language


def test_questions_for_numbers() -> None:
    asked = ["How many?", "Wann beginnt es?", "Combien de pains ?", "¿Cuánto pesa?", "How much rain fell?"]
    assert [expects(one) for one in asked] == ["number"] * 5
    assert not expects("Who begins?")


def test_questions_for_money_and_for_names() -> None:
    asked = ["How much does the guided tour cost?", "What is the fee?", "Was kostet der Schlüssel?"]
    asked += ["Combien coûte le pain ?", "¿Cuánto cuesta?"]
    assert [expects(one) for one in asked] == ["money"] * 5
    assert {expects(one) for one in ("What is the name of the dog?", "Comment s'appelle le chien ?")} == {"name"}
    asked = ["Which make is the second van?", "Who is the club's secretary?", "Who was the first owner?"]
    assert {expects(one) for one in asked} == {"name"}
    assert not expects("Who is the audience?")
    assert expects("How much money came with the prize?") == "money"


@given(st.text(max_size=200))
def test_any_text_is_judged(text: str) -> None:
    assert needs_model(text) in (True, False)
    assert language_of(text) in REQUESTS
    outline_words(text)


def test_a_message_of_many_sentences_is_judged_by_its_first_and_last(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[str]()

    def spied(part: str) -> bool:
        seen.append(part)
        return needs_model(part)

    monkeypatch.setattr(questions, "needs_model", spied)
    found = questions.split("A remark stands here. " * 400 + "Translate the brief.")
    assert found == ["Translate the brief."]
    assert len(seen) <= 2 * questions.REQUESTS_MAX
