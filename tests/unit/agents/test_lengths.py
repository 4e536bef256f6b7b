"""How many tokens a text takes, before and after a provider's reports."""

from __future__ import annotations

import pytest

from agentsvc_nb.agents.language.lengths import UNLEARNED, Lengths, count

PROSE = "The quick brown fox jumps over the lazy dog and goes home. " * 100
TABLE = "2026-11-23,1234.50,17,Search\n" * 100


@pytest.mark.parametrize(
    ("text", "most"),
    [("a1,\n é語😀", (1, 1, 2, 1, 1, 1, 1)), ("", (0,) * 7), ("\ud800", (0, 0, 0, 0, 0, 1, 0))],
)
def test_characters_are_counted_by_their_kinds(text: str, most: tuple[int, ...]) -> None:
    assert count(text)[:7] == most


def test_tables_are_longer_than_prose_of_as_many_bytes() -> None:
    lengths = Lengths()
    per_byte = [lengths.text(text) / len(text) for text in (PROSE, TABLE)]
    assert per_byte[1] > 2 * per_byte[0]


def test_a_report_corrects_what_the_request_was_made_of_and_leaves_the_rest() -> None:
    lengths = Lengths()
    before = lengths.text("語" * 1_000)
    lengths.learn(count(PROSE), 1_300)
    assert lengths.text(PROSE) == pytest.approx(1_300, rel=0.02)
    assert lengths.text("語" * 1_000) == pytest.approx(before / UNLEARNED, rel=0.01)
    lengths.learn(count(TABLE), 2_400)
    assert lengths.text(TABLE) == pytest.approx(2_400, rel=0.02)


def test_a_report_of_fewer_than_any_tokenizer_gives_is_not_believed() -> None:
    lengths = Lengths()
    before = lengths.text(PROSE)
    lengths.learn(count(PROSE), 3)
    assert lengths.text(PROSE) == before


def test_a_report_of_more_than_any_weight_gives_raises_all() -> None:
    lengths = Lengths()
    lengths.learn(count(PROSE), 6_000)
    assert lengths.text(PROSE) >= 5_990


@pytest.mark.parametrize("text", [PROSE, TABLE, "語" * 3_000, TABLE + PROSE, PROSE + TABLE])
def test_a_shortened_text_is_within_its_limit(text: str) -> None:
    lengths = Lengths()
    short = lengths.shortened(text, 200)
    assert 100 < lengths.text(short) <= 215
    assert short.startswith(text[:20])
    assert short.endswith(text[-10:])
    assert lengths.shortened(text, 100_000) == text
