"""Structured output: whether an `output_config` is acceptable, and whether an answer fits it. And reading of JSON
within limits, so that it can be stored and sent again. `judges` does all this in child processes.
"""

from __future__ import annotations

import json
import math
from itertools import accumulate
from typing import Any, Final, NoReturn

from agentsvc_nb.formats.schemas.checking import BadSchema, Judge, TooMuchWork
from agentsvc_nb.wire.limits import JSON_DEPTH_MAX, JSON_VALUES_MAX, OUTPUT_CONFIG_BYTES

_OPENING: Final = b"[{"
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_STEPS: Final = bytes(1 if code in _OPENING else 0xFF for code in range(256))
"""How a bracket changes the depth, as a signed byte."""


def read(text: str | bytes) -> Any:
    """The value of a JSON document. Raises `ValueError` with the reason in one sentence.

    >>> read('{"a": [1, null]}')
    {'a': [1, None]}
    """
    _check_weight(text if isinstance(text, bytes) else text.encode("utf-8", "replace"))
    if isinstance(text, bytes):
        text = text.decode("utf-8-sig")  # else Python would read UTF-16, too
    value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("it holds half of a surrogate pair") from None
    return value


def read_object(data: bytes) -> dict[str, Any]:
    """A JSON object without its null values. Raises `ValueError` with a sentence."""
    try:
        document = read(data)
    except ValueError as error:
        raise ValueError(f"The body is not JSON that can be used: {error}.") from None
    if not isinstance(document, dict):
        raise ValueError("The body is JSON, but not an object.")
    return {name: value for name, value in document.items() if value is not None}


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text[:20]} is too large a number")
    return value


def _check_weight(data: bytes) -> None:
    """Raise `ValueError` for a document with too many values or levels. To be called before parsing: that takes seconds
    for 16 MB of brackets, and blocks all other requests."""
    values, depth = weigh(data)
    if values > JSON_VALUES_MAX:
        raise ValueError(f"it has more than {JSON_VALUES_MAX:,} values")
    if depth > JSON_DEPTH_MAX:
        raise ValueError(f"it is nested more than {JSON_DEPTH_MAX} levels deep")


def weigh(data: bytes) -> tuple[int, int]:
    """How many values a JSON document has and how deeply they are nested, counted from its bytes without parsing; for
    other bytes, at least as much as a parser would see. Above `JSON_VALUES_MAX` the depth is not counted (0).

    >>> weigh(b'{"a": [1, {}, "[[,"]}')
    (5, 2)
    """
    data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    if (least := -(-data.count(b'"') // 4)) > JSON_VALUES_MAX:  # two strings a value at most: its name and itself
        return least, 0
    data = b'"'.join(data.split(b'"')[::2])  # leaves one quotation mark of each string
    data = data.translate(None, b" \t\n\r").replace(b"[]", b"0").replace(b"{}", b"0")
    values = 1 + data.count(b",") + sum(data.count(code) for code in _OPENING)
    if values > JSON_VALUES_MAX:
        return values, 0
    brackets = data.translate(_STEPS, _NO_BRACKETS)[: 2 * JSON_VALUES_MAX]  # JSON has no more: two per value
    return values, max(accumulate(memoryview(brackets).cast("b")), default=0)


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
