"""Scenarios: what a provider's stand-in answers, and what a run then says. Each is played by the agent in this process,
with the real library of the provider."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from PIL import Image

from agentsvc_nb import agents
from agentsvc_nb.agents.language import patience, served
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools import catalog
from agentsvc_nb.tools.port import WorkFailure
from tests.unit.agents.wires.providers import PROVIDERS
from tests.unit.agents.wires.reply import INPUT_TOKENS, OUTPUT_TOKENS, REFUSAL, UNFINISHED, Body, Reply
from tests.unit.agents.wires.server import provider_server
from tests.unit.service.agents_harness import MemoryRunContext, MemoryWorkspace

HALF: Final = ("Once upon", " a time")
TOLD: Final = "Once upon a time"
DONE: Final = Reply(("Done.",))
TEXT: Final = Reply(("Tea is ", "$4.50", " a cup."))
LONG_WORDS: Final = 3_000
SCHEMA: Final = {
    "type": "object",
    "properties": {"score": {"type": "integer", "maximum": 5}},
    "required": ["score"],
    "additionalProperties": False,
}
PARALLEL: Final = Reply(
    ("Let me see.",),
    ("Two calls ", "at once."),
    (("list_files", "{}"), ("read_file", '{"path": "uploads/a.txt"}')),
)
RETRIED: Final = ("model_retried",)
"""A warning for each time that the model was waited for."""


def picture() -> bytes:
    found = io.BytesIO()
    Image.new("RGB", (64, 64), "red").save(found, "PNG")
    return found.getvalue()


PICTURE: Final = picture()


@dataclass(frozen=True)
class Said:
    """What a run says: the code of its failure, its answer, codes of its warnings, tokens (None: some), how
    often the provider was asked; `message` is in that of the failure, or of the first warning."""

    last_error: str | None = None
    output: str = "Done."
    warnings: tuple[str, ...] = ()
    tokens: tuple[int, int] | None = (INPUT_TOKENS, OUTPUT_TOKENS)
    asked: int = 1
    message: str = ""


@dataclass(frozen=True)
class Scenario:
    """`but`: what a provider answers and says otherwise; None where its form has no such thing. `options`: of a run."""

    name: str
    replies: tuple[Reply, ...]
    said: Said
    options: dict[str, Any] = field(default_factory=dict)
    but: dict[str, tuple[tuple[Reply, ...], Said] | None] = field(default_factory=dict)


def _failed(code: str, message: str, **more: Any) -> Said:
    return Said(**{"last_error": code, "output": "", "message": message, **more})


REFUSES: Final[dict[str, Any]] = {"output": TOLD}
LOST: Final = (Reply(HALF, end="lost"), DONE)
TOO_LONG: Final = (Reply(fault="too_long"), DONE)
BROKEN: Final = (Reply(HALF, end="overloaded"), DONE)
THINKS: Final = Reply(("Tea.",), thinking=("Hm, ", "tea?"))
FILTERED: Final = Reply(HALF, end="filtered")
SCENARIOS: Final = (
    Scenario("text", (TEXT,), Said(output="Tea is $4.50 a cup.")),
    Scenario("thinking", (THINKS,), Said(output="Tea."), {"effort": "medium"}),
    Scenario(
        "parallel calls",
        (PARALLEL, DONE),
        Said(output="Done.", tokens=(2 * INPUT_TOKENS, 2 * OUTPUT_TOKENS), asked=2),
        {"files": [("a.txt", b"the code is 4711")], "effort": "medium"},
    ),
    Scenario(
        "malformed arguments",
        (Reply(calls=(("list_files", "[1"),)), DONE),
        Said(warnings=("malformed_call",), tokens=(200, 20), asked=2, message="could not be made"),
        but={
            "ollama": (
                (Reply(calls=(("no_such_tool", "{}"),)), DONE),
                Said(warnings=("malformed_call",), tokens=(200, 20), asked=2, message="no_such_tool"),
            )
        },
    ),
    Scenario(
        "schema",
        (Reply(('{"score": 9}',)), Reply(('{"score": 4}',))),
        Said(output='{"score": 4}', tokens=(200, 20), asked=2),
        {"output_config": SCHEMA},
    ),
    Scenario(
        "refusal",
        (Reply(HALF, end="refused"),),
        Said(**REFUSES, last_error="answer_refused", message=REFUSAL),
        but={
            "google": (
                (Reply(HALF, end="refused"),),
                Said(**REFUSES, last_error="content_filtered", message="PROHIBITED_CONTENT"),
            ),
            "ollama": None,
        },
    ),
    Scenario(
        "filtered",
        (FILTERED,),
        Said(**REFUSES, last_error="content_filtered", message="content_filter"),
        but={
            "google": ((FILTERED,), Said(**REFUSES, last_error="content_filtered", message="SAFETY")),
            "anthropic": ((FILTERED,), Said(**REFUSES, last_error="answer_refused", message="without a word")),
            "ollama": None,
        },
    ),
    Scenario("cut stream", LOST, Said(warnings=RETRIED, tokens=None, asked=2, message="broke off in the middle")),
    Scenario(
        "overloaded in mid-stream",
        BROKEN,
        Said(warnings=RETRIED, tokens=None, asked=2, message="verloaded"),
        but={"ollama": (BROKEN, Said(warnings=RETRIED, tokens=None, asked=2, message="resource limitations"))},
    ),
    Scenario(
        "401",
        (Reply(fault="no_key"),),
        _failed("model_refused", "key", tokens=(0, 0)),
        but={"ollama": ((Reply(fault="no_key"),), _failed("model_refused", "unauthorized", tokens=(0, 0)))},
    ),
    Scenario(
        "429 with Retry-After",
        (Reply(fault="limited", retry_after=1), DONE),
        Said(warnings=RETRIED, asked=2, message="asked again in 1 second"),
    ),
    Scenario(
        "quota used up",
        (Reply(fault="spent"),),
        _failed("model_unavailable", "quota", tokens=(0, 0)),
        but={
            "anthropic": ((Reply(fault="spent"),), _failed("model_unavailable", "credit balance", tokens=(0, 0))),
            "ollama": ((Reply(fault="spent"),), _failed("model_unavailable", "usage limit", tokens=(0, 0))),
        },
    ),
    Scenario("413", (Reply(fault="too_large"),), _failed("model_refused", "(413)", tokens=(0, 0))),
    Scenario("500", (Reply(fault="broken"), DONE), Said(warnings=RETRIED, asked=2, message="(500)")),
    Scenario("no first event", (Reply(hangs=True), DONE), Said(warnings=RETRIED, asked=2, message="timed out")),
    Scenario(
        "silence between events",
        (Reply(("Once",), hangs=True), DONE),
        Said(warnings=RETRIED, tokens=None, asked=2, message="silent for too long"),
    ),
    Scenario(
        "long answer",
        (Reply(("word ",) * LONG_WORDS, end="length"),),
        Said(output="word " * LONG_WORDS, warnings=("answer_cut",), message="The answer was cut"),
        {"max_cents": 1000},
    ),
    Scenario(
        "usage in each event",
        (Reply(("Tea ", "is ", "$4.50", " a cup."), repeats_usage=True),),
        Said(output="Tea is $4.50 a cup."),
    ),
    Scenario(
        "an event that is not JSON",
        (Reply(("Once", UNFINISHED)), DONE),
        Said(warnings=RETRIED, tokens=None, asked=2, message="JSON"),
    ),
    Scenario("picture", (Reply(("Red.",)),), Said(output="Red."), {"files": [("red.png", PICTURE)]}),
    Scenario(
        "context exceeded",
        TOO_LONG,
        Said(warnings=("context_exceeded",), asked=2, message="(400)"),
    ),
)


def play(form: str, scenario: Scenario, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Run a scenario in a provider's form and check what the run says, and what the provider was asked."""
    replies, said = scenario.but.get(form, (scenario.replies, scenario.said)) or ((), Said())
    if not replies:
        return
    for module, name, seconds in (
        (patience, "FIRST_SECONDS", 0.001),
        (served, "FIRST_EVENT_SECONDS", 0.5 if scenario.name == "no first event" else 20),
        (served, "SILENCE_SECONDS", 0.5 if scenario.name == "silence between events" else 20),
    ):
        patch.setattr(module, name, seconds)
    provider = PROVIDERS[form]
    with provider_server(provider.form) as server:
        server.answers(*replies)
        turn, failure, answer = played(form, server.url, scenario.options, folder, patch)
        assert server.refused == []
        asked = server.asked
    warned = turn.of("warn")
    assert (failure and failure.code, turn.said if failure else answer) == (said.last_error, said.output)
    assert tuple(code for code, _ in warned) == said.warnings
    assert said.message in (failure.message if failure else warned[0][1] if warned else "")
    assert len(asked) == said.asked
    if said.tokens is None:
        assert turn.tokens[0] > INPUT_TOKENS
        assert turn.tokens[1] > 1
    else:
        assert turn.tokens == said.tokens
    _check_more(form, scenario.name, turn, asked)


def played(
    form: str, url: str, options: dict[str, Any], folder: Path, patch: pytest.MonkeyPatch
) -> tuple[MemoryRunContext, WorkFailure | None, str]:
    """Return a turn that was answered at this address, its failure, and its answer."""
    provider = PROVIDERS[form]
    model, variables = provider.recommended()
    for name, value in {provider.key: "any", provider.address: url + provider.path}.items():
        if name.startswith("AGENTSVC_"):
            variables[name] = value
        else:
            patch.setenv(name, value)
    sees = {"model_sees": "yes"} if form in ("completions", "ollama") else {}
    settings = Settings.from_env(variables, data=folder, model=model, model_patience_seconds=60, **sees)
    tools = catalog.within({}, settings)
    files = {f"uploads/{name}": content for name, content in options.get("files", ())}
    turn = MemoryRunContext("Hi", MemoryWorkspace(folder / "chat", files), [tools["list_files"], tools["read_file"]])
    turn.attached, turn.effort = tuple(files), options.get("effort")
    turn.output_config = options.get("output_config")
    try:
        return turn, None, asyncio.run(agents.choose(model, settings).run(turn)) or ""
    except WorkFailure as failure:
        return turn, failure, ""


def _check_more(form: str, scenario: str, turn: MemoryRunContext, asked: list[Body]) -> None:
    if form == "responses":
        assert not any(body["store"] for body in asked), "OpenAI keeps no request"
    match scenario:
        case "thinking":
            # OpenAI's chat completions have no place for it; a summary in Responses is for verified organisations.
            assert "".join(turn.of("think")) == ("" if form in ("responses", "completions") else "Hm, tea?")
        case "parallel calls":
            assert [tool for tool, _ in turn.of("call")] == ["list_files", "read_file"]
            assert "the code is 4711" in json.dumps(asked[1])
        case "malformed arguments":
            assert turn.of("call") == []
        case "schema":
            assert "9 is greater than the maximum of 5" in json.dumps(asked[1])
        case "picture":
            assert base64.b64encode(PICTURE).decode() in json.dumps(asked[0]).replace("-", "+").replace("_", "/")
        case "cut stream" | "overloaded in mid-stream" | "an event that is not JSON":
            assert turn.of("rewind"), "what was half said is taken back"
