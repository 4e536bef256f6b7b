"""`output_config`: what is accepted, and whether an answer fits (docs/api/runs.md "Structured output")."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agentsvc_nb.documents import schemas as schemas_module
from agentsvc_nb.documents.schemas import SchemaValidator

OBJECT: dict[str, Any] = {"type": "object"}
LONG = "a" * 100_000 + "!"
DOUBLING = {str(n): {"allOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(30)} | {"30": {}}
RECURSIVE = {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}


def fault(schemas: SchemaValidator, config: object) -> str | None:
    return asyncio.run(schemas.check_output_config(config))


@pytest.mark.rule("An `output_config` that breaks a rule is `invalid_output_config`.")
@pytest.mark.parametrize(
    ("config", "says"),
    [
        ([], "object"),
        ({"type": "array"}, "root"),
        ({"type": "object", "properties": {"a": {"pattern": "("}}}, "regex"),
        ({"type": "object", "properties": {"a": {"type": "strange"}}}, "$.properties.a.type"),
        ({"type": "object", "description": "x" * 70_000}, "64 KiB"),
        ({"type": "object", "properties": {"a": {"$ref": "https://example.com/x"}}}, "remote"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}, "no target"),
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
    assert "takes too long" in str(asyncio.run(schemas.check_answer(json.dumps({"a": value}), schema)))
    assert asyncio.run(schemas.check_answer("{}", OBJECT)) is None
