"""The twelve scenarios: what a real model is asked, and how one knows that it went well. Models word things as they
like, so judges look for a fact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from agentsvc_nb.wire.runs import Run
from tests.unit.agents.wires.scenarios import PICTURE, SCHEMA

Judge = Callable[[Run, list[str]], str | None]
"""What was not as it should be, of the last run and the types of its events; None when all was."""
NOTES: Final = [("notes.txt", b"The code of the spring campaign is 4711."), ("more.txt", b"The autumn code is 1848.")]


@dataclass(frozen=True)
class Scenario:
    """`questions` are asked in one chat, the first with `options`. `cancels`: at its first words."""

    name: str
    questions: tuple[str, ...]
    judge: Judge
    options: dict[str, Any] = field(default_factory=dict)
    cancels: bool = False


def says(*words: str, kind: str | None = None) -> Judge:
    """The run is completed, has these words in its output, and an event of this kind."""

    def judge(run: Run, kinds: list[str]) -> str | None:
        if run.status != "completed":
            return f"{run.status}, {run.last_error}: {run.last_error_message}"
        if missing := [word for word in words if word.lower() not in (run.output or "").lower()]:
            return f"{missing[0]!r} is not in {(run.output or '')[:200]!r}"
        if kind is not None and kind not in kinds:
            return f"no event {kind}"
        return None if run.usage.input_tokens and run.usage.output_tokens else "no tokens were counted"

    return judge


def ends(status: str, last_error: str | None = None) -> Judge:
    def judge(run: Run, kinds: list[str]) -> str | None:
        found = run.status, run.last_error
        return None if found == (status, last_error) else f"{found[0]}, {found[1]}: {run.last_error_message}"

    return judge


def fits(run: Run, kinds: list[str]) -> str | None:
    return None if (run.structured_output or {}).get("score") == 4 else f"{run.status}: {run.output!r}"


def both_calls(run: Run, kinds: list[str]) -> str | None:
    return says("4711", "1848")(run, kinds) or (None if kinds.count("tool.call") > 1 else "fewer than two calls")


def long(run: Run, kinds: list[str]) -> str | None:
    return says("40")(run, kinds) or (None if kinds.count("text.delta") > 3 else "it did not stream")


RED: Final = {"files": [("red.png", PICTURE)]}
SCENARIOS: Final = (
    Scenario("text", ("Answer with one word: the capital of France?",), says("paris")),
    Scenario("thinking", ("What is 17 times 23? Only the number.",), says("391"), {"effort": "low"}),
    Scenario("call", ("What is the code in notes.txt?",), says("4711", kind="tool.call"), {"files": NOTES[:1]}),
    Scenario("parallel calls", ("Read notes.txt and more.txt, and name both codes.",), both_calls, {"files": NOTES}),
    Scenario("schema", ("Give the score 4.",), fits, {"output_config": SCHEMA}),
    Scenario("schema and call", ("The score is the number of letters in 'four'.",), fits, {"output_config": SCHEMA}),
    Scenario("chat", ("My dog is Rex.", "What is my dog called?"), says("rex")),
    Scenario("long answer", ("Write the numbers from 1 to 40 in words, with their digits, a line each.",), long),
    Scenario("picture", ("Which colour is the picture? One word.",), says("red"), RED),
    Scenario("cancel", ("Tell a story of a thousand words.",), ends("cancelled"), cancels=True),
    Scenario("401", ("Hi",), ends("failed", "model_refused")),
    Scenario("404", ("Hi",), ends("failed", "model_refused")),
)
