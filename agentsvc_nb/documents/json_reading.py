"""Parse untrusted JSON within limits, and reject what could not be stored or sent again.

Python's parser holds the interpreter's lock until it has parsed the whole document. So values are counted before
parsing: documents of 16 MB and 100,000 values take at most 0.1 s.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, Final

from agentsvc_nb.wire.limits import JSON_DEPTH_MAX, JSON_VALUES_MAX
from agentsvc_nb.wire.reading import read_json

BLOCK_BYTES: Final = 256 * 1024
_OPENING: Final = b"[{"
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_STEPS: Final = bytes(1 if code in _OPENING else 0xFF for code in range(256))
"""A translation table from each bracket to its change of the nesting depth, as a signed byte: 1 or -1."""


def read(text: str | bytes | bytearray, most_values: int = JSON_VALUES_MAX) -> Any:
    """Parse a JSON document. Raises `ValueError` with the reason in one sentence.

    If `text` is a bytearray, it is emptied to save memory as soon as it is decoded.

    >>> read('{"a": [1, null]}')
    {'a': [1, None]}
    """
    _check_weight(text.encode("utf-8", "replace") if isinstance(text, str) else text, most_values)
    may_have_halves = isinstance(text, str)
    if not isinstance(text, str):
        data, text = text, text.decode("utf-8-sig")  # decode here, because Python's parser would also accept UTF-16
        if isinstance(data, bytearray):
            data.clear()
        may_have_halves = "\\ud" in text or "\\uD" in text
    value = read_json(text)
    del text
    if may_have_halves:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("it contains half of a surrogate pair") from None
    return value


def read_object(data: bytes | bytearray, most_values: int = JSON_VALUES_MAX) -> dict[str, Any]:
    """Parse a JSON object as `read` does, and drop its null values. Raises `ValueError` with a sentence."""
    try:
        document = read(data, most_values)
    except ValueError as error:
        raise ValueError(f"The body is not valid JSON: {error}.") from None
    if not isinstance(document, dict):
        raise ValueError("The body is JSON, but not an object.")
    return {name: value for name, value in document.items() if value is not None}


def _check_weight(data: bytes | bytearray, most_values: int) -> None:
    """Raise `ValueError` for too many values or too deep nesting. Call this before parsing, which may take seconds."""
    values, depth = weigh(data)
    if values > most_values:
        raise ValueError(f"it has more than {most_values:,} values")
    if depth > JSON_DEPTH_MAX:
        raise ValueError(f"it is nested more than {JSON_DEPTH_MAX} levels deep")


def weigh(data: bytes | bytearray) -> tuple[int, int]:
    """Return the number of values in a JSON document and its nesting depth, without parsing it.

    For invalid JSON, both are at least what a parser would find before the error. If there are more than
    `JSON_VALUES_MAX` values, the depth is returned as 0.

    >>> weigh(b'{"a": [1, {}, "[[,"]}')
    (5, 2)
    """
    values, depth, deepest, brackets = 1, 0, 0, 0
    for skeleton, quotes in _skeletons(data):
        values += skeleton.count(b",") + sum(skeleton.count(code) for code in _OPENING)
        least = max(values, -(-quotes // 4))  # a value has at most two strings: its name and itself
        if least > JSON_VALUES_MAX:
            return least, 0
        steps = skeleton.translate(_STEPS, _NO_BRACKETS)[: 2 * JSON_VALUES_MAX - brackets]  # at most two per value
        brackets += len(steps)
        depths = [*accumulate(memoryview(steps).cast("b"), initial=depth)]
        depth, deepest = depths[-1], max(deepest, *depths)
    return values, deepest


def _skeletons(data: bytes | bytearray) -> Iterator[tuple[bytes, int]]:
    """Yield a document in blocks, without white space and string contents.

    Each block comes with the number of quotation marks in the document so far. A single quotation mark remains of each
    string. `[]` and `{}` become `0`.
    """
    rest, bracket, quotes = b"", b"", 0  # the next block decides what `rest` and `bracket` mean
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


def parse_object(text: str | None) -> dict[str, Any] | None:
    """Return the parsed object if the text is a JSON object, else None (docs/api/runs.md "Record")."""
    if not text or not text.lstrip().startswith("{"):
        return None
    try:
        value = read(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
