"""`output_config`: what is accepted, and whether an answer fits (docs/api/runs.md "Structured output")."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsvc_nb.documents.schemas import output

OBJECT: dict[str, Any] = {"type": "object"}
DOUBLING = {str(n): {"allOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(30)} | {"30": {}}


@pytest.mark.parametrize(
    "config",
    [
        OBJECT,
        {"type": "object", "properties": {"score": {"type": "integer", "maximum": 5}}, "required": ["score"]},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/word"}}, "$defs": {"word": {"type": "string"}}},
        {"type": "object", "properties": {"$ref": {"type": "string"}}},
        {"type": "object", "properties": {"a": {"const": {"$ref": "https://example.com"}}}},
        {"type": "object", "properties": {"a": {"$ref": "#n"}}, "$defs": {"b": {"$anchor": "n", "type": "null"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/%24defs/b"}}, "$defs": {"b": {"type": "null"}}},
        {"type": "object", "$defs": {"a~b/c": {"type": "null"}}, "properties": {"x": {"$ref": "#/$defs/a~0b~1c"}}},
    ],
)
def test_a_plain_schema_is_accepted(config: dict[str, Any]) -> None:
    assert output.fault(config) is None


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ([], "object"),
        ({}, "root"),
        ({"type": "array"}, "root"),
        ({"type": "object", "properties": {"a": {"pattern": "("}}}, "regex"),
        ({"type": "object", "patternProperties": {"*": {}}}, "regex"),
        ({"type": "object", "properties": {"a": {"pattern": "a{99999999999}"}}}, "not a valid JSON Schema"),
        ({"type": "object", "properties": 5}, "not a valid JSON Schema"),
        ({"type": "object", "description": "x" * 70_000}, "64 KB"),
        ({"type": "object", "properties": {"a": {"$ref": "https://example.com/x"}}}, "remote"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}, "nowhere"),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}}, "recursive"),
        (
            {
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/a"}},
                "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}},
            },
            "recursive",
        ),
        ({"type": "object", "properties": {"a": {"$dynamicRef": "#a"}}}, "dynamic"),
        ({"type": "object", "$defs": {"a": {"$ref": "file:///etc/passwd"}}}, "remote"),
        ({"type": "object", "$ref": "#/$defs/0", "$defs": DOUBLING}, "written out"),
        ({"type": "object", "patternProperties": {"^(?!a)": {}}}, "patternProperties"),
        ({"type": "object", "properties": {"a": {"type": "strange"}}}, "$.properties.a.type"),
    ],
)
def test_a_rule_violation_is_named(config: object, says: str) -> None:
    assert says in (output.fault(config) or "")


def test_a_schema_nested_beyond_reason_is_refused() -> None:
    config: dict[str, Any] = {"type": "string"}
    for _ in range(100):
        config = {"type": "object", "properties": {"a": config}}
    assert "deeply" in (output.fault(config) or "")
    assert output.as_object('{"a":' * 100_000) is None


@pytest.mark.parametrize(
    ("text", "fits"),
    [('{"score": 4}', True), ('{"score": 9}', False), ("{}", False), ("not JSON", False), ("[4]", False)],
)
def test_an_answer_is_checked_by_its_values(text: str, fits: bool) -> None:
    config = {"type": "object", "properties": {"score": {"type": "integer", "maximum": 5}}, "required": ["score"]}
    assert (output.misfit(text, config) is None) == fits


@given(st.text())
def test_any_text_is_an_object_or_none(text: str) -> None:
    value = output.as_object(text)
    assert value is None or isinstance(value, dict)


def test_only_a_json_object_is_structured_output() -> None:
    assert output.as_object(' {"a": 1}') == {"a": 1}
    assert output.as_object("[1]") is None
    assert output.as_object("{broken") is None
