"""Schemas for forms: random ones with a right value each, and random ones of any kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

Schema = dict[str, Any]
Pair = tuple[Schema, Any]

NAMES = st.sampled_from(["brief", "count", "größe", "a.b", "with space", "x-y", "日本", "$ref", "title", "{{name}}"])
TEXTS = st.text(max_size=12) | st.sampled_from(
    ["", " x ", "1", "null", "two\nlines", "<b>", "{{n}}", "\ud800", "\x1b[31m"]
)
NUMBERS = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6
)
ABOUT = st.fixed_dictionaries({}, optional={"title": TEXTS, "description": TEXTS})


@st.composite
def pairs(draw: st.DrawFn, depth: int = 3) -> Pair:
    """A schema and a value that is right by it."""
    kinds: list[Callable[[int], st.SearchStrategy[Pair]]] = [
        _text,
        _integer,
        _number,
        _flag,
        _choice,
        _const,
        _anything,
    ]
    kinds += [_object, _array, _choices, _nullable, _either, _named] if depth else []
    schema, value = draw(draw(st.sampled_from(kinds))(depth - 1))
    if draw(st.integers(0, 3)) == 0 and "$ref" not in schema:
        schema = {**schema, "default": value}
    return {**draw(ABOUT), **schema}, value


def roots() -> st.SearchStrategy[Pair]:
    """An object at the top, as a tool's input is."""
    return _object(3).map(lambda pair: (_with_definitions(pair[0]), pair[1]))


def _with_definitions(schema: Schema) -> Schema:
    """What `_named` refers to: each is an object that may hold itself."""
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "name": {"type": "string"}}}
    return {**schema, "$defs": {"Node": node}}


def _text(_: int) -> st.SearchStrategy[Pair]:
    rules: st.SearchStrategy[Schema] = st.sampled_from(
        [{}, {"maxLength": 4000}, {"minLength": 0}, {"format": "workspace-path"}]
    )
    return st.tuples(rules.map(lambda rule: {"type": "string", **rule}), TEXTS)


@st.composite
def _integer(draw: st.DrawFn, _: int) -> Pair:
    value = draw(st.integers(-(10**20), 10**20))
    return {"type": "integer", "minimum": value - draw(st.integers(0, 3))}, value


def _number(_: int) -> st.SearchStrategy[Pair]:
    return NUMBERS.map(lambda value: ({"type": "number"}, value))


def _flag(_: int) -> st.SearchStrategy[Pair]:
    return st.booleans().map(lambda value: ({"type": "boolean"}, value))


def _choice(_: int) -> st.SearchStrategy[Pair]:
    values = st.lists(SCALARS, min_size=1, max_size=20, unique_by=repr)
    return values.flatmap(lambda all_: st.sampled_from(all_).map(lambda value: ({"enum": all_}, value)))


def _const(_: int) -> st.SearchStrategy[Pair]:
    return JSON.map(lambda value: ({"const": value}, value))


def _anything(_: int) -> st.SearchStrategy[Pair]:
    return JSON.map(lambda value: ({}, value))


@st.composite
def _object(draw: st.DrawFn, depth: int) -> Pair:
    parts = draw(st.dictionaries(NAMES, pairs(depth), max_size=4))
    given = [name for name in parts if draw(st.booleans())]
    required = [name for name in given if draw(st.booleans())]
    schema: Schema = {"type": "object", "properties": {name: part for name, (part, _) in parts.items()}}
    value = {name: parts[name][1] for name in given}
    if draw(st.integers(0, 3)) == 0:
        part, one = draw(pairs(0))
        schema["additionalProperties"] = part
        value |= {name: one for name in draw(st.lists(TEXTS, max_size=2)) if name not in parts}
    return {**schema, "required": required} if required else schema, value


@st.composite
def _array(draw: st.DrawFn, depth: int) -> Pair:
    part, one = draw(pairs(depth))
    return {"type": "array", "items": part, "minItems": 0}, [one] * draw(st.integers(0, 3))


@st.composite
def _choices(draw: st.DrawFn, _: int) -> Pair:
    values = draw(st.lists(TEXTS, min_size=1, max_size=30, unique=True))
    return {"type": "array", "items": {"enum": values}}, draw(st.lists(st.sampled_from(values), max_size=4))


def _nullable(depth: int) -> st.SearchStrategy[Pair]:
    def either(pair: Pair) -> st.SearchStrategy[Pair]:
        return st.sampled_from([pair[1], None]).map(lambda value: ({"anyOf": [pair[0], {"type": "null"}]}, value))

    return pairs(depth).flatmap(either)


@st.composite
def _either(draw: st.DrawFn, depth: int) -> Pair:
    several = draw(st.lists(pairs(depth), min_size=1, max_size=3))
    return {"anyOf": [part for part, _ in several]}, draw(st.sampled_from(several))[1]


def _named(_: int) -> st.SearchStrategy[Pair]:
    value: st.SearchStrategy[Any] = st.sampled_from([{}, {"name": "a"}, {"next": {"next": {"name": "b"}}}])
    return value.map(lambda one: ({"$ref": "#/$defs/Node"}, one))


WORDS = {
    "type": st.sampled_from(["string", "integer", "number", "boolean", "null", "object", "array", "strange", 7])
    | st.lists(st.sampled_from(["string", "integer", "null", "object"]), max_size=3, unique=True),
    "$ref": st.sampled_from(["#", "#/properties/a", "#/$defs/None", "https://evil.example/schema.json", "#anchor", 3]),
    "enum": st.lists(JSON, max_size=4),
    "const": JSON,
    "default": JSON,
    "examples": st.lists(JSON, max_size=2),
    "title": TEXTS,
    "description": TEXTS | st.integers(),
    "pattern": st.sampled_from(["^a+$", "(", r"\p{L}", r"\S"]),
    "format": st.sampled_from(["date", "email", "uri", "date-time", "workspace-path", "unknown", 3]),
    "minLength": st.integers(-1, 5),
    "maxLength": st.integers(0, 9000),
    "minimum": NUMBERS,
    "maximum": NUMBERS,
    "multipleOf": st.sampled_from([0.1, 3, 1e-300]),
    "minItems": st.integers(0, 5),
    "uniqueItems": st.booleans(),
    "required": st.lists(st.sampled_from(["a", "b", "größe"]), max_size=3, unique=True),
    "minProperties": st.integers(0, 3),
}


def any_schemas() -> st.SearchStrategy[Schema]:
    """Of any words together, also such as mean nothing together, or are wrong."""

    def wider(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        several = st.lists(inner, max_size=3)
        holding = {
            "properties": st.dictionaries(st.sampled_from(["a", "b", "größe"]), inner, max_size=3),
            "patternProperties": st.dictionaries(st.just("^p"), inner, max_size=1),
            "additionalProperties": inner,
            "items": inner,
            **dict.fromkeys(["prefixItems", "anyOf", "oneOf", "allOf"], several),
            **dict.fromkeys(["not", "if", "then"], inner),
        }
        return st.fixed_dictionaries({}, optional={**WORDS, **holding})

    bare = st.fixed_dictionaries({}, optional=WORDS) | st.booleans()
    whole = st.recursive(bare, wider, max_leaves=10)
    return whole.map(lambda one: {"type": "object", **(one if isinstance(one, dict) else {"properties": {"a": one}})})
