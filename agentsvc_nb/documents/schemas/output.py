"""Structured output: whether an `output_config` is acceptable, and whether an answer fits it. And reading of JSON
within limits, so that it can be stored and sent again. `judges` does all this in child processes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, Final

from agentsvc_nb.documents.schemas.checking import BadSchema, Judge, TooMuchWork
from agentsvc_nb.wire.limits import JSON_DEPTH_MAX, JSON_VALUES_MAX, OUTPUT_CONFIG_BYTES
from agentsvc_nb.wire.reading import read_json

BLOCK_BYTES: Final = 256 * 1024
_OPENING: Final = b"[{"
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_STEPS: Final = bytes(1 if code in _OPENING else 0xFF for code in range(256))
"""How a bracket changes the depth, as a signed byte."""


def read(text: str | bytes | bytearray, most_values: int = JSON_VALUES_MAX) -> Any:
    """The value of a JSON document. Raises `ValueError` with the reason in one sentence.

    A bytearray is emptied: at no time more than two of the bytes, their text and its value are in memory.

    >>> read('{"a": [1, null]}')
    {'a': [1, None]}
    """
    _check_weight(text.encode("utf-8", "replace") if isinstance(text, str) else text, most_values)
    may_have_halves = isinstance(text, str)
    if not isinstance(text, str):
        data, text = text, text.decode("utf-8-sig")  # else Python would read UTF-16, too
        if isinstance(data, bytearray):
            data.clear()
        may_have_halves = "\\ud" in text or "\\uD" in text
    value = read_json(text)
    del text
    if may_have_halves:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("it holds half of a surrogate pair") from None
    return value


def read_object(data: bytes | bytearray, most_values: int = JSON_VALUES_MAX) -> dict[str, Any]:
    """A JSON object without its null values. A bytearray is emptied. Raises `ValueError` with a sentence."""
    try:
        document = read(data, most_values)
    except ValueError as error:
        raise ValueError(f"The body is not JSON that can be used: {error}.") from None
    if not isinstance(document, dict):
        raise ValueError("The body is JSON, but not an object.")
    return {name: value for name, value in document.items() if value is not None}


def _check_weight(data: bytes | bytearray, most_values: int) -> None:
    """Raise `ValueError` for a document with too many values or levels. To be called before parsing: that takes seconds
    for 16 MB of brackets, and blocks all other requests."""
    values, depth = weigh(data)
    if values > most_values:
        raise ValueError(f"it has more than {most_values:,} values")
    if depth > JSON_DEPTH_MAX:
        raise ValueError(f"it is nested more than {JSON_DEPTH_MAX} levels deep")


def weigh(data: bytes | bytearray) -> tuple[int, int]:
    """How many values a JSON document has and how deeply they are nested, counted from its bytes without parsing; for
    other bytes, at least as much as a parser would see. Above `JSON_VALUES_MAX` the depth is not counted (0).

    >>> weigh(b'{"a": [1, {}, "[[,"]}')
    (5, 2)
    """
    values, depth, deepest, brackets = 1, 0, 0, 0
    for skeleton, quotes in _skeletons(data):
        values += skeleton.count(b",") + sum(skeleton.count(code) for code in _OPENING)
        least = max(values, -(-quotes // 4))  # two strings a value at most: its name and itself
        if least > JSON_VALUES_MAX:
            return least, 0
        steps = skeleton.translate(_STEPS, _NO_BRACKETS)[: 2 * JSON_VALUES_MAX - brackets]  # two per value at most
        brackets += len(steps)
        depths = [*accumulate(memoryview(steps).cast("b"), initial=depth)]
        depth, deepest = depths[-1], max(deepest, *depths)
    return values, deepest


def _skeletons(data: bytes | bytearray) -> Iterator[tuple[bytes, int]]:
    """What is left of a document without white space and what stands in strings, block by block, so that it is not
    copied as a whole; and the number of quotation marks so far. A string leaves a quotation mark, `[]` and `{}` a 0."""
    rest, bracket, quotes = b"", b"", 0  # the first two: what the next block decides
    for start in range(0, len(data), BLOCK_BYTES):
        block = rest + data[start : start + BLOCK_BYTES]
        if block.endswith(b"\\"):
            rest = b"\\" * ((len(block) - len(block.rstrip(b"\\"))) % 2)
            block = block.removesuffix(rest)
        else:
            rest = b""
        parts = block.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        outside = b'"'.join(parts[quotes % 2 :: 2]).translate(None, b" \t\n\r")
        outside = bracket + b'"' + outside if quotes % 2 else bracket + outside
        quotes += len(parts) - 1
        bracket = outside[-1:] if outside[-1:] in _OPENING else b""
        yield outside.removesuffix(bracket).replace(b"[]", b"0").replace(b"{}", b"0"), quotes
    if bracket:
        yield bracket, quotes


Schema = dict[str, Any]
TOO_LARGE: Final = "output_config is larger than 64 KB."


def shape_fault(config: object) -> str | None:
    """Why `config` can't be an acceptable schema, whatever it says; None when it can."""
    if not isinstance(config, dict):
        return "output_config must be a JSON Schema object."
    if len(json.dumps(config).encode()) > OUTPUT_CONFIG_BYTES:
        return TOO_LARGE
    if config.get("type") != "object":
        return 'output_config must have "type": "object" at its root.'
    return None


def fault(config: object) -> str | None:
    """Why `config` is no acceptable schema for an answer, in one sentence; None when it is one."""
    if why := shape_fault(config):
        return why
    assert isinstance(config, dict)
    try:
        Judge(config).check_finite()
    except TooMuchWork:
        return "output_config is too large with its references written out; refer to fewer parts."
    except BadSchema as error:
        return f"output_config {error}."
    return None


def misfit(text: str, config: Schema) -> str | None:
    """Why `text` is not a JSON document that fits the schema; None when it is."""
    try:
        value = read(text)
    except ValueError as error:
        return f"The answer is not JSON: {error}."
    try:
        found = Judge(config).misfit(value)
    except BadSchema as error:
        return f"The answer can't be held to its schema, which {error}."
    return None if found is None else str(found)


def as_object(text: str | None) -> Schema | None:
    """The final text as data, when it is a JSON object (docs/api/runs.md "Record")."""
    if not text or not text.lstrip().startswith("{"):
        return None
    try:
        value = read(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
