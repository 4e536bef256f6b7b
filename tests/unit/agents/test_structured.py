"""In which form a model is asked for an object: no kind of model refuses it, and no schema is changed on the way."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import NativeOutput, OutputObjectDefinition, ToolOutput

from agentsvc_nb.agents.language.model_choice import ModelChoice
from agentsvc_nb.agents.language.served import Served, at_url, by_name
from agentsvc_nb.agents.language.structured import form
from agentsvc_nb.tools.find_angles import Angles

TEXT = {"type": "string"}
SAME: dict[str, dict[str, Any]] = {
    "bounds": {"type": "object", "properties": {"a": {"type": "integer", "maximum": 5}}, "required": ["a"]},
    "models": Angles.model_json_schema(),
    "perhaps null": {"type": "object", "properties": {"a": {"anyOf": [TEXT, {"type": "null"}]}}},
}
"""A strict grammar has these as they are meant."""
OTHERS: dict[str, dict[str, Any]] = {
    "any names": {"type": "object", "additionalProperties": TEXT},
    "a name without a schema": {"type": "object", "properties": {"a": TEXT}, "required": ["b"]},
    "all of": {"type": "object", "properties": {"a": {"allOf": [TEXT, {"maxLength": 3}]}}},
    "too many": {"type": "object", "properties": {f"p{place}": TEXT for place in range(30)}},
}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "any")


def named(model: str) -> Served:
    return by_name(ModelChoice(model))


def sent(served: Served, asked: NativeOutput[Any], schema: dict[str, Any]) -> OutputObjectDefinition:
    wanted = OutputObjectDefinition(json_schema=schema, name="answer", strict=asked.strict)
    parameters = ModelRequestParameters(output_mode="native", output_object=wanted)
    _, prepared = served.model.prepare_request(None, parameters)
    assert prepared.output_object is not None
    return prepared.output_object


def test_claude_is_given_a_schema_strictly_where_it_stays_the_same() -> None:
    model = "anthropic:claude-opus-4-6"
    for schema in SAME.values():
        asked = form(schema, named(model), tools=True)
        assert isinstance(asked, NativeOutput)
        assert sent(named(model), asked, schema).strict is True
    for why, schema in OTHERS.items():
        assert isinstance(form(schema, named(model), tools=True), ToolOutput), why


@pytest.mark.parametrize("model", ["openai:gpt-5.2", "a server of one's own"])
def test_others_are_given_any_schema_as_it_is(model: str) -> None:
    own = at_url(ModelChoice("openai-chat:x"), "http://127.0.0.1:1/v1", "none")
    served = named(model) if ":" in model else own
    for schema in (SAME | OTHERS).values():
        asked = form(schema, served, tools=True)
        assert isinstance(asked, NativeOutput)
        assert sent(served, asked, schema).strict is False
