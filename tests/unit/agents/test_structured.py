"""In which form a model is asked for an object: no kind of model refuses it, and no schema is changed on the way."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import NativeOutput, OutputObjectDefinition, ToolOutput

from agentsvc_nb.agents.language.model_choice import ModelChoice
from agentsvc_nb.agents.language.served_models import ServedModel, at_url, by_name
from agentsvc_nb.tools.find_angles import Angles

TEXT = {"type": "string"}
SCHEMAS: dict[str, dict[str, Any]] = {
    "bounds": {"type": "object", "properties": {"a": {"type": "integer", "maximum": 5}}, "required": ["a"]},
    "models": Angles.model_json_schema(),
    "perhaps null": {"type": "object", "properties": {"a": {"anyOf": [TEXT, {"type": "null"}]}}},
    "any names": {"type": "object", "additionalProperties": TEXT},
    "a name without a schema": {"type": "object", "properties": {"a": TEXT}, "required": ["b"]},
    "all of": {"type": "object", "properties": {"a": {"allOf": [TEXT, {"maxLength": 3}]}}},
    "too many": {"type": "object", "properties": {f"p{place}": TEXT for place in range(30)}},
}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "any")


def named(model: str) -> ServedModel:
    return by_name(ModelChoice(model))


def sent(served: ServedModel, asked: NativeOutput[Any], schema: dict[str, Any]) -> OutputObjectDefinition:
    wanted = OutputObjectDefinition(json_schema=schema, name="answer", strict=asked.strict)
    parameters = ModelRequestParameters(output_mode="native", output_object=wanted)
    _, prepared = served.model.prepare_request(None, parameters)
    assert prepared.output_object is not None
    return prepared.output_object


def test_claude_fills_in_a_tool_that_takes_any_schema() -> None:
    for why, schema in SCHEMAS.items():
        asked = named("anthropic:claude-opus-4-6").output_type(schema, has_tools=True)
        assert isinstance(asked, ToolOutput), why
        assert asked.strict is False


@pytest.mark.parametrize("model", ["openai:gpt-5.2", "a server of one's own"])
def test_others_are_given_any_schema_as_it_is(model: str) -> None:
    own = at_url(ModelChoice("openai-chat:x"), "http://127.0.0.1:1/v1", "none")
    served = named(model) if ":" in model else own
    for schema in SCHEMAS.values():
        asked = served.output_type(schema, has_tools=True)
        assert isinstance(asked, NativeOutput)
        assert sent(served, asked, schema).strict is False
