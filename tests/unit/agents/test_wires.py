"""Five providers' forms: what a run says however its provider answers, and what the stand-ins refuse as the APIs do."""

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
from tests.unit.agents.wires.anthropic_messages import THOUGHTFUL, signature
from tests.unit.agents.wires.chat_completions import ChatCompletions
from tests.unit.agents.wires.providers import PROVIDERS
from tests.unit.agents.wires.reply import Body, Refused, Reply
from tests.unit.agents.wires.responses import secret
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


ASK: Final = {"role": "user", "content": "How much is tea?"}
CHAT: Final[Body] = {"model": "m", "messages": [ASK], "stream": True, "stream_options": {"include_usage": True}}
RESPONSES: Final[Body] = {
    "model": "m",
    "input": [ASK],
    "stream": True,
    "reasoning": {"effort": "medium", "summary": "auto"},
}
MESSAGES: Final[Body] = {
    "model": "claude-sonnet-4-6",
    "max_tokens": 100,
    "messages": [ASK],
    "stream": True,
    "thinking": {"type": "adaptive"},
}
GENERATE: Final[Body] = {
    "contents": [{"role": "user", "parts": [{"text": "How much is tea?"}]}],
    "generationConfig": {"thinkingConfig": {"includeThoughts": True}},
}
GENERATE_PATH: Final = "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse"
KEY: Final = {"authorization": "Bearer x", "x-api-key": "x", "anthropic-version": "1", "x-goog-api-key": "x"}


REQUESTS: Final[dict[str, tuple[str, Body]]] = {
    "responses": ("/v1/responses", RESPONSES),
    "completions": ("/v1/chat/completions", CHAT),
    "anthropic": ("/v1/messages", MESSAGES),
    "google": (GENERATE_PATH, GENERATE),
    "ollama": ("/v1/chat/completions", CHAT),
}


LOOSE: Final = {"type": "object", "properties": {"a": {"type": "string"}}}
CALL: Final = {"call_id": "c", "name": "x"}
CALLED: Final = {"id": "c", "type": "function", "function": {"name": "x", "arguments": "{}"}}


def named(schema: dict[str, Any], *, strict: bool) -> dict[str, Any]:
    return {"type": "json_schema", "name": "answer", "schema": schema, "strict": strict}


def called_after(reasoning: str, thought: str | None = secret("rs_1")) -> list[Body]:
    """A call with the reasoning that it came with, and its result."""
    call = f"call_2_0_with_{reasoning}"
    return [
        {"type": "reasoning", "id": reasoning, "summary": [], "encrypted_content": thought},
        {"type": "function_call", "id": "fc_2_0", "call_id": call, "name": "x", "arguments": "{}"},
        {"type": "function_call_output", "call_id": call, "output": ""},
    ]


THOUGHT: Final[Body] = {"type": "thinking", "thinking": "So.", "signature": signature("So.")}


def thought_and_called(thought: list[Body]) -> Body:
    """A request to Anthropic with a call that came with thinking, and what is left of that."""
    call = {"type": "tool_use", "id": f"toolu_1_0{THOUGHTFUL}", "name": "x", "input": {}}
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": ""}
    messages = [ASK, {"role": "assistant", "content": [*thought, call]}, {"role": "user", "content": [result]}]
    return {"thinking": {"type": "adaptive"}, "messages": messages}


def test_what_came_with_a_call_is_taken_back() -> None:
    for form, change in (
        ("responses", {"input": called_after("rs_1")}),
        ("responses", {"input": called_after("rs_1", thought=None)}),
        ("anthropic", thought_and_called([THOUGHT])),
        ("anthropic", thought_and_called([]) | {"thinking": {"type": "disabled"}}),
    ):
        speaks, path, asked = PROVIDERS[form].form, *REQUESTS[form]
        assert speaks.complaint(path, KEY, asked | change) is None


@pytest.mark.parametrize(
    ("form", "change", "said"),
    [
        (
            "responses",
            {"input": [{"type": "function_call", "call_id": "c", "name": "x", "arguments": ""}]},
            "No tool output",
        ),
        (
            "responses",
            {"input": [{"type": "function_call_output", "call_id": "c", "output": ""}]},
            "No tool call found",
        ),
        ("responses", {"input": [{"type": "reasoning", "id": "r", "summary": []}]}, "without its required following"),
        ("responses", {"input": [*called_after("rs_1")[1:]]}, "without its required 'reasoning' item: 'rs_1'"),
        ("responses", {"input": called_after("rs_1", thought="b3RoZXI=")}, "could not be verified"),
        ("responses", {"input": called_after("rs_1", thought=None), "store": False}, "Item with id 'rs_1' not found"),
        ("responses", {"text": {"format": named(LOOSE, strict=True)}}, "additionalProperties"),
        ("responses", {"text": {"format": named({"type": "array"}, strict=False)}}, "must be a JSON Schema of"),
        ("responses", {"stop": ["x"]}, "stop"),
        ("completions", {"messages": [{"role": "assistant", "tool_calls": [CALLED]}]}, "must be followed by"),
        ("completions", {"messages": [{"role": "tool", "tool_call_id": "c", "content": ""}]}, "preceding message"),
        ("completions", {"messages": [{"role": "user", "content": "x", "more": 1}]}, "more"),
        ("completions", {"input": []}, "input"),
        ("anthropic", {"messages": [ASK, {"role": "assistant", "content": "So"}]}, "prefill"),
        ("anthropic", {"messages": [{"role": "assistant", "content": "So"}, ASK]}, "first message"),
        ("anthropic", {"thinking": {"type": "enabled", "budget_tokens": 2000}}, "budget_tokens"),
        ("anthropic", thought_and_called([]), "Expected `thinking` or `redacted_thinking`, but found `tool_use`"),
        (
            "anthropic",
            thought_and_called([THOUGHT | {"thinking": "Other."}]),
            "Invalid `signature`",
        ),
        ("anthropic", thought_and_called([THOUGHT | {"signature": ""}]), "Invalid `signature`"),
        ("anthropic", {"tool_choice": {"type": "any"}}, "forces tool use"),
        ("anthropic", {"messages": [{"role": "user", "content": [{"type": "text", "text": "x", "more": 1}]}]}, "more"),
        ("google", {"contents": []}, "contents is not specified"),
        (
            "google",
            {
                "contents": [
                    {"role": "user", "parts": []},
                    {"role": "model", "parts": [{"functionCall": {"name": "x"}}]},
                ]
            },
            "number of function response parts",
        ),
        ("google", {"generationConfig": {"responseJsonSchema": LOOSE}}, "response_mime_type"),
        ("google", {"generationConfig": {"maxTokens": 1}}, "maxTokens"),
        ("ollama", {"messages": [{"role": "user", "content": "x", "images": ["x"]}]}, "images"),
    ],
)
def test_what_a_provider_refuses_is_refused(form: str, change: Body, said: str) -> None:
    speaks, path, asked = PROVIDERS[form].form, *REQUESTS[form]
    why = speaks.complaint(path, KEY, asked | change)
    assert why is not None
    assert said in why
    answered = speaks.wrong(why)
    assert answered.status == 400
    assert answered.document["error"]["message"] == why


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
