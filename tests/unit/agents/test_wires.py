"""Five providers' forms: what a run says however its provider answers, with the provider's real library."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pytest

from agentsvc_nb import agents
from agentsvc_nb.agents.language import retry, served_models
from agentsvc_nb.agents.language.agent import Language
from agentsvc_nb.agents.language.model_choice import ModelChoice
from agentsvc_nb.agents.port import ModelFacts
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools import catalog
from agentsvc_nb.tools.port import WorkFailure
from tests.unit.agents.wires.google_generate import refusal
from tests.unit.agents.wires.providers import PROVIDERS
from tests.unit.agents.wires.reply import INPUT_TOKENS, OUTPUT_TOKENS, REFUSAL, UNFINISHED, Reply
from tests.unit.agents.wires.server import provider_server
from tests.unit.service.agents_harness import MemoryRunContext, MemoryWorkspace

HALF: Final = ("Once upon", " a time")
DONE: Final = Reply(("Done.",))
SCHEMA: Final = {
    "type": "object",
    "properties": {"score": {"type": "integer", "maximum": 5}},
    "required": ["score"],
    "additionalProperties": False,
}
BOTH: Final = (("list_files", "{}"), ("read_file", '{"path": "uploads/a.txt"}'))
SPENT: Final = "You have an insufficient quota: your credit balance is too low."
DAILY: Final = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "20"}],
}
CUT: Final[dict[str, Any]] = {"warnings": ("model_retried",), "asked": 2}
"""A warning for each time that the model was waited for."""
TWICE: Final = (2 * INPUT_TOKENS, 2 * OUTPUT_TOKENS)


@dataclass(frozen=True)
class Scenario:
    """What a provider answers, `options` of the run, and what it says: the code of its failure, its answer, codes of
    its warnings, tokens (None: some), how often the provider was asked; `message` is in that of the failure, or of the
    first warning. `but`: what is otherwise in a provider's form; None where it has no such thing."""

    replies: tuple[Reply, ...]
    last_error: str | None = None
    output: str = "Done."
    warnings: tuple[str, ...] = ()
    tokens: tuple[int, int] | None = (INPUT_TOKENS, OUTPUT_TOKENS)
    asked: int = 1
    message: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    but: dict[str, dict[str, Any] | None] = field(default_factory=dict)


SCENARIOS: Final = {
    "parallel calls": Scenario(
        (Reply(("Let me see.",), ("Two calls ", "at once."), BOTH), DONE),
        tokens=TWICE,
        asked=2,
        options={"files": {"uploads/a.txt": b"the code is 4711"}, "effort": "medium"},
    ),
    "loaded tools": Scenario((Reply(calls=(("search_tools", '{"queries": ["mail"]}'),)), DONE), tokens=TWICE, asked=2),
    "failed call": Scenario((Reply(calls=(("read_file", '{"path": "none.txt"}'),)), DONE), tokens=TWICE, asked=2),
    "malformed arguments": Scenario(
        (Reply(calls=(("list_files", "[1"),)), DONE),
        warnings=("malformed_call",),
        tokens=TWICE,
        asked=2,
        message="was not executed",
    ),
    "schema": Scenario(
        (Reply(('{"score": 9}',)), Reply(('{"score": 4}',))),
        output='{"score": 4}',
        tokens=TWICE,
        asked=2,
        options={"output_config": SCHEMA},
        but={"anthropic": {"replies": (Reply(answer={"score": 9}), Reply(answer={"score": 4}))}},
    ),
    "refusal": Scenario(
        (Reply(HALF, end="refused"),),
        "answer_refused",
        "".join(HALF),
        message=REFUSAL,
        but={"google": {"last_error": "content_filtered", "message": "PROHIBITED_CONTENT"}, "ollama": None},
    ),
    "filtered": Scenario(
        (Reply(HALF, end="filtered"),),
        "content_filtered",
        "".join(HALF),
        but={"anthropic": {"last_error": "answer_refused", "message": "no reason given"}, "ollama": None},
    ),
    "cut stream": Scenario((Reply(HALF, end="lost"), DONE), **CUT, tokens=None, message="answer is incomplete"),
    "overloaded in mid-stream": Scenario(
        (Reply(HALF, end="overloaded"), DONE), **CUT, tokens=None, message="verloaded"
    ),
    "401": Scenario((Reply(status=401),), "model_refused", "", tokens=(0, 0), message="key"),
    "429 with Retry-After": Scenario(
        (Reply(status=429, error="Slow down.", retry_after=1), DONE), **CUT, message="next attempt is in 1 second"
    ),
    "quota used up": Scenario(
        (Reply(status=429, error=SPENT),),
        "model_unavailable",
        "",
        tokens=(0, 0),
        message="quota",
        but={"google": {"replies": (Reply(fault=refusal(429, "RESOURCE_EXHAUSTED", "You used it up.", DAILY)),)}},
    ),
    "silence between events": Scenario(
        (Reply(("Once",), hangs=True), DONE), **CUT, tokens=None, message="did not respond in time"
    ),
    "an event that is not JSON": Scenario((Reply(("Once", UNFINISHED)), DONE), **CUT, tokens=None, message="JSON"),
    "context exceeded": Scenario(
        (Reply(status=400, error="prompt is too long: maximum context length is 8192 tokens"), DONE),
        warnings=("context_exceeded",),
        asked=2,
        message="(400)",
    ),
}
TELLING: Final = (
    ("responses", "parallel calls"),
    ("responses", "filtered"),
    ("responses", "loaded tools"),
    ("completions", "cut stream"),
    ("completions", "429 with Retry-After"),
    ("completions", "failed call"),
    ("anthropic", "failed call"),
    ("google", "failed call"),
    ("anthropic", "refusal"),
    ("anthropic", "schema"),
    ("anthropic", "loaded tools"),
    ("anthropic", "silence between events"),
    ("google", "quota used up"),
    ("google", "malformed arguments"),
    ("ollama", "context exceeded"),
)


@pytest.mark.parametrize(("form", "name"), TELLING)
def test_a_run_says_how_it_went(form: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(form, name, tmp_path, monkeypatch)


def play(form: str, name: str, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Run a scenario in a provider's form and check what the run says, and what the provider was asked."""
    other = SCENARIOS[name].but.get(form, {})
    assert other is not None, "the form has no such thing"
    said = replace(SCENARIOS[name], **other)
    patch.setattr(retry, "FIRST_SECONDS", 0.001)
    patch.setattr(served_models, "SILENCE_SECONDS", 0.5 if name == "silence between events" else 20)
    with provider_server(PROVIDERS[form].form) as server:
        server.answers(*said.replies)
        turn, failure, answer = played(form, server.url, said.options, folder, patch)
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
        assert turn.of("rewind"), "what was half said is taken back"
    else:
        assert turn.tokens == said.tokens
    match name:
        case "parallel calls":
            assert [tool for tool, _ in turn.of("call")] == ["list_files", "read_file"]
            assert "the code is 4711" in json.dumps(asked[1])
        case "loaded tools":
            assert ["send_email" in json.dumps(body["tools"]) for body in asked] == [False, True]
        case "failed call":
            wrapped = json.dumps('{"error":"file_not_found').strip('"')
            forms = {"anthropic": '"is_error": true', "google": '"error": "file_not_found'}
            assert forms.get(form, wrapped) in json.dumps(asked[1])
        case "malformed arguments":
            assert turn.of("call") == []
        case "schema":
            assert "the maximum of 5" in json.dumps(asked[1])


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
    settings = Settings.from_env(variables, data=folder, model=model, model_patience_seconds=60)
    tools = catalog.add_workspace_tools(catalog.tools(settings), settings)
    files = options.get("files", {})
    offered = [tools[tool] for tool in ("list_files", "read_file", "send_email")]
    turn = MemoryRunContext("Hi", MemoryWorkspace(folder / "chat", files), offered)
    turn.attached, turn.effort = tuple(files), options.get("effort")
    turn.output_config = options.get("output_config")
    try:
        return turn, None, asyncio.run(agents.choose(model, settings).run(turn)) or ""
    except WorkFailure as failure:
        return turn, failure, ""


ELSEWHERE = "https://gateway.example/v1"
SAME: dict[str, tuple[str, str, str]] = {
    "openai by chat completions": ("openai-chat:gpt-5.2", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "anthropic": ("anthropic:claude-sonnet-4-6", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "google": ("google:gemini-3.8-flash", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
}


@pytest.mark.parametrize(("model", "key", "address"), SAME.values(), ids=SAME)
def test_a_providers_model_is_the_same_at_another_address(
    model: str, key: str, address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its form, context, pictures, prices and limits: a gateway, an endpoint in the EU."""
    monkeypatch.delenv(address, raising=False)
    monkeypatch.setenv(key, "any")
    meant = served_models.by_name(ModelChoice(model))
    url = ELSEWHERE if "chat" in model else None
    if url is None:
        monkeypatch.setenv(address, ELSEWHERE)
    found = served_models.by_name(ModelChoice(model, url))
    assert (found.model.base_url or "").startswith(ELSEWHERE)
    assert (type(found.model), found.model.profile) == (type(meant.model), meant.model.profile)
    assert meant.context > 100_000
    assert found.published_price() == meant.published_price() is not None
    agent = agents.choose(model, Settings(tmp_path, model=model, model_url=url))
    assert isinstance(agent, Language)
    assert asyncio.run(agent.facts()) == ModelFacts(None, meant.context, True, True, meant.published_price())
    assert agent.hosted, "a run on it costs 50 cents at most"
