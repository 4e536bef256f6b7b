"""`output_config`: what is accepted, and whether an answer fits (docs/api/runs.md "Structured output")."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from agentsvc_nb.documents import schemas
from agentsvc_nb.documents.child_process import NoChild
from agentsvc_nb.documents.schemas import BadSchema, SchemaValidator, form_errors, misfit

OBJECT: dict[str, Any] = {"type": "object"}
LONG = "a" * 100_000 + "!"
DOUBLING = {str(n): {"allOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(30)} | {"30": {}}


@pytest.fixture(scope="module")
def validator() -> Iterator[SchemaValidator]:
    made = SchemaValidator()
    yield made
    made.close()


def fault(validator: SchemaValidator, config: object) -> str | None:
    return asyncio.run(validator.fault(config))


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
def test_a_plain_schema_is_accepted(validator: SchemaValidator, config: dict[str, Any]) -> None:
    assert fault(validator, config) is None


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
        ({"type": "object", "$ref": "#/$defs/0", "$defs": DOUBLING}, "takes too long"),
        ({"type": "object", "patternProperties": {"(": {}}}, "regex"),
        ({"type": "object", "properties": {"a": {"type": "strange"}}}, "$.properties.a.type"),
        ({"type": "object", "properties": {"a": {"pattern": r"\s" * 10_000}}}, ""),
    ],
)
def test_a_rule_violation_is_named(
    validator: SchemaValidator, monkeypatch: pytest.MonkeyPatch, config: object, says: str
) -> None:
    monkeypatch.setattr(schemas, "CHECK_SECONDS", 2.0)
    began = time.monotonic()
    assert says in (fault(validator, config) or "")
    assert time.monotonic() - began < 30


def test_a_schema_that_waits_too_long_for_others_is_refused_for_now(
    validator: SchemaValidator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schemas, "QUEUE_SECONDS", 0.0)
    monkeypatch.setattr(schemas, "CHECK_SECONDS", 0.0)
    with pytest.raises(NoChild):
        fault(validator, {"type": "object", "title": "too late"})


@pytest.mark.parametrize(
    ("text", "fits"),
    [('{"score": 4}', True), ('{"score": 9}', False), ("{}", False), ("not JSON", False), ("[4]", False)],
)
def test_an_answer_is_checked_by_its_values(validator: SchemaValidator, text: str, fits: bool) -> None:
    config = {"type": "object", "properties": {"score": {"type": "integer", "maximum": 5}}, "required": ["score"]}
    assert (misfit(text, config) is None) == fits
    assert asyncio.run(validator.misfit(text, config)) == misfit(text, config)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"properties": {"a": {"$ref": "#/$defs/0"}}, "$defs": DOUBLING}, 1),
        ({"properties": {"a": {"pattern": "(?:(?=.*z)a|a)*b"}}}, LONG),
        ({"properties": {"a": {"not": {"pattern": r"(a+)\1+b"}}}}, LONG),
        ({"properties": {"a": {"uniqueItems": True}}}, [10**300 + n for n in range(5_000)]),
    ],
    ids=["references", "looking around", "not", "unique"],
)
def test_an_answer_that_takes_too_long_to_check_does_not_fit(
    validator: SchemaValidator, monkeypatch: pytest.MonkeyPatch, schema: dict[str, Any], value: Any
) -> None:
    """Also under `not`, where a search that is given up must not count as a pattern that was not found."""
    monkeypatch.setattr(schemas, "CHECK_SECONDS", 0.5)

    async def use() -> None:
        held = asyncio.create_task(validator.misfit(json.dumps({"a": value}), schema))
        ticks = 0
        while not held.done():
            await asyncio.sleep(0.01)
            ticks += 1
        assert "takes too long" in str(held.result())
        assert ticks > 10, "the event loop goes on meanwhile"

    asyncio.run(use())
    assert asyncio.run(validator.misfit("{}", OBJECT)) is None


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", LONG),
        ("^(a|aa)+$", LONG),
        ("(x+x+)+y", "x" * 100_000),
        ("^.{1,500}$", "a" * 501),
        ("^(?=.*[A-Z])(?=.*[0-9]).{8,}$", "lower case only"),
        ("^(?!.*(foo|bar))", "a foo"),
    ],
)
def test_a_pattern_that_backtracks_for_ever_elsewhere_is_searched_for(pattern: str, text: str) -> None:
    found = misfit(json.dumps({"a": text}), {"properties": {"a": {"pattern": pattern}}})
    assert f'does not match "{pattern}"' in str(found)
    assert len(str(found)) <= 200


@pytest.mark.parametrize(
    ("schema", "value", "says"),
    [
        ({"properties": {"a": {"type": "integer"}}}, "x", '$.a: "x" is not of type "integer"'),
        ({"properties": {"a": {"items": {"maximum": 3}}}}, [1, 9], "$.a[1]: 9 is greater than the maximum of 3"),
        ({"required": ["b"]}, 1, '$: "b" is a required property'),
        ({"properties": {"a": {"type": "null"}}}, {"a": "x" * 10_000}, '$.a: {…} is not of type "null"'),
        ({"properties": {"a": {"maxLength": 3}}}, "x" * 9_999, f'$.a: "{"x" * 60}…" is longer than 3 characters'),
        ({"properties": {"a": False}}, 1, "$.a: nothing is allowed here"),
        ({"properties": {"a": {"pattern": "^a$"}}}, "b\x1b[31m", '$.a: "b\\u001b[31m" does not match "^a$"'),
    ],
)
def test_a_misfit_is_a_place_and_a_sentence(schema: dict[str, Any], value: Any, says: str) -> None:
    assert misfit(json.dumps({"a": value}), schema) == says


def test_a_form_that_takes_too_long_to_check_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = {"properties": {"a": {"$ref": "#/$defs/0"}}, "$defs": DOUBLING | {"30": False}}
    assert form_errors(schema, {"b": 1}) == []
    monkeypatch.setattr(schemas, "FORM_SECONDS", 0.5)
    with pytest.raises(BadSchema, match="takes too long"):
        form_errors(schema, {"a": 1})


SCALARS: list[Any] = [None, True, False, -1, 0, 1, 2, 3, 0.5, 1.0, 1e300, 2**70, "", "a", "ab", "bb", "é1"]
TYPES = ["string", "integer", "number", "boolean", "null", "object", "array"]
REFERENCES = ["#/$defs/a", "#/%24defs/b", "#named", "#/$defs/none", "https://example.com/x"]
NAMES = ["a", "b", "c"]


class Generator:
    """Random schemas, and values that they say something about."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._rules: dict[str, Callable[[], Any]] = {
            "type": lambda: random.choice(TYPES),
            "enum": lambda: [self.value(1) for _ in range(3)],
            "const": lambda: self.value(1),
            "minimum": lambda: random.randint(-1, 2),
            "exclusiveMaximum": lambda: random.randint(0, 3),
            "multipleOf": lambda: random.choice([1, 2, 0.5]),
            "minLength": lambda: random.randint(0, 2),
            "maxLength": lambda: random.randint(0, 2),
            "pattern": lambda: random.choice(["^a", "b$", "[0-9]", "^(?=a)", "^(?!a)", r"(.)\1"]),
            "format": lambda: random.choice(["email", "date", "regex", "unknown"]),
            "minItems": lambda: random.randint(0, 2),
            "uniqueItems": lambda: random.random() < 0.7,
            "required": lambda: random.sample(NAMES, random.randint(0, 2)),
            "dependentRequired": lambda: {random.choice(NAMES): random.sample(NAMES, 1)},
            "minProperties": lambda: random.randint(0, 2),
        }

    def value(self, depth: int = 3) -> Any:
        kind = self.random.random() if depth else 0.0
        if kind < 0.4:
            return self.random.choice(SCALARS)
        if kind < 0.65:
            return [self.value(depth - 1) for _ in range(self.random.randint(0, 3))]
        return {name: self.value(depth - 1) for name in self.random.sample(NAMES, self.random.randint(0, 3))}

    def schema(self, depth: int = 3) -> Any:
        if self.random.random() < 0.1:
            return self.random.random() < 0.7
        words = self.random.sample(sorted(self._rules), self.random.randint(0, 2))
        schema = {word: self._rules[word]() for word in words}
        if self.random.random() < 0.2:
            schema["$ref"] = self.random.choices(REFERENCES, [6, 6, 6, 1, 1])[0]
        for _ in range(self.random.randint(0, 2) if depth else 0):
            schema |= self._holding(depth - 1)
        return schema

    def whole(self) -> dict[str, Any]:
        """A schema with definitions, which may go round."""
        whole = self.schema()
        definitions = {"a": self.schema(2), "b": self.schema(1), "c": {"$anchor": "named", "not": self.schema(1)}}
        return {**(whole if isinstance(whole, dict) else {}), "$defs": definitions}

    def _holding(self, depth: int) -> dict[str, Any]:
        single = ["not", "items", "contains", "propertyNames", "additionalProperties", "unevaluatedProperties"]
        word = self.random.choice([*single, "unevaluatedItems", "if", "list", "list", "named", "named", "names"])
        if word == "if":
            return {name: self.schema(depth) for name in ("if", "then", "else")}
        if word == "list":
            word = self.random.choice(["allOf", "anyOf", "oneOf", "prefixItems"])
            return {word: [self.schema(depth) for _ in range(self.random.randint(1, 3))]}
        if word == "named":
            word = self.random.choice(["properties", "properties", "dependentSchemas"])
            return {word: {name: self.schema(depth) for name in NAMES}}
        if word == "names":
            return {"patternProperties": {"^a": self.schema(depth), "[bc]": self.schema(depth)}}
        return {word: self.schema(depth)}


@settings(max_examples=500, deadline=None)
@given(st.integers(0, 2**64))
def test_the_verdict_is_that_of_the_reference_implementation(validator: SchemaValidator, seed: int) -> None:
    made = Generator(Random(seed))
    part = made.whole()
    schema = {"type": "object", "properties": {"v": part}, "$defs": part.pop("$defs")}
    if refused := fault(validator, schema):
        text = str(schema)
        assert "$ref" in text if "recursive" in refused else "none" in text or "example.com" in text, refused
        return
    oracle = Draft202012Validator(schema)
    for value in [{"v": made.value()} for _ in range(5)]:
        found = misfit(json.dumps(value), schema)
        assert (found is None) == oracle.is_valid(value), (schema, value, found)
        assert found is None or len(found) <= 200
