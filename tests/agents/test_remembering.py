"""What a model is told of the turns before."""

from __future__ import annotations

from agentsvc_nb.agents.language.conversation import remembered, tokens
from agentsvc_nb.agents.port import EarlierTurn


def said(earlier: list[EarlierTurn], limit: int) -> list[str]:
    return [str(part.content) for message in remembered(earlier, limit) for part in message.parts]  # type: ignore[union-attr]


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
    assert tokens(message) + tokens(answer) <= 210
    both = EarlierTurn("I say " * 2_000, "and you " * 2_000, "completed")
    assert sum(map(tokens, said([both], 200))) <= 220
