"""The stand-in for Claude speaks as Anthropic's SDK understands it, refuses what the API refuses, and runs alone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import jsonschema
import pytest
from anthropic.types import Message, RawMessageStreamEvent
from anthropic.types.beta import BetaRawMessageStreamEvent
from anthropic.types.shared import ErrorResponse
from pydantic import BaseModel, TypeAdapter

from agentsvc_nb import AgentService
from agentsvc_nb.testing import running_service
from agentsvc_nb.tools.find_angles import Angles
from agentsvc_nb.tools.support.copy_facts import Judgement
from tests.unit.agents.improvising import made
from tests.unit.agents.messages import Body, Reply, events
from tests.unit.agents.messages_server import MessagesServer, messages_server

ROOT = Path(__file__).parents[3]
SCORE = {
    "type": "object",
    "properties": {"score": {"type": "integer"}},
    "required": ["score"],
    "additionalProperties": False,
}
FORM = {"name": "final_result", "input_schema": SCORE}
REPLIES = {
    "text": Reply(("Tea is ", "$4.50.")),
    "calls": Reply(("Let me see.",), calls=(("list_files", {}), ("read_file", {"path": "a.txt"}))),
    "an object": Reply(answer={"score": 4}),
    "a refusal": Reply(("Once",), reason="refusal", refusal="This is about a weapon."),
    "cut": Reply(("Once",), reason="max_tokens"),
    "broken off": Reply(("Once",), reason=None),
    "an error": Reply(("Once",), error="overloaded_error"),
    "nothing": Reply(),
}


def body(**more: Any) -> Body:
    return {
        "model": "claude-haiku-4-5",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "How much is tea?"}],
        **more,
    }


def schema_form(schema: dict[str, Any]) -> dict[str, Any]:
    return {"format": {"type": "json_schema", "schema": schema}}


@pytest.fixture(scope="module")
def server() -> Iterator[MessagesServer]:
    with messages_server() as server:
        yield server


@pytest.fixture
def sdk(server: MessagesServer) -> Iterator[anthropic.Anthropic]:
    server.answers()
    with anthropic.Anthropic(api_key="any", base_url=server.url, max_retries=0) as sdk:
        yield sdk


def names_nothing_unknown(found: BaseModel) -> bool:
    fields = [getattr(found, name) for name in type(found).model_fields]
    models = [each for field in fields for each in (field if isinstance(field, list) else [field])]
    return not found.model_extra and all(names_nothing_unknown(each) for each in models if isinstance(each, BaseModel))


@pytest.mark.parametrize("asked", [body(), body(output_config=schema_form(SCORE)), body(tools=[FORM])])
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_each_event_is_one_of_the_sdks_own(reply: Reply, asked: Body) -> None:
    plain: TypeAdapter[RawMessageStreamEvent] = TypeAdapter(RawMessageStreamEvent)
    beta: TypeAdapter[BetaRawMessageStreamEvent] = TypeAdapter(BetaRawMessageStreamEvent)
    for event in events(reply, asked):
        if event["type"] == "error":
            assert names_nothing_unknown(ErrorResponse.model_validate(event))
            continue
        for adapter in (plain, beta):
            found: BaseModel = adapter.validate_json(json.dumps(event))
            assert names_nothing_unknown(found)


def test_the_sdk_puts_a_stream_together(server: MessagesServer, sdk: anthropic.Anthropic) -> None:
    server.answers(REPLIES["calls"])
    with sdk.messages.stream(**body()) as stream:
        streamed = stream.get_final_message()
    assert [block.type for block in streamed.content] == ["text", "tool_use", "tool_use"]
    assert (streamed.stop_reason, streamed.content[2].input) == ("tool_use", {"path": "a.txt"})  # type: ignore[union-attr]
    at_once: Message = sdk.messages.create(**body())
    shown = {"type", "text", "id", "name", "input"}
    assert at_once.model_dump(include={"content": {"__all__": shown}}) == streamed.model_dump(
        include={"content": {"__all__": shown}}
    )


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (body(output_config=schema_form({"type": "object", "properties": {}})), "additionalProperties"),
        (body(output_config=schema_form(SCORE | {"properties": {"a": {"type": "integer", "maximum": 5}}})), "maximum"),
        (body(model="claude-of-old", output_config=schema_form(SCORE)), "not supported on"),
        (body(model="claude-opus-5-5", tools=[FORM], tool_choice={"type": "any"}), "forced tool use"),
        (body(tools=[{"name": "x", "input_schema": {"type": "object", "anyOf": []}}]), "input_schema"),
        (body(messages=[{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x"}]}]), "tool_result"),
    ],
)
def test_what_the_api_refuses_is_refused(sdk: anthropic.Anthropic, asked: Body, said: str) -> None:
    with pytest.raises(anthropic.BadRequestError, match=said):
        sdk.messages.create(**asked)


@pytest.mark.parametrize(
    "schema",
    [
        SCORE,
        Angles.model_json_schema(),
        Judgement.model_json_schema(),
        {"type": "object", "properties": {"n": {"type": "number", "minimum": 7, "exclusiveMaximum": 9}}},
        {"type": "object", "properties": {"t": {"type": "string", "minLength": 100, "maxLength": 120}}},
        {
            "type": "object",
            "properties": {"t": {"type": ["string", "null"]}, "d": {"type": "string", "format": "date"}},
        },
        {"type": "object", "properties": {"a": {"type": "array", "items": {"const": 1}, "minItems": 3}}},
        {"type": "object", "additionalProperties": {"type": "boolean"}, "minProperties": 1},
        {"type": "object", "properties": {"x": {"oneOf": [{"type": "null"}, {"type": "string"}]}}},
    ],
)
def test_an_object_is_made_that_fits(schema: dict[str, Any]) -> None:
    found = made(schema)
    jsonschema.Draft202012Validator(schema).validate(found)
    assert found.keys() >= schema.get("properties", {}).keys()


def test_alone_it_prints_its_address_and_improvises(monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-m", "tests.unit.agents.messages_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as alone:
        try:
            assert alone.stdout is not None
            monkeypatch.setenv("ANTHROPIC_BASE_URL", alone.stdout.readline().strip())
            monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
            with running_service("anthropic:claude-haiku-4-5") as service:
                check_improvised(AgentService(service.api_key, service.base_url))
        finally:
            alone.kill()


def check_improvised(client: AgentService) -> None:
    with client:

        def ask(message: str, **options: Any) -> Any:
            return client.runs.wait(client.runs.start(message, **options).run_id, poll=0.05, timeout=60)

        told = ask("How are sales?")
        assert "$61,300" in told.output
        read = ask("Please read notes.txt.", files=[("notes.txt", b"The code is 4711.")], chat=told.chat)
        assert "The code is 4711." in read.output
        assert [event.payload["tool"] for event in client.runs.iterate_events(read.run_id) if event.type == "tool.call"]
        scored = ask("Score it.", output_config=SCORE | {"properties": {"score": {"type": "integer", "minimum": 80}}})
        assert scored.structured_output["score"] >= 80
