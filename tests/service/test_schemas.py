"""`output_config`: what is accepted, and whether an answer fits (contract §2)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsvc_nb.service.rules import schemas

OBJECT: dict[str, Any] = {"type": "object"}


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
    assert schemas.fault(config) is None


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
    ],
)
def test_a_rule_violation_is_named(config: object, says: str) -> None:
    assert says in (schemas.fault(config) or "")


def test_a_schema_nested_beyond_reason_is_refused() -> None:
    config: dict[str, Any] = {"type": "string"}
    for _ in range(100):
        config = {"type": "object", "properties": {"a": config}}
    assert "deeply" in (schemas.fault(config) or "")
    assert schemas.as_object('{"a":' * 100_000) is None


@pytest.mark.parametrize(
    ("text", "fits"),
    [('{"score": 4}', True), ('{"score": 9}', False), ("{}", False), ("not JSON", False), ("[4]", False)],
)
def test_an_answer_is_checked_by_its_values(text: str, fits: bool) -> None:
    config = {"type": "object", "properties": {"score": {"type": "integer", "maximum": 5}}, "required": ["score"]}
    assert (schemas.misfit(text, config) is None) == fits


@given(st.text())
def test_any_text_is_an_object_or_none(text: str) -> None:
    value = schemas.as_object(text)
    assert value is None or isinstance(value, dict)


def test_only_a_json_object_is_structured_output() -> None:
    assert schemas.as_object(' {"a": 1}') == {"a": 1}
    assert schemas.as_object("[1]") is None
    assert schemas.as_object("{broken") is None


def _doubling(depth: int) -> dict[str, Any]:
    """A schema whose references, written out, are 2 ** depth schemas."""
    twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(depth)}
    return {**OBJECT, "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {**twice, f"d{depth}": {"type": "null"}}}


@pytest.mark.parametrize(
    ("config", "quick"),
    [
        (OBJECT, True),
        ({**OBJECT, "properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"type": "null"}}}, True),
        ({**OBJECT, "properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"pattern": "(a+)+$"}}}, False),
        ({**OBJECT, "properties": {"a": {"$ref": "#/other"}}, "other": {"pattern": "(a+)+$"}}, False),
        ({**OBJECT, "properties": {"a": {"$ref": "#n"}}, "$defs": {"b": {"$anchor": "n", "type": "null"}}}, False),
        ({**OBJECT, "properties": {"a": {"$id": "https://example.com/x", "type": "null"}}}, False),
        (_doubling(4), True),
        (_doubling(30), False),
    ],
)
def test_a_schema_that_may_take_long_is_known(config: dict[str, Any], quick: bool) -> None:
    assert schemas.is_quick(config) is quick
