"""The stand-ins for providers speak as the providers' own SDKs understand them, and refuse what the APIs refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import anthropic
import ollama
import openai
import pytest
from anthropic.types import RawMessageStreamEvent
from anthropic.types.shared import ErrorResponse
from google import genai
from google.genai import types as google_types
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent
from openai.types.shared import ErrorObject
from pydantic import TypeAdapter

from tests.unit.agents.messages import THOUGHTFUL, signature
from tests.unit.agents.wires.anthropic_messages import AnthropicMessages
from tests.unit.agents.wires.chat_completions import ChatCompletions
from tests.unit.agents.wires.google_generate import GoogleGenerate
from tests.unit.agents.wires.ollama_chat import DONE, OllamaChat, native_events
from tests.unit.agents.wires.reply import REFUSAL, Body, Event, Form, Reply
from tests.unit.agents.wires.responses import Responses, secret
from tests.unit.agents.wires.server import ProviderServer, provider_server
from tests.unit.agents.wires.strict import unknown

FULL: Final = Reply(
    ("Let me ", "see."),
    thinking=("Which ", "file?"),
    calls=(("list_files", "{}"), ("read_file", '{"path": "a.txt"}')),
)
REPLIES: Final = {
    "text": Reply(("Tea is ", "$4.50.")),
    "all": FULL,
    "cut": Reply(("Once",), end="length"),
    "filtered": Reply(("Once",), end="filtered"),
    "refused": Reply(("Once",), end="refused"),
    "lost": Reply(("Once",), end="lost"),
    "overloaded": Reply(("Once",), end="overloaded"),
    "nothing": Reply(),
}
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


def of_openai(event: Event, type_: Any) -> list[str]:
    return unknown(TypeAdapter(ErrorObject), event["error"]) if "error" in event else unknown(TypeAdapter(type_), event)


def of_responses(event: Event) -> list[str]:
    return of_openai(event, ResponseStreamEvent)


def of_chat(event: Event) -> list[str]:
    return of_openai(event, ChatCompletionChunk)


def of_anthropic(event: Event) -> list[str]:
    return unknown(TypeAdapter(ErrorResponse if event["type"] == "error" else RawMessageStreamEvent), event)


def of_google(event: Event) -> list[str]:
    if "error" in event:
        assert genai.errors.APIError(event["error"]["code"], event).status == event["error"]["status"]
        return []
    return unknown(TypeAdapter(google_types.GenerateContentResponse), event)


def of_ollama(event: Event) -> list[str]:
    """Of chat completions' fields Ollama has one of its own: `reasoning`."""
    return [] if event == DONE else [name for name in of_chat(event) if name != ".choices.0.delta.reasoning"]


FORMS: Final[dict[str, tuple[Form, str, Body, Callable[[Event], list[str]]]]] = {
    "responses": (Responses(), "/v1/responses", RESPONSES, of_responses),
    "chat completions": (ChatCompletions(), "/v1/chat/completions", CHAT, of_chat),
    "messages": (AnthropicMessages(), "/v1/messages", MESSAGES, of_anthropic),
    "generateContent": (GoogleGenerate(), GENERATE_PATH, GENERATE, of_google),
    "ollama": (OllamaChat(), "/v1/chat/completions", CHAT, of_ollama),
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
@pytest.mark.parametrize("form", FORMS)
def test_each_event_is_one_of_the_sdks_own(form: str, reply: Reply) -> None:
    speaks, path, asked, unknown_fields = FORMS[form]
    if form == "ollama" and reply.end in ("filtered", "refused"):
        with pytest.raises(KeyError):
            list(speaks.events(reply, path, asked))
        return
    assert speaks.complaint(path, KEY, asked) is None
    for event in speaks.events(reply, path, asked):
        assert unknown_fields(event) == []


@pytest.mark.parametrize("reply", [REPLIES["text"], FULL, REPLIES["cut"]])
def test_ollamas_own_events_are_its_sdks(reply: Reply) -> None:
    for event in native_events(reply, CHAT):
        assert unknown(TypeAdapter(ollama.ChatResponse), event) == []


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[ProviderServer]:
    with provider_server(FORMS[request.param][0]) as server:
        yield server


def served_by(form: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("server", [form], indirect=True)


@served_by("responses")
def test_openais_client_reads_a_whole_stream_of_responses(server: ProviderServer) -> None:
    server.answers(FULL)
    with openai.OpenAI(api_key="x", base_url=f"{server.url}/v1", max_retries=0) as sdk:
        with sdk.responses.stream(model="m", input="Tea?", reasoning={"summary": "auto"}) as stream:
            found = stream.get_final_response()
        assert [item.type for item in found.output] == ["reasoning", "message", "function_call", "function_call"]
        assert (found.output_text, found.output[3].arguments) == ("Let me see.", '{"path": "a.txt"}')  # type: ignore[union-attr]
        server.answers(REPLIES["refused"])
        with sdk.responses.stream(model="m", input="Tea?") as stream:
            assert REFUSAL in stream.get_final_response().model_dump_json()
    assert server.refused == []


@served_by("chat completions")
def test_openais_client_reads_a_whole_stream_of_chat_completions(server: ProviderServer) -> None:
    server.answers(FULL)
    with (
        openai.OpenAI(api_key="x", base_url=f"{server.url}/v1", max_retries=0) as sdk,
        sdk.chat.completions.stream(model="m", messages=[{"role": "user", "content": "Tea?"}]) as stream,
    ):
        choice = stream.get_final_completion().choices[0]
    assert (choice.message.content, choice.finish_reason) == ("Let me see.", "tool_calls")
    assert [call.function.arguments for call in choice.message.tool_calls or []] == ["{}", '{"path": "a.txt"}']


@served_by("messages")
def test_anthropics_client_reads_a_whole_stream(server: ProviderServer) -> None:
    server.answers(FULL)
    asked = {name: value for name, value in MESSAGES.items() if name != "stream"}
    with (
        anthropic.Anthropic(api_key="x", base_url=server.url, max_retries=0) as sdk,
        sdk.messages.stream(**asked) as stream,
    ):
        found = stream.get_final_message()
    assert [block.type for block in found.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert (found.stop_reason, found.content[3].input) == ("tool_use", {"path": "a.txt"})  # type: ignore[union-attr]


@served_by("generateContent")
def test_googles_client_reads_a_whole_stream(server: ProviderServer) -> None:
    server.answers(FULL)
    options = google_types.HttpOptions(base_url=server.url)
    config = google_types.GenerateContentConfig(
        thinking_config=google_types.ThinkingConfig(include_thoughts=True),
        automatic_function_calling=google_types.AutomaticFunctionCallingConfig(disable=True),
    )
    with genai.Client(api_key="x", http_options=options) as sdk:
        chunks = list(sdk.models.generate_content_stream(model="gemini-3.8-flash", contents="Tea?", config=config))
    parts = [part for chunk in chunks for part in (chunk.candidates or [])[0].content.parts or []]  # type: ignore[union-attr]
    assert "".join(part.text or "" for part in parts if part.thought) == "Which file?"
    assert "".join(part.text or "" for part in parts if not part.thought) == "Let me see."
    assert [part.function_call.args for part in parts if part.function_call] == [{}, {"path": "a.txt"}]


@served_by("ollama")
def test_ollamas_client_reads_a_whole_stream_of_its_own_form(server: ProviderServer) -> None:
    server.answers(FULL)
    sdk = ollama.Client(server.url)
    found = list(sdk.chat("qwen3", [{"role": "user", "content": "Tea?"}], stream=True, think=True))
    sdk._client.close()
    assert "".join(each.message.thinking or "" for each in found) == "Which file?"
    assert "".join(each.message.content or "" for each in found) == "Let me see."
    calls = [call.function for each in found for call in each.message.tool_calls or []]
    assert [(call.name, call.arguments) for call in calls] == [("list_files", {}), ("read_file", {"path": "a.txt"})]
    assert (found[-1].done, found[-1].done_reason, found[-1].prompt_eval_count) == (True, "stop", 100)


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
        ("messages", thought_and_called([THOUGHT])),
        ("messages", thought_and_called([]) | {"thinking": {"type": "disabled"}}),
    ):
        speaks, path, asked, _ = FORMS[form]
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
        ("chat completions", {"messages": [{"role": "assistant", "tool_calls": [CALLED]}]}, "must be followed by"),
        ("chat completions", {"messages": [{"role": "tool", "tool_call_id": "c", "content": ""}]}, "preceding message"),
        ("chat completions", {"messages": [{"role": "user", "content": "x", "more": 1}]}, "more"),
        ("chat completions", {"input": []}, "input"),
        ("messages", {"messages": [ASK, {"role": "assistant", "content": "So"}]}, "prefill"),
        ("messages", {"messages": [{"role": "assistant", "content": "So"}, ASK]}, "first message"),
        ("messages", {"thinking": {"type": "enabled", "budget_tokens": 2000}}, "budget_tokens"),
        ("messages", thought_and_called([]), "Expected `thinking` or `redacted_thinking`, but found `tool_use`"),
        ("messages", thought_and_called([THOUGHT | {"thinking": "Other."}]), "Invalid `signature` in `thinking` block"),
        ("messages", thought_and_called([THOUGHT | {"signature": ""}]), "Invalid `signature` in `thinking` block"),
        ("messages", {"tool_choice": {"type": "any"}}, "forces tool use"),
        ("messages", {"messages": [{"role": "user", "content": [{"type": "text", "text": "x", "more": 1}]}]}, "more"),
        ("generateContent", {"contents": []}, "contents is not specified"),
        (
            "generateContent",
            {
                "contents": [
                    {"role": "user", "parts": []},
                    {"role": "model", "parts": [{"functionCall": {"name": "x"}}]},
                ]
            },
            "number of function response parts",
        ),
        ("generateContent", {"generationConfig": {"responseJsonSchema": LOOSE}}, "response_mime_type"),
        ("generateContent", {"generationConfig": {"maxTokens": 1}}, "maxTokens"),
        ("ollama", {"messages": [{"role": "user", "content": "x", "images": ["x"]}]}, "images"),
    ],
)
def test_what_a_provider_refuses_is_refused(form: str, change: Body, said: str) -> None:
    speaks, path, asked, _ = FORMS[form]
    why = speaks.complaint(path, KEY, asked | change)
    assert why is not None
    assert said in why
    answered = speaks.wrong(why)
    assert answered.status == 400
    assert answered.document["error"]["message"] == why


def test_an_older_gemini_takes_a_schema_or_tools() -> None:
    speaks, path, asked, _ = FORMS["generateContent"]
    both = {
        "tools": [{"functionDeclarations": [{"name": "x"}]}],
        "generationConfig": {"responseMimeType": "application/json"},
    }
    assert speaks.complaint(path, KEY, asked | both) is None
    assert "unsupported" in (speaks.complaint(path.replace("3.8", "2.5"), KEY, asked | both) or "")
