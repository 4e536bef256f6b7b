"""What a model is told of the turns before."""

from __future__ import annotations

from typing import Any

from agentsvc_nb.agents.language.history import remembered
from agentsvc_nb.agents.language.lengths import Budget, Lengths
from agentsvc_nb.agents.port import EarlierTurn

LENGTHS = Lengths()


def said(earlier: list[EarlierTurn], room: int, summary: str = "") -> list[Any]:
    messages = remembered(earlier, Budget(LENGTHS, 10_000, 1_000), room, summary)
    return [getattr(part, "content", None) for message in messages for part in message.parts]


def test_the_latest_turns_that_fit_in_their_order() -> None:
    earlier = [EarlierTurn("third", "c", "completed"), EarlierTurn("second", "b " * 30, "completed")]
    assert said([*earlier, EarlierTurn("first", "a " * 400, "completed")], 100) == ["second", "b " * 30, "third", "c"]
    assert said([EarlierTurn("why?", "", "failed")], 100) == ["why?", "(no answer: failed)"]


def test_the_very_latest_is_shortened_and_not_forgotten() -> None:
    long = EarlierTurn("My name is Ada.", "Well met, Ada! " + "and so on " * 500 + "the end", "completed")
    message, answer = said([long, EarlierTurn("before", "short", "completed")], 200)
    assert message == "My name is Ada."
    assert answer.startswith("Well met, Ada!")
    assert answer.endswith("the end")
    assert LENGTHS.text(message) + LENGTHS.text(answer) <= 210
    both = EarlierTurn("I say " * 2_000, "and you " * 2_000, "completed")
    assert sum(map(LENGTHS.text, said([both], 200))) <= 220


def test_a_summary_stands_before_the_first_turn_that_is_told() -> None:
    told = said([EarlierTurn("And now?", "Now this.", "completed")], 100, "Ada sells tea.")
    assert "Ada sells tea." in told[0]
    assert told[0].endswith("And now?")
    assert told[1] == "Now this."
