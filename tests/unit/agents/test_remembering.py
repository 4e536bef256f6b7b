"""What a model is told of the turns before."""

from __future__ import annotations

from typing import Any

from agentsvc_nb.agents.language.history import remembered
from agentsvc_nb.agents.language.lengths import Budget, Lengths
from agentsvc_nb.agents.port import EarlierTurn, MadeCall

LENGTHS = Lengths()


def said(earlier: list[EarlierTurn], room: int, summary: str = "") -> list[Any]:
    messages = remembered(earlier, Budget(LENGTHS, 10_000, 1_000), room, summary)
    return [getattr(part, "content", None) for message in messages for part in message.parts]


def test_the_latest_turns_that_fit_in_their_order() -> None:
    earlier = [EarlierTurn("third", "c", "completed"), EarlierTurn("second", "b " * 30, "completed")]
    assert said([*earlier, EarlierTurn("first", "a " * 400, "completed")], 100) == ["second", "b " * 30, "third", "c"]


def test_a_turn_that_did_not_complete_is_told_with_what_it_did() -> None:
    calls = [MadeCall("query_tables", '{"sql": "SELECT 1"}', "revenue\n4711"), MadeCall("read_file", "{}", "x " * 900)]
    failed = EarlierTurn("why?", "Let me see.", "failed", error="limit_reached: Enough.", calls=calls)
    message, answer = said([failed], 2_000)
    assert (message, answer.splitlines()[0]) == ("why?", "Let me see.")
    assert "failed, limit_reached: Enough." in answer
    assert '- query_tables {"sql": "SELECT 1"}: revenue 4711' in answer
    assert len(answer) < 1_000
    assert said([EarlierTurn("why?", "", "cancelled")], 100)[1].startswith("[This run ended before")


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
