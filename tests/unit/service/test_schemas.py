"""`output_config`: what is accepted, and whether an answer fits (docs/api/runs.md "Structured output")."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agentsvc_nb.documents import schemas as schemas_module
from agentsvc_nb.documents.child_process import NoChild
from agentsvc_nb.documents.schemas import BadSchema, SchemaValidator, form_errors, misfit

OBJECT: dict[str, Any] = {"type": "object"}
LONG = "a" * 100_000 + "!"
DOUBLING = {str(n): {"allOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(30)} | {"30": {}}
RECURSIVE = {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}


def fault(schemas: SchemaValidator, config: object) -> str | None:
    return asyncio.run(schemas.fault(config))


@pytest.mark.parametrize(
    "config",
    [
        OBJECT,
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/word"}}, "$defs": {"word": {"type": "string"}}},
        {"type": "object", "properties": {"$ref": {"type": "string"}}},
        {"type": "object", "properties": {"a": {"const": {"$ref": "https://example.com"}}}},
        {"type": "object", "properties": {"a": {"$ref": "#n"}}, "$defs": {"b": {"$anchor": "n", "type": "null"}}},
        {"type": "object", "$defs": {"a~b/c": {"type": "null"}}, "properties": {"x": {"$ref": "#/$defs/a~0b~1c"}}},
    ],
)
def test_a_plain_schema_is_accepted(schemas: SchemaValidator, config: dict[str, Any]) -> None:
    assert fault(schemas, config) is None


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ([], "object"),
        ({"type": "array"}, "root"),
        ({"type": "object", "properties": {"a": {"pattern": "("}}}, "regex"),
        ({"type": "object", "properties": 5}, "not a valid JSON Schema"),
        ({"type": "object", "properties": {"a": {"type": "strange"}}}, "$.properties.a.type"),
        ({"type": "object", "description": "x" * 70_000}, "64 KB"),
        ({"type": "object", "properties": {"a": {"$ref": "https://example.com/x"}}}, "remote"),
        ({"type": "object", "$defs": {"a": {"$ref": "file:///etc/passwd"}}}, "remote"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}, "nowhere"),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}}, "recursive"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": RECURSIVE}, "recursive"),
        ({"type": "object", "properties": {"a": {"$dynamicRef": "#a"}}}, "dynamic"),
        ({"type": "object", "$ref": "#/$defs/0", "$defs": DOUBLING}, "takes too long"),
    ],
)
def test_a_rule_violation_is_named(
    schemas: SchemaValidator, monkeypatch: pytest.MonkeyPatch, config: object, says: str
) -> None:
    if says == "takes too long":
        monkeypatch.setattr(schemas_module, "CHECK_SECONDS", 0.5)
    assert says in (fault(schemas, config) or "")


def test_a_schema_that_waits_too_long_for_others_is_refused_for_now(
    schemas: SchemaValidator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schemas_module, "QUEUE_SECONDS", 0.0)
    monkeypatch.setattr(schemas_module, "CHECK_SECONDS", 0.0)
    with pytest.raises(NoChild):
        fault(schemas, {"type": "object", "title": "too late"})


def test_the_verdict_is_that_of_the_reference_implementation(schemas: SchemaValidator) -> None:
    config: dict[str, Any] = {
        "type": "object",
        "properties": {
            "score": {"type": "integer", "maximum": 5},
            "date": {"format": "date"},
            "tags": {"items": {"$ref": "#/$defs/tag"}, "uniqueItems": True},
            "name": {"pattern": "^(?!x)[a-z]+$"},
            "part": {"oneOf": [{"type": "number"}, {"multipleOf": 0.5}]},
        },
        "required": ["score"],
        "$defs": {"tag": {"enum": ["a", 1, None]}},
    }
    reference = Draft202012Validator(config)
    given: list[Any] = [{"score": score} for score in (4, 9, 5.0, 4.5, True, "4", 2**70, None)]
    given += [{"score": 1, "tags": tags} for tags in ([], ["a", 1], [1, 1.0], ["b"], [True], "a")]
    given += [{"score": 1, "name": name} for name in ("ab", "xa", "", 3)]
    given += [{}, [4], {"score": 1, "date": "never"}, {"score": 1, "part": 1}, {"score": 1, "part": "x"}]
    assert [misfit(json.dumps(value), config) is None for value in given] == [
        reference.is_valid(value) for value in given
    ]
    for text in ('{"score": 4}', '{"score": 9}', "not JSON"):
        assert asyncio.run(schemas.misfit(text, config)) == misfit(text, config)
    assert misfit("not JSON", config)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"properties": {"a": {"$ref": "#/$defs/0"}}, "$defs": DOUBLING}, 1),
        ({"properties": {"a": {"not": {"pattern": r"(a+)\1+b"}}}}, LONG),  # a search that is given up is no misfit
    ],
    ids=["references", "not"],
)
def test_an_answer_that_takes_too_long_to_check_does_not_fit(
    schemas: SchemaValidator, monkeypatch: pytest.MonkeyPatch, schema: dict[str, Any], value: Any
) -> None:
    monkeypatch.setattr(schemas_module, "CHECK_SECONDS", 0.5)
    assert "takes too long" in str(asyncio.run(schemas.misfit(json.dumps({"a": value}), schema)))
    assert asyncio.run(schemas.misfit("{}", OBJECT)) is None


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("(a+)+$", LONG), ("^.{1,500}$", "a" * 501), ("^(?=.*[A-Z])(?=.*[0-9]).{8,}$", "lower case only")],
)
def test_a_pattern_that_backtracks_for_ever_elsewhere_is_searched_for(pattern: str, text: str) -> None:
    assert f'does not match "{pattern}"' in str(
        misfit(json.dumps({"a": text}), {"properties": {"a": {"pattern": pattern}}})
    )


@pytest.mark.parametrize(
    ("schema", "value", "says"),
    [
        ({"properties": {"a": {"items": {"maximum": 3}}}}, [1, 9], "$.a[1]: 9 is greater than the maximum of 3"),
        ({"required": ["b"]}, 1, '$: "b" is a required property'),
        ({"properties": {"a": {"maxLength": 3}}}, "x" * 9_999, f'$.a: "{"x" * 60}…" is longer than 3 characters'),
        ({"properties": {"a": {"pattern": "^a$"}}}, "b\x1b[31m", '$.a: "b\\u001b[31m" does not match "^a$"'),
    ],
)
def test_a_misfit_is_a_place_and_a_short_reason(schema: dict[str, Any], value: Any, says: str) -> None:
    assert misfit(json.dumps({"a": value}), schema) == says


def test_a_form_that_takes_too_long_to_check_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = {"properties": {"a": {"$ref": "#/$defs/0"}}, "$defs": DOUBLING | {"30": False}}
    assert form_errors(schema, {"b": 1}) == []
    monkeypatch.setattr(schemas_module, "FORM_SECONDS", 0.5)
    with pytest.raises(BadSchema, match="takes too long"):
        form_errors(schema, {"a": 1})
