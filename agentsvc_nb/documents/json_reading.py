"""Read JSON from strangers within limits, so that it can be stored and sent again.

Python's parser holds the interpreter's lock until it has read a whole document. So the size is checked before parsing:
16 MB and 100,000 values take at most 0.1 s.
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
"""The change of depth by each bracket, as a signed byte."""


def read(text: str | bytes | bytearray, most_values: int = JSON_VALUES_MAX) -> Any:
    """Parse a JSON document. Raises `ValueError` with the reason in one sentence.

    Empties a bytearray, so that at most two of these are in memory at a time: the bytes, their text, and the text's
    value.

    >>> read('{"a": [1, null]}')
    {'a': [1, None]}
    """
    _check_weight(text.encode("utf-8", "replace") if isinstance(text, str) else text, most_values)
    may_have_halves = isinstance(text, str)
    if not isinstance(text, str):
        data, text = text, text.decode("utf-8-sig")  # decode here, because Python's parser would also read UTF-16
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
    """Parse a JSON object and leave out its null values. Empties a bytearray. Raises `ValueError` with a sentence."""
    try:
        document = read(data, most_values)
    except ValueError as error:
        raise ValueError(f"The body is not valid JSON: {error}.") from None
    if not isinstance(document, dict):
        raise ValueError("The body is JSON, but not an object.")
    return {name: value for name, value in document.items() if value is not None}


def _check_weight(data: bytes | bytearray, most_values: int) -> None:
    """Raise `ValueError` for a document with too many values or levels.

    Call it before parsing, which would take seconds for 16 MB of brackets.
    """
    values, depth = weigh(data)
    if values > most_values:
        raise ValueError(f"it has more than {most_values:,} values")
    if depth > JSON_DEPTH_MAX:
        raise ValueError(f"it is nested more than {JSON_DEPTH_MAX} levels deep")


def weigh(data: bytes | bytearray) -> tuple[int, int]:
    """Count a JSON document's values and levels from its bytes, without parsing.

    For invalid JSON, the counts are at least those that a parser would see. For more than `JSON_VALUES_MAX` values, the
    depth is returned as 0.

    >>> weigh(b'{"a": [1, {}, "[[,"]}')
    (5, 2)
    """
    values, depth, deepest, brackets = 1, 0, 0, 0
    for skeleton, quotes in _skeletons(data):
        values += skeleton.count(b",") + sum(skeleton.count(code) for code in _OPENING)
        least = max(values, -(-quotes // 4))  # a value has at most two strings: its name and itself
        if least > JSON_VALUES_MAX:
            return least, 0
        steps = skeleton.translate(_STEPS, _NO_BRACKETS)[: 2 * JSON_VALUES_MAX - brackets]  # two per value at most
        brackets += len(steps)
        depths = [*accumulate(memoryview(steps).cast("b"), initial=depth)]
        depth, deepest = depths[-1], max(deepest, *depths)
    return values, deepest


def _skeletons(data: bytes | bytearray) -> Iterator[tuple[bytes, int]]:
    """Yield blocks of a document without white space and string contents, and the count of quotation marks so far.

    A string leaves a quotation mark. `[]` and `{}` leave a 0.
    """
    rest, bracket, quotes = b"", b"", 0  # `rest` and `bracket` depend on the next block
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


def as_object(text: str | None) -> dict[str, Any] | None:
    """Return the final text as data if it is a JSON object (docs/api/runs.md "Record")."""
    if not text or not text.lstrip().startswith("{"):
        return None
    try:
        value = read(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
