"""Five providers' forms: what a run says however its provider answers."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from agentsvc_nb import agents
from agentsvc_nb.agents.language import served
from agentsvc_nb.agents.language.agent import Language
from agentsvc_nb.agents.language.model_choice import ModelChoice
from agentsvc_nb.agents.port import ModelFacts
from agentsvc_nb.settings import Settings
from tests.unit.agents.wires.chat_completions import ChatCompletions
from tests.unit.agents.wires.providers import PROVIDERS
from tests.unit.agents.wires.reply import Refused, Reply
from tests.unit.agents.wires.scenarios import SCENARIOS, play, played
from tests.unit.agents.wires.server import provider_server

TELLING: Final = (
    ("responses", "parallel calls"),
    ("responses", "filtered"),
    ("completions", "cut stream"),
    ("completions", "429 with Retry-After"),
    ("anthropic", "refusal"),
    ("anthropic", "schema"),
    ("anthropic", "silence between events"),
    ("google", "quota used up"),
    ("google", "malformed arguments"),
    ("ollama", "context exceeded"),
)


@pytest.mark.parametrize(("form", "name"), TELLING)
def test_a_run_says_how_it_went(form: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(form, next(each for each in SCENARIOS if each.name == name), tmp_path, monkeypatch)


ELSEWHERE = "https://gateway.example/v1"
SAME: dict[str, tuple[str, str, str]] = {
    "openai": ("openai:gpt-5.2", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
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
    meant = served.by_name(ModelChoice(model))
    url = ELSEWHERE if "chat" in model else None
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
        (404, {"error": {"message": "The model `gpt-5.2` does not exist.", "code": "model_not_found"}}, False),
    ],
)
def test_of_a_gateway_without_responses_the_run_says_which_model_it_knows(
    status: int, document: dict[str, Any], helps: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PROVIDERS, "responses", replace(PROVIDERS["responses"], path=""))
    with provider_server(Gateway(status, document)) as server:
        server.answers(Reply(("Tea.",)))
        _, failure, _ = played("responses", server.url, {}, tmp_path, monkeypatch)
        assert failure is not None
        assert (failure.code, server.asked) == ("model_refused", [])
        assert ("openai-chat:gpt-5.2 (chat completions)" in failure.message) is helps


def test_a_provider_without_another_address_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "any")
    fault = agents.fault(Settings(tmp_path, model="deepseek:deepseek-chat", model_url=ELSEWHERE))
    assert fault is not None
    assert "leave it out" in fault
