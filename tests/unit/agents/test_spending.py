"""What the rest of a run's limit pays."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from agentsvc_nb.agents.language import served_models
from agentsvc_nb.agents.language.agent import Language
from agentsvc_nb.agents.language.model_choice import ModelChoice
from agentsvc_nb.wire.runs import CENT
from tests.unit.agents.wires.anthropic_messages import AnthropicMessages
from tests.unit.agents.wires.reply import INPUT_TOKENS, OUTPUT_TOKENS, Body, Event, Reply
from tests.unit.agents.wires.server import provider_server


@pytest.mark.parametrize(
    "model", ["anthropic:claude-sonnet-4-6", "openai:gpt-5.2", "google:gemini-3.8-flash", "openai:gpt-4o"]
)
def test_the_rest_of_a_limit_buys_what_it_pays_and_no_more(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(variable, "any")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    for price in (None, (0.0, 0.0), (15.5, 99.9), (1_500.0, 7_500.0)):
        found = served_models.by_name(ModelChoice(model, price=price))
        for asked in (0, 1, 999, 50_000, 201_000, 900_000):
            for room in (0, 10, CENT // 3, CENT, 50 * CENT, 10_000 * CENT):
                answer = found.affordable_answer(asked, 32_000, room)
                cost = found.most_cost(asked, answer)
                assert 0 <= answer <= 32_000
                assert cost <= max(room, found.most_cost(asked, 0))
                more = found.most_cost(asked, answer + 2)
                assert answer == 32_000 or more > room
                cached = found.cost_of_tokens(asked, answer, cache_write=asked)
                assert cost == max(cached, found.cost_of_tokens(asked, answer))


class AnotherName(AnthropicMessages):
    """Answers by a name that has no published price, as gateways do."""

    def events(self, reply: Reply, path: str, body: Body) -> Iterator[Event]:
        return super().events(reply, path, body | {"model": "house-model"})


def test_a_trial_costs_the_price_of_the_model_that_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with provider_server(AnotherName()) as provider:
        provider.answers(Reply(("Blue",)))
        monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
        choice = ModelChoice("anthropic:claude-sonnet-4-6")
        cost = asyncio.run(Language(choice).try_out()).microcents
    assert cost == served_models.by_name(choice).cost_of_tokens(INPUT_TOKENS, OUTPUT_TOKENS) > 0
