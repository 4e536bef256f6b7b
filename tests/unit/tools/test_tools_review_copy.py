"""`review_copy`: facts that anybody can count again, against the platforms' limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsvc_nb.tools.support import copy_facts
from agentsvc_nb.tools.support.copy_facts import language
from tests.unit.service.tooling import call, made, task


def review(folder: Path, **given_: Any) -> dict[str, Any]:
    outcome = call(made(folder, "review_copy"), task(folder), **given_)
    assert outcome.error is None
    assert outcome.data is not None
    return outcome.data


def failed(found: dict[str, Any]) -> list[str]:
    return [check["name"] for check in found["checks"] if not check["passed"]]


def test_parts_are_held_against_the_platforms_limits(tmp_path: Path) -> None:
    parts = {"headline": "a" * 30, "headline_2": "b" * 31, "description": "c d " * 20, "sitelink": "x" * 99}
    found = review(tmp_path, parts=parts, platform="google_search")
    assert [(part["name"], part["characters"], part["limit"]) for part in found["parts"]] == [
        ("headline", 30, 30), ("headline_2", 31, 30), ("description", 80, 90), ("sitelink", 99, None),
    ]  # fmt: skip
    assert [check["message"] for check in found["checks"] if check["name"] == "limit" and not check["passed"]] == [
        "headline_2: 31 of 30 characters."
    ]
    assert found["judgement"] is None


@pytest.mark.parametrize(
    ("text", "platform", "count"),
    [
        ("家族", None, 2),
        ("家族", "google_search", 4),
        ("see https://example.com/a/very/long/path", "x", 27),
        ("é", "sms", 1),
    ],
)
def test_characters_are_counted_as_the_platform_does(text: str, platform: Any, count: int) -> None:
    assert copy_facts.characters(text, platform) == count


def test_a_text_message_with_other_letters_is_shorter(tmp_path: Path) -> None:
    assert review(tmp_path, text="Sale today", platform="sms")["parts"][0]["shown"] == 160
    assert review(tmp_path, text="Скидка", platform="sms")["parts"][0]["shown"] == 70


@pytest.mark.parametrize(
    ("text", "found", "low", "high"),
    [
        ("The cat sat on the mat. The dog ran to the man.", "en", 100, 120),
        ("Die Katze liegt auf dem Bett. Der Hund ist im Haus.", "de", 75, 120),
        ("Le chat est sur la table. Le chien dort dans la cour.", "fr", 95, 125),
        ("El gato duerme en la casa. El perro come con la niña.", "es", 80, 130),
        ("Notwithstanding the aforementioned considerations, institutional organizations necessitate comprehensive "
         "implementation of the interdepartmental methodologies.", "en", -200, 0),
    ],
)  # fmt: skip
def test_reading_ease_by_language(text: str, found: str, low: float, high: float) -> None:
    ease = copy_facts.reading(text, language(text)).ease
    assert language(text) == found
    assert ease is not None
    assert low <= ease <= high


def test_a_language_without_a_formula_has_no_ease(tmp_path: Path) -> None:
    found = review(tmp_path, text="軽いテント。家族向け。")
    assert (found["language"], found["reading"]["ease"]) == (None, None)


@pytest.mark.parametrize(
    ("text", "kind", "claim"),
    [
        ("The best tent", "superlative", "best"),
        ("Unser Zelt ist das günstigste", "superlative", "günstigste"),
        ("Saves 37 % of time", "number", "37 %"),
        ("Risk-free for a month", "guarantee", "Risk-free"),
        ("Jetzt kostenlos testen", "free", "kostenlos"),
        ("Last chance", "scarcity", "Last chance"),
        ("Lighter than paper", "comparison", "Lighter than"),
        ("Détox en trois jours", "health", None),
        ("Detox in three days", "health", "Detox"),
        ("Klimaneutral verpackt", "environment", "Klimaneutral"),
        ("A bestiary of freedom, greenhouse", "superlative", None),
    ],
)
def test_claims_are_found_with_their_kind(text: str, kind: str, claim: str | None) -> None:
    assert [(one.kind, one.text) for one in copy_facts.claims(text)] == ([] if claim is None else [(kind, claim)])


def test_what_is_repeated_shouted_and_overdone(tmp_path: Path) -> None:
    found = review(tmp_path, text="Tent, tent, TENT! The the the the. Buy NOW!! 🎉🎉🎉🎉")
    assert found["repeated"] == [{"word": "tent", "count": 3}]
    assert failed(found) == ["capitals", "exclamations", "emoji"]


@pytest.mark.parametrize(("text", "said"), [("The best oats.", "; 1 claim to prove"), ("Oats.", "; 0 claims to")])
def test_one_claim_is_no_claims(text: str, said: str, tmp_path: Path) -> None:
    outcome = call(made(tmp_path, "review_copy"), task(tmp_path), text=text)
    assert said in outcome.content[0]["text"]


@pytest.mark.parametrize("given_", [{}, {"text": None}, {"parts": {"headline": "  "}}])
def test_nothing_to_review_is_said(given_: dict[str, Any], tmp_path: Path) -> None:
    outcome = call(made(tmp_path, "review_copy"), task(tmp_path), **given_)
    assert outcome.error == ("invalid_tool_input", "text: give the text to review, or its parts.")


def test_a_text_made_to_be_slow_is_read() -> None:
    assert copy_facts.claims("1,1." * 5_000 + "the best " * 2_000)[0].kind == "superlative"


@given(st.text(max_size=300), st.sampled_from([None, *copy_facts.ROOMS]))
@settings(max_examples=60, deadline=None)
def test_any_text_has_facts(text: str, platform: Any) -> None:
    facts = copy_facts.reading(text, language(text))
    assert facts.words == 0 or facts.syllables_per_word >= 1
    assert copy_facts.part("headline", text, platform).characters >= len(text) or platform == "x"
    assert all(claim.text for claim in copy_facts.claims(text))
