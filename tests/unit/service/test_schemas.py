"""`output_config`: what is accepted, and whether an answer fits (docs/api/runs.md "Structured output")."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agentsvc_nb.documents import schemas as schemas_module
from agentsvc_nb.documents.schemas import SchemaValidator, misfit

OBJECT: dict[str, Any] = {"type": "object"}
LONG = "a" * 100_000 + "!"
DOUBLING = {str(n): {"allOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(30)} | {"30": {}}
RECURSIVE = {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}


def fault(schemas: SchemaValidator, config: object) -> str | None:
    return asyncio.run(schemas.fault(config))


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ([], "object"),
        ({"type": "array"}, "root"),
        ({"type": "object", "properties": {"a": {"pattern": "("}}}, "regex"),
        ({"type": "object", "properties": {"a": {"type": "strange"}}}, "$.properties.a.type"),
        ({"type": "object", "description": "x" * 70_000}, "64 KB"),
        ({"type": "object", "properties": {"a": {"$ref": "https://example.com/x"}}}, "remote"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}, "nowhere"),
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
