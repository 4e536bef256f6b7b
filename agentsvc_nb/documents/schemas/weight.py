"""How much work a JSON Schema (draft 2020-12) makes: counted as if every reference were written out.

Thirty definitions, each of which refers to the next one twice, make a billion steps. A validator takes them all while
it holds the interpreter's lock, so they are counted before it is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import frexp
from typing import Any, Final
from urllib.parse import unquote

from agentsvc_nb.documents.schemas.patterns import BadSchema, Matcher

Schema = Mapping[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
ANY: Final = object()
"""Stands for a value when a schema is weighed by itself: each part of it is applied once."""
LEVELS_MAX: Final = 100
"""Levels of nested parts, references followed: the validator recurses, and a thousand levels can crash the process."""
_PATTERN_STEPS: Final = 20
_ENTRIES_A_STEP: Final = 10
_BYTES_A_STEP: Final = 1_000
_BITS_A_STEP: Final = 8
_EXACT_MAX: Final = 2**53
"""Integers up to this are different as floats, too."""
_UNEVALUATED: Final = 4
"""Factor for `unevaluatedProperties`, which applies its neighbours again, and those theirs: three times the work at
every level."""

_IN_PLACE: Final = ("not", "if", "then", "else")
_IN_PLACE_LISTS: Final = ("allOf", "anyOf", "oneOf")
_IN_PLACE_BY_NAME: Final = ("dependentSchemas", "dependencies")
_OF_VALUES: Final = ("additionalProperties", "unevaluatedProperties")
_OF_ITEMS: Final = ("items", "contains", "unevaluatedItems")
_BY_NAME: Final = ("properties", "patternProperties")
_KEPT: Final = ("$defs", "definitions")


class TooMuchWork(BadSchema):
    """The schema is valid, but judging by it takes too long."""


@dataclass(frozen=True, slots=True)
class SchemaWeight:
    """The work of judging by a part of a schema: steps (a microsecond or less each), and levels of nested parts."""

    steps: int = 1
    levels: int = 1


@dataclass(slots=True)
class Weighing:
    """The state and result of a weighing: weights known so far and parts being weighed, both by the identity of part
    and value; all parts met; and the steps of the heaviest choice (`anyOf`, `oneOf`)."""

    known: dict[tuple[int, int], SchemaWeight] = field(default_factory=dict)
    open: set[tuple[int, int]] = field(default_factory=set)
    parts: list[Schema] = field(default_factory=list)
    choice: int = 0


class Scales:
    """Weighs the judging of values by a schema or its parts. Its methods raise `BadSchema`, and `TooMuchWork` beyond
    the limit.

    Args:
        root: the whole schema, within which references are resolved.
        matcher: gives the size of the schema's patterns.
        limit: the most steps that are allowed.
    """

    def __init__(self, root: Schema, matcher: Matcher, limit: int) -> None:
        self._root, self._matcher, self._limit = root, matcher, limit
        self._anchors: dict[int, dict[str, Schema]] = {}
        self._weighing = Weighing()

    def weigh(self, value: object, part: object = None) -> Weighing:
        """Weigh the judging of a value by the whole schema, or by a part of it."""
        self._weighing = Weighing()
        self._weigh(self._root if part is None else part, value, self._root, 0)
        return self._weighing

    def _weigh(self, schema: object, value: object, resource: Schema, level: int) -> SchemaWeight:
        if not isinstance(schema, Mapping):
            return SchemaWeight()
        known, applied = self._weighing.known, (id(schema), _identity(value))
        if (weight := known.get(applied)) is None:
            if applied in self._weighing.open:
                raise BadSchema("must not be recursive")
            if level >= LEVELS_MAX:
                raise BadSchema("is nested too deeply")
            self._weighing.open.add(applied)
            weight = known[applied] = self._weighed(schema, value, resource, level + 1)
            self._weighing.open.remove(applied)
        if level + weight.levels > LEVELS_MAX:
            raise BadSchema("is nested too deeply")
        return weight

    def _weighed(self, schema: Schema, value: object, resource: Schema, level: int) -> SchemaWeight:
        if str(schema.get("$schema", DIALECT)).rstrip("#") != DIALECT:
            raise BadSchema("must be of draft 2020-12 in all its parts")
        self._weighing.parts.append(schema)
        resource = _resource(schema, resource)
        own, here, within, levels = self._own_steps(schema, value), 0, 0, 0
        for part, base in self._in_place(schema, resource):
            weight = self._weigh(part, value, base, level)
            here, levels = here + weight.steps, max(levels, weight.levels)
        if "unevaluatedProperties" in schema or "unevaluatedItems" in schema:
            here *= _UNEVALUATED
        for part, inner in _within(schema, value):
            weight = self._weigh(part, inner, resource, level)
            within, levels = within + weight.steps, max(levels, weight.levels)
            if own + here + within > self._limit:
                break
        if (steps := own + here + within) > self._limit:
            raise TooMuchWork("takes too many steps")
        if "anyOf" in schema or "oneOf" in schema:
            self._weighing.choice = max(self._weighing.choice, here)
        return SchemaWeight(steps, levels + 1)

    def _own_steps(self, schema: Schema, value: object) -> int:
        steps = 1 + _PATTERN_STEPS * ("pattern" in schema) + _length(schema.get("required"))
        steps += sum(_length(schema.get(word)) // _ENTRIES_A_STEP for word in ("enum", "dependentRequired"))
        if isinstance(value, str):
            steps += len(value) // _BYTES_A_STEP
        elif isinstance(value, int | float):
            steps += _bits(value) // _BITS_A_STEP
            if "multipleOf" in schema:  # a fraction, of numbers that are written out
                steps += _bits(schema["multipleOf"]) // _BITS_A_STEP
        elif isinstance(value, list) and "uniqueItems" in schema:
            steps += _unique_steps(value)
        elif isinstance(value, Mapping) and isinstance(named := schema.get("patternProperties"), Mapping):
            letters = sum(len(name) for name in value)
            steps += sum(1 + 2 * letters * self._matcher.load(one).size // _BYTES_A_STEP for one in named)
        return steps

    def _in_place(self, schema: Schema, resource: Schema) -> Iterator[tuple[object, Schema]]:
        """The parts that apply to the same value, each with the resource it lies in (`_resource`)."""
        if "$dynamicRef" in schema or "$recursiveRef" in schema:
            raise BadSchema("must not use dynamic references")
        yield from ((schema[word], resource) for word in _IN_PLACE if word in schema)
        yield from ((part, resource) for word in _IN_PLACE_LISTS for part in _listed(schema.get(word)))
        yield from ((part, resource) for word in _IN_PLACE_BY_NAME for part in _named(schema.get(word)))
        if "$ref" in schema:
            yield self._target(schema["$ref"], resource)

    def _target(self, reference: object, resource: Schema) -> tuple[object, Schema]:
        if isinstance(reference, str) and reference.startswith("#"):
            pointer = unquote(reference[1:])
            if not pointer or pointer.startswith("/"):
                found = _pointed(pointer, resource)
            else:
                found = self._anchored(pointer, resource)
            if found is not None:
                return found
        raise BadSchema(f"has a reference that is remote or leads nowhere: {str(reference)[:100]!r}")

    def _anchored(self, name: str, resource: Schema) -> tuple[object, Schema] | None:
        if id(resource) not in self._anchors:
            parts = subschemas(resource, apart=True)
            self._anchors[id(resource)] = {part["$anchor"]: part for part in parts if _is_text(part.get("$anchor"))}
        found = self._anchors[id(resource)].get(name)
        return (found, resource) if found is not None else None


def subschemas(schema: Schema, *, apart: bool = False) -> Iterator[Schema]:
    """A schema and all schemas within it, also in definitions; contents of `const` and `enum` are no schemas.

    With `apart`, without those that have an `$id` of their own, whose anchors do not count here.
    """
    pending: list[Any] = [schema]
    while pending:
        part = pending.pop()
        if not isinstance(part, Mapping) or (apart and _resource(part, schema) is not schema):
            continue
        yield part
        pending += [part[word] for word in (*_IN_PLACE, *_OF_VALUES, *_OF_ITEMS, "propertyNames") if word in part]
        for word in (*_IN_PLACE_LISTS, "prefixItems"):
            pending += _listed(part.get(word))
        for word in (*_IN_PLACE_BY_NAME, *_BY_NAME, *_KEPT):
            pending += _named(part.get(word))


def _within(schema: Schema, value: object) -> Iterator[tuple[object, object]]:
    """The parts that apply to the value's members (items, properties, names), each with its member."""
    if value is ANY:
        for word in (*_OF_VALUES, *_OF_ITEMS, "propertyNames"):
            if word in schema:
                yield schema[word], ANY
        for word in _BY_NAME:
            yield from ((part, ANY) for part in _named(schema.get(word)))
        yield from ((part, ANY) for part in _listed(schema.get("prefixItems")))
    elif isinstance(value, Mapping):
        yield from _within_object(schema, value)
    elif isinstance(value, list):
        yield from zip(_listed(schema.get("prefixItems")), value, strict=False)
        for word in _OF_ITEMS:
            if word in schema:
                yield from ((schema[word], item) for item in value)


def _within_object(schema: Schema, value: Mapping[str, object]) -> Iterator[tuple[object, object]]:
    known = schema.get("properties")
    known = known if isinstance(known, Mapping) else {}
    yield from ((known[name], item) for name, item in value.items() if name in known)
    for part in _named(schema.get("patternProperties")):
        yield from ((part, item) for item in value.values())
    for word in _OF_VALUES:
        if word in schema:
            yield from ((schema[word], item) for name, item in value.items() if name not in known)
    if "propertyNames" in schema:
        yield from ((schema["propertyNames"], name) for name in value)


def _pointed(pointer: str, resource: Schema) -> tuple[object, Schema] | None:
    found: Any = resource
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        elif isinstance(found, Mapping) and name in found:
            found = found[name]
        else:
            return None
        resource = _resource(found, resource)
    return (found, resource) if isinstance(found, (Mapping, bool)) else None


def _resource(part: object, around: Schema) -> Schema:
    """The resource in which a part's references are resolved: the part itself when it has an `$id` of its own."""
    return part if isinstance(part, Mapping) and _is_text(part.get("$id")) else around


def _unique_steps(value: object) -> int:
    """The steps of looking for equal items. The validator hashes numbers as floats, so that integers beyond 2 ** 53
    collide, and each is compared with each."""
    nodes, large, bits, pending = 0, 0, 0, [value]
    while pending:
        one = pending.pop()
        nodes += 1
        if isinstance(one, Mapping):
            pending += one.values()
        elif isinstance(one, list):
            pending += one
        elif isinstance(one, int) and abs(one) > _EXACT_MAX:
            large, bits = large + 1, bits + _bits(one)
    return 2 * nodes + large * (large + bits // _BITS_A_STEP)


def _bits(number: object) -> int:
    """The bits of a number that is written out, beyond the 64 that are compared at once."""
    if isinstance(number, float):
        return max(abs(frexp(number)[1]) - 64, 0)
    return max(number.bit_length() - 64, 0) if isinstance(number, int) else 0


def _identity(value: object) -> int:
    """The key of a value among known weights: 0 for all small scalars, which weigh the same."""
    if isinstance(value, str):
        return id(value) if len(value) >= _BYTES_A_STEP else 0
    if isinstance(value, int | float):
        return id(value) if _bits(value) else 0
    return 0 if value is None else id(value)


def _named(value: object) -> list[Any]:
    return list(value.values()) if isinstance(value, Mapping) else []


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _length(value: object) -> int:
    return len(value) if isinstance(value, (list, Mapping)) else 0


def _is_text(value: object) -> bool:
    return isinstance(value, str)
