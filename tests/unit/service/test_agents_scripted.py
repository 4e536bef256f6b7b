"""The scripted agent, line by line (docs/api/models.md "scripted")."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentsvc_nb.agents import choose
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.echo_job import EchoJob
from agentsvc_nb.tools.port import ToolServices
from agentsvc_nb.wire.runs import AnswerBasis
from tests.unit.service.agents_harness import MemoryRunContext, MemoryWorkspace


def turn_of(script: str, folder: Path) -> MemoryRunContext:
    echo_job = EchoJob(ToolServices(Settings(folder / "data")))
    return MemoryRunContext(script, MemoryWorkspace(folder / "chat"), [echo_job])


def play(script: str, folder: Path) -> tuple[str | None, MemoryRunContext]:
    turn = turn_of(script, folder)
    return asyncio.run(choose("scripted").run(turn)), turn


@pytest.mark.parametrize(
    ("script", "output"),
    [
        ("say hello\nsay world", "hello\nworld"),
        ("say a\nanswer other", "other"),
        ("wait x\nwait -1\nwait nan", "wait x\nwait -1\nwait nan"),
        ("fail-http brain_unavailable\nsay b", "b"),
        ("say line\u2028separator", "line\u2028separator"),
    ],
)
def test_output_is_what_was_said_or_the_answer(script: str, output: str, tmp_path: Path) -> None:
    assert play(script, tmp_path)[0] == output


def test_a_script_says_what_its_answer_rests_on(tmp_path: Path) -> None:
    numbers = '[{"start": 0, "end": 2, "text": "12", "status": "traced", "strength": "row"}]'
    said = f'say 12\nbasis {{"basis": "written", "numbers": {numbers}, "number_counts": {{"traced": 1}}}}\nbasis {{}}'
    output, turn = play(said, tmp_path)
    assert output == "12\nbasis {}"
    [basis] = turn.of("basis")
    assert isinstance(basis, AnswerBasis)
    assert basis.numbers[0].status == "traced"


RECORDED = """About the file.

ask Which region sold most?
step 1
call echo_job {"text": "x"}
step 1
**DACH**, as `by-region.csv` says.

ask And least?
Benelux.
"""


def test_a_recorded_conversation_answers_its_questions(tmp_path: Path) -> None:
    """However a question is broken into lines; another one is told so. The tools are called, whatever they answer."""
    file = tmp_path / "review.txt"
    file.write_text(RECORDED)
    agent = choose(f"scripted:{file}")
    turn = turn_of("Which region\n  sold most?", tmp_path)
    assert asyncio.run(agent.run(turn)) == "**DACH**, as `by-region.csv` says."
    assert [kind for kind, _ in turn.events if kind in ("step", "call")] == ["step", "call", "step"]
    assert asyncio.run(agent.run(turn_of("And least?", tmp_path))) == "Benelux."
    other = asyncio.run(agent.run(turn_of("say hello", tmp_path)))
    assert other is not None
    assert other.startswith("This service replays a recorded conversation")
    assert other.endswith("- Which region sold most?\n- And least?")
