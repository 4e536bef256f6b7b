"""Scenarios by five providers' forms, through the whole service: a table without a hole (docs/models.md)."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import agents
from agentsvc_nb.agents.language import served
from agentsvc_nb.agents.language.agent import Language
from agentsvc_nb.agents.language.model_choice import ModelChoice
from agentsvc_nb.agents.port import ModelFacts
from agentsvc_nb.settings import Settings
from agentsvc_nb.wire.runs import Run
from tests.support.waiting import until
from tests.unit.agents.wires.chat_completions import ChatCompletions
from tests.unit.agents.wires.providers import LINE, MODELS_PAGE, PROVIDERS, Serving, serving
from tests.unit.agents.wires.reply import Refused, Reply
from tests.unit.agents.wires.scenarios import PICTURE, SCENARIOS, Said, Scenario

# The parser of forms leaves a file to be collected, which matters in this process alone.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Unclosed file:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
OWN = ("completions", "ollama")


@pytest.fixture(scope="module", params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> Iterator[tuple[str, Serving]]:
    sees = {"model_sees": "yes"} if request.param in OWN else {}
    with serving(PROVIDERS[request.param], model_patience_seconds=60, **sees) as it:
        yield request.param, it


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_run_says_how_it_went(
    provider: tuple[str, Serving], scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, it = provider
    found = scenario.of(name)
    if found is None:
        form_has_no_such_end(it, scenario.replies[0])
        return
    if scenario.name == "no first event":
        monkeypatch.setattr(served, "FIRST_EVENT_SECONDS", 0.5)
    if scenario.name == "silence between events":
        monkeypatch.setattr(served, "SILENCE_SECONDS", 0.5)
    replies, said = found
    run = cancelled(it, scenario, replies) if scenario.name == "cancel" else it.ask("Hi", *replies, **scenario.options)
    check(it, run, said)
    if name == "responses":
        assert [asked.get("store") for asked in it.server.asked] == [False] * said.asked, "OpenAI keeps no request"
    if more := MORE.get(scenario.name):
        more(name, it, run)


def check(it: Serving, run: Run, said: Said) -> None:
    # The folder's first run on a provider says what it is sent.
    warned = [payload for payload in it.events(run, "warning") if payload["code"] != "leaves_machine"]
    assert (run.status, run.last_error, run.output or "") == (said.status, said.last_error, said.output)
    assert tuple(payload["code"] for payload in warned) == said.warnings
    assert said.message in (run.last_error_message or (warned[0]["message"] if warned else ""))
    assert (run.steps, len(it.server.asked)) == (said.steps, said.asked)
    if said.tokens is None:
        assert run.usage.input_tokens > 100
        assert run.usage.output_tokens > 1
    else:
        assert (run.usage.input_tokens, run.usage.output_tokens) == said.tokens
    ended = it.events(run, "run.ended")
    assert [payload["run"]["last_error"] for payload in ended] == [said.last_error]


def cancelled(it: Serving, scenario: Scenario, replies: tuple[Reply, ...]) -> Run:
    """Cancel a run that has made a call and is in the middle of its second answer."""
    run_id = it.start("Hi", *replies, **scenario.options)
    assert it.server.hanging.wait(30)
    # The deltas of half a second may still be on their way.
    until(lambda: "a time" in json.dumps([event.payload for event in it.client.runs.events(run_id).data]))
    seen = it.client.runs.get(run_id)
    assert (seen.status, seen.steps) == ("running", 2)
    assert (seen.usage.input_tokens, seen.usage.output_tokens) == (100, 10)
    it.client.runs.cancel(run_id)
    run = it.client.runs.wait(run_id, poll=0.02, timeout=30)
    assert it.server.cut_off.wait(30)
    assert it.server.refused == []
    return run


def form_has_no_such_end(it: Serving, reply: Reply) -> None:
    with pytest.raises(KeyError):
        list(it.server.form.events(reply, "/api/chat", {"model": "x", "messages": []}))


def thinks(name: str, it: Serving, run: Run) -> None:
    """OpenAI shows no thinking: chat completions have no place for it, a summary in Responses is for those whose
    organisation is verified."""
    thought = "".join(payload["text"] for payload in it.events(run, "thinking.delta"))
    assert thought == ("" if name in ("responses", "completions") else "Hm, tea?")


def calls(name: str, it: Serving, run: Run) -> None:
    assert [payload["tool"] for payload in it.events(run, "tool.call")] == ["list_files", "read_file"]
    assert [payload["is_error"] for payload in it.events(run, "tool.result")] == [False, False]
    assert "the code is 4711" in json.dumps(it.server.asked[1])


def calls_none(name: str, it: Serving, run: Run) -> None:
    assert it.events(run, "tool.call") == []


def fits(name: str, it: Serving, run: Run) -> None:
    assert run.structured_output == {"score": 4}
    assert "9 is greater than the maximum of 5" in json.dumps(it.server.asked[1])


def goes_back(name: str, it: Serving, run: Run) -> None:
    """What was half said is taken back, and the answer has none of it."""
    assert len(it.events(run, "run.resumed")) == 1


def shows(name: str, it: Serving, run: Run) -> None:
    assert base64.b64encode(PICTURE).decode() in json.dumps(it.server.asked[0]).replace("-", "+").replace("_", "/")


def has_its_context_again(name: str, it: Serving, run: Run) -> None:
    """One request that was too long says nothing of other runs."""
    first = it.server.asked[0]
    later = it.ask("Hi", Reply(("Done.",)))
    assert it.events(later, "warning") == it.events(run, "warning")[:-1]
    assert len(json.dumps(it.server.asked[0])) >= 0.95 * len(json.dumps(first))


MORE: dict[str, Callable[[str, Serving, Run], None]] = {
    "thinking": thinks,
    "parallel calls": calls,
    "malformed arguments": calls_none,
    "schema": fits,
    "cut stream": goes_back,
    "overloaded in mid-stream": goes_back,
    "bytes that are not UTF-8": goes_back,
    "an event that is not JSON": goes_back,
    "picture": shows,
    "context exceeded": has_its_context_again,
}


def test_the_docs_have_the_table() -> None:
    """Each scenario has a word for each provider."""
    head = ["", "Scenario", "The run", *(provider.shown for provider in PROVIDERS.values()), ""]
    rows = [" | ".join(head).strip(), "|---" * (len(PROVIDERS) + 2) + "|"]
    rows += [scenario.row(PROVIDERS) for scenario in SCENARIOS]
    assert "\n".join(rows) in MODELS_PAGE.read_text(), "\n" + "\n".join(rows)


def test_each_recommended_line_is_one_that_is_run() -> None:
    lines = [model.partition(":")[0] for _, model in LINE.findall(MODELS_PAGE.read_text()) if ":" in model]
    assert sorted(set(lines)) == sorted(provider.line for provider in PROVIDERS.values())


def test_ollama_is_told_what_it_reads_and_no_more() -> None:
    """Of chat completions it takes some fields and ignores the others: `complaint` refuses those."""
    with serving(PROVIDERS["ollama"]) as it:
        run = it.ask("Hi", Reply(text=("Tea.",)), effort="high")
        assert run.output == "Tea."
        [asked] = it.server.asked
        assert (asked["max_tokens"], asked["model"]) == (16_384 // 4, "qwen3")
        assert "reasoning_effort" not in asked


ELSEWHERE = "https://gateway.example/v1"
SAME: dict[str, tuple[str, str, str]] = {
    "openai": ("openai:gpt-5.2", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "openai by chat completions": ("openai-chat:gpt-5.2", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "anthropic": ("anthropic:claude-sonnet-4-6", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "google": ("google:gemini-3.8-flash", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
}


@pytest.mark.parametrize("by", ["the provider's variable", "AGENTSVC_MODEL_URL"])
@pytest.mark.parametrize(("model", "key", "address"), SAME.values(), ids=SAME)
def test_a_providers_model_is_the_same_at_another_address(
    model: str, key: str, address: str, by: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its form, context, pictures, prices and limits: a gateway, an endpoint in the EU."""
    monkeypatch.delenv(address, raising=False)
    monkeypatch.setenv(key, "any")
    meant = served.by_name(ModelChoice(model))
    url = ELSEWHERE if by == "AGENTSVC_MODEL_URL" else None
    if url is None:
        monkeypatch.setenv(address, ELSEWHERE)
    found = served.by_name(ModelChoice(model, url))
    assert (found.model.base_url or "").startswith(ELSEWHERE)
    assert (type(found.model), found.model.profile) == (type(meant.model), meant.model.profile)
    assert meant.context > 100_000
    facts = [(each.context, each.sees, each.tools, each.hosted, each.keyless) for each in (found, meant)]
    assert facts == [(meant.context, True, True, True, False)] * 2
    assert served.published_price(found) == served.published_price(meant) is not None
    agent = agents.choose(model, Settings(tmp_path, model=model, model_url=url))
    assert isinstance(agent, Language)
    assert asyncio.run(agent.facts()) == ModelFacts(None, meant.context, True, True, served.published_price(meant))
    assert agent.hosted, "a run on it costs 50 cents at most"


@pytest.mark.parametrize("name", ["responses", "anthropic", "google"])
def test_a_provider_is_asked_at_the_services_own_setting(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the host to which the data goes is named."""
    provider = PROVIDERS[name]
    monkeypatch.delenv(provider.key, raising=False)
    with serving(replace(provider, key="AGENTSVC_MODEL_KEY", address="AGENTSVC_MODEL_URL")) as it:
        run = it.ask("Hi", Reply(("Tea.",)))
        [warned] = it.events(run, "warning")
        assert (run.output, warned["code"]) == ("Tea.", "leaves_machine")
        assert f"go to {it.server.url}" in warned["message"]


class Gateway(ChatCompletions):
    """Knows chat completions alone."""

    def __init__(self, status: int, document: dict[str, Any]) -> None:
        self.unknown = Refused(status, document)

    def wrong(self, why: str) -> Refused:
        return self.unknown


@pytest.mark.parametrize(
    ("status", "document", "helps"),
    [
        (404, {"detail": "Not Found"}, True),
        (405, {"error": {"message": "Method Not Allowed"}}, True),
        (404, {"error": {"message": "The model `gpt-5.2` does not exist.", "code": "model_not_found"}}, False),
        (404, {"error": {"message": "model 'gpt-5.2' not found"}}, False),
    ],
)
def test_of_a_gateway_without_responses_the_run_says_which_model_it_knows(
    status: int, document: dict[str, Any], helps: bool
) -> None:
    gateway = replace(PROVIDERS["responses"], form=Gateway(status, document))
    with serving(gateway) as it:
        run = it.client.runs.wait(it.start("Hi", Reply(("Tea.",))), poll=0.02, timeout=60)
        assert (run.last_error, it.server.asked) == ("model_refused", [])
        assert ("openai-chat:gpt-5.2 (chat completions)" in str(run.last_error_message)) is helps


def test_a_provider_without_another_address_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "any")
    fault = agents.fault(Settings(tmp_path, model="deepseek:deepseek-chat", model_url=ELSEWHERE))
    assert fault is not None
    assert "leave it out" in fault
