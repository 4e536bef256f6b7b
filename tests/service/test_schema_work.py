"""Schemas and values judged in bounded work: by hostile patterns, fan-outs and nesting, and against an oracle."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema_rs import Draft202012Validator as Draft202012
from jsonschema_rs import FancyRegexOptions, RegexOptions

from agentsvc_nb.documents.schemas import output
from agentsvc_nb.documents.schemas.checking import Judge, TooMuchWork
from agentsvc_nb.documents.schemas.patterns import BadSchema, Matcher, bracketed

pytestmark = pytest.mark.timeout(60)  # what is not bounded takes for ever
LONG = "a" * 100_000 + "!"


def doubling(depth: int, last: Any, word: str = "allOf") -> dict[str, Any]:
    """A schema whose references, written out, are 2 ** depth schemas."""
    twice = {f"d{n}": {word: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(depth)}
    return {"$ref": "#/$defs/d0", "$defs": {**twice, f"d{depth}": last}}


def nested(depth: int, around: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"properties": {"a": True}}
    for _ in range(depth):
        schema = {around: [schema], "unevaluatedProperties": False}
    return schema


def chained(length: int) -> dict[str, Any]:
    chain = {f"d{n}": {"unevaluatedProperties": False, "allOf": [{"$ref": f"#/$defs/d{n + 1}"}]} for n in range(length)}
    return {"$ref": "#/$defs/d0", "$defs": {**chain, f"d{length}": True}}


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 60 + "!"),
        ("(a+)+$", LONG),
        ("^(a|aa)+$", LONG),
        ("(x+x+)+y", "x" * 100_000),
        ("^.{1,500}$", "a" * 501),
        ("^(?=.*[A-Z])(?=.*[0-9]).{8,}$", "lower case only"),
        ("^(?!.*(foo|bar))", "a foo"),
    ],
)
def test_a_pattern_that_python_would_look_for_for_ever_is_told_at_once(pattern: str, text: str) -> None:
    found = Judge({"pattern": pattern}).misfit(text)
    assert found is not None
    assert f"does not match {pattern}" in str(found)
    assert len(str(found)) <= 200


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(?=a)(a+)+$", LONG * 5),
        ("(?=.*z)a", LONG),
        ("(?:(?=.*z)a|a)*b", LONG),
        (r"(a+)\1+b", LONG),
        (r"^(?:a?b?){2000}a(?:a?b?){2000}x", "ab" * 2_000),
        (r"(?:\w*a\w{1000}|b)*[^x]*y[ab]", "ab" * 20_000),
    ],
)
@pytest.mark.parametrize("around", ["as it is", "not", "anyOf"])
def test_what_takes_too_long_is_neither_found_nor_not_found(pattern: str, text: str, around: str) -> None:
    part: dict[str, Any] = {"pattern": pattern}
    schema = {"as it is": part, "not": {"not": part}, "anyOf": {"anyOf": [part, True]}}[around]
    with pytest.raises(TooMuchWork, match="takes too long to be searched for"):
        Judge(schema).misfit(text)


@pytest.mark.parametrize("pattern", ["(", "a{99999999999}", "(((a{1,100}){1,100}){1,100})", "(" * 20_000, "(?<x"])
def test_a_pattern_that_is_none_or_too_large_is_refused(pattern: str) -> None:
    with pytest.raises(BadSchema, match="regex"):
        Judge({"pattern": pattern}).check()
    with pytest.raises(BadSchema, match="regex"):
        Judge({"patternProperties": {pattern: True}}).check()


def test_a_thousand_large_patterns_are_refused() -> None:
    with pytest.raises(BadSchema, match="16 MB"):
        Judge({"properties": {str(n): {"pattern": f"^.{{1,{400 + n}}}$"} for n in range(100)}}).check()


def test_names_are_not_looked_around_in() -> None:
    with pytest.raises(BadSchema, match="patternProperties"):
        Judge({"patternProperties": {"^(?!x)": True}}).check()


@pytest.mark.parametrize(
    "schema",
    [
        doubling(40, {"type": "null"}),
        doubling(40, {"type": "null"}, "anyOf"),
        {"$defs": doubling(40, {})["$defs"], "$ref": "#/other", "other": {"allOf": [{"$ref": "#/$defs/d0"}]}},
        nested(30, "anyOf"),
        nested(30, "allOf"),
        chained(1_000),
        {"$ref": "#/other", "other": {"not": {"$ref": "http://127.0.0.1:9/x"}}},
        {"$ref": "#/other/0", "other": [{"pattern": "("}]},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"},
        {"properties": {"a": {"$schema": "http://json-schema.org/draft-07/schema#", "$id": "https://example.com/x"}}},
    ],
    ids=["doubling", "choices", "elsewhere", "any", "all", "chain", "remote", "bad", "recursive", "dialect"],
)
def test_a_schema_without_end_is_refused_at_the_start(schema: dict[str, Any]) -> None:
    with pytest.raises(BadSchema):
        Judge(schema).check_finite()


def test_a_schema_that_names_a_part_often_is_accepted() -> None:
    fields = {f"f{n}": {"type": ["string", "null"], "description": "x"} for n in range(20)}
    address = {"type": "object", "properties": fields, "required": list(fields)}
    places = {f"p{n}": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]} for n in range(100)}
    judge = Judge({"type": "object", "properties": places, "$defs": {"A": address}})
    judge.check_finite()
    right = {f"p{n}": dict.fromkeys(fields) for n in range(100)}
    assert judge.misfit(right) is None
    assert "$.p7" in str(judge.misfit({**right, "p7": {}}))


def test_each_resource_has_references_of_its_own() -> None:
    inner = {"$id": "https://example.com/x", "$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}
    schema = {"properties": {"b": inner}, "$defs": {"a": {"type": "string"}}}
    judge = Judge(schema)
    judge.check_finite()
    assert judge.misfit({"b": None}) is None
    assert str(judge.misfit({"b": "x"})) == '$.b: "x" is not of type "null"'
    with pytest.raises(BadSchema, match="recursive"):
        Judge({"$id": "https://example.com/y", "not": {**inner, "$defs": {"a": {"$ref": "#"}}}}).check_finite()


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"uniqueItems": True}, [[0] * 999 + [n] for n in range(1_000)]),
        ({"uniqueItems": True}, [{"k": 2**62 + n} for n in range(10_000)]),
        ({"uniqueItems": True}, [10**300 + n for n in range(1_000)]),
        ({"items": {"multipleOf": 1e-300}}, [1e300] * 10_000),
        ({"items": {"allOf": [{"type": "integer", "minimum": 0}] * 200}}, list(range(10_000))),
        ({"items": {"allOf": [{"multipleOf": 7}] * 100}}, [7 * 10**4_000] * 1_000),
        ({"allOf": [{"maxLength": 10**7}] * 1_000}, "é" * 10**7),
        ({"patternProperties": {"^.{1,500}[ab]$": True}}, {f"{n}" * 200: n for n in range(1_000)}),
        (doubling(10, {"items": {"$ref": "#/$defs/d10"}, "not": {"type": "string"}}), [[[["x"] * 50] * 50] * 50]),
    ],
    ids=["unique", "large", "larger", "fractions", "rows", "digits", "letters", "names", "recursive"],
)
def test_a_value_that_would_take_too_long_is_not_judged(schema: dict[str, Any], value: Any) -> None:
    with pytest.raises(TooMuchWork):
        Judge(schema).misfit(value)


UNIQUE = {"uniqueItems": True}


@pytest.mark.parametrize(
    "value",
    [[{"k": n} for n in range(20_000)], [2**60 + n for n in range(500)], [[n, {"a": str(n)}] for n in range(20_000)]],
    ids=["objects", "identifiers", "nested"],
)
def test_items_are_held_to_be_unique(value: list[Any]) -> None:
    assert Judge(UNIQUE).misfit(value) is None
    assert Judge(UNIQUE).misfit([*value, value[7]]) is not None


LONG_PATTERNS = {
    "words": r"\W\w" * 10_000,
    "blanks": r"\s" * 20_000,
    "controls": r"\cA" * 15_000,
    "controls in classes": r"[\cA]" * 10_000,
    "not closed": "[" * 60_000,
    "looked around": r"(?=a)\w" * 8_000,
    "words that are sought": "|".join(f"w{n}" for n in range(8_000)),
    "letters": r"\p{L}|" * 8_000,
}


@pytest.mark.parametrize("pattern", LONG_PATTERNS.values(), ids=LONG_PATTERNS)
def test_a_long_pattern_is_read_in_bounded_time(pattern: str) -> None:
    schema = {"type": "object", "properties": {"a": {"pattern": pattern}}}
    assert output.fault(schema) is None or "regex" in str(output.fault(schema))


@given(
    st.lists(st.sampled_from([*(rf"\{one}" for one in "wWdDsSbB]^-cA"), *"a[]^-(){2}|?\\"]), max_size=8).map("".join),
    st.text("a_1 -]\x01[é\\", max_size=4),
)
@settings(max_examples=300, deadline=None)
def test_brackets_around_a_class_change_no_verdict(pattern: str, text: str) -> None:
    for options in (RegexOptions(), FancyRegexOptions()):
        try:
            plain = Draft202012({"pattern": pattern}, pattern_options=options)
        except ValueError:
            continue
        rewritten = Draft202012({"pattern": bracketed(pattern)}, pattern_options=options)
        assert plain.is_valid(text) == rewritten.is_valid(text)


def test_a_choice_with_more_errors_than_can_be_made_is_told_without_its_place() -> None:
    rows = {"type": "array", "items": {"type": "object", "required": ["a", "b", "c"]}}
    judge = Judge({"properties": {"rows": {"anyOf": [rows, {"type": "null"}]}}})
    assert str(judge.misfit({"rows": [{}] * 10})).startswith("$.rows: {") is False
    assert "$.rows" in str(judge.misfit({"rows": [{}] * 10}))
    assert "too many alternatives" in str(judge.misfit({"rows": [{}] * 10_000}))


@pytest.mark.parametrize(
    ("schema", "value", "says"),
    [
        ({"type": "integer"}, "x", '$: "x" is not of type "integer"'),
        ({"properties": {"a": {"items": {"maximum": 3}}}}, {"a": [1, 9]}, "$.a[1]: 9 is greater than the maximum of 3"),
        ({"required": ["a"]}, {}, '$: "a" is a required property'),
        ({"type": "null"}, {"a": "x" * 10_000}, '$: {…} is not of type "null"'),
        ({"maxLength": 3}, "x" * 10_000, f'$: "{"x" * 60}…" is longer than 3 characters'),
        ({"properties": {"a": False}}, {"a": 1}, "$.a: nothing is allowed here"),
        ({"pattern": "^a$"}, "b\x1b[31m", '$: "b\\u001b[31m" does not match ^a$'),
    ],
)
def test_a_misfit_is_a_place_and_a_sentence(schema: dict[str, Any], value: Any, says: str) -> None:
    assert str(Judge(schema).misfit(value)) == says


def test_a_matcher_has_its_time_again_for_the_next_value() -> None:
    matcher = Matcher()
    assert not matcher.found("(?=.*z)a", LONG)
    assert matcher.exhausted
    assert not matcher.found("a", "a"), "nothing more is looked for"
    matcher.begin()
    assert matcher.found("a", "a")
    assert matcher.exhausted == ""


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
def test_the_verdict_is_that_of_the_reference_implementation(seed: int) -> None:
    made = Generator(Random(seed))
    schema = made.whole()
    judge = Judge(schema)
    if refused := _refusal(judge):
        text = str(schema)
        assert "$ref" in text if "recursive" in refused else "none" in text or "example.com" in text, refused
        return
    oracle = Draft202012Validator(schema)
    for value in [made.value() for _ in range(5)]:
        found = judge.misfit(value)
        assert (found is None) == oracle.is_valid(value), (schema, value, found)
        assert found is None or len(str(found)) <= 200


def _refusal(judge: Judge) -> str:
    try:
        judge.check_finite()
    except BadSchema as refused:
        return str(refused)
    return ""
