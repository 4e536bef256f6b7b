"""Read JSON from other programs."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn


def read_json(text: str | bytes | bytearray) -> Any:
    """Parse JSON.

    Raises `ValueError` with the reason: for other text, for a document that is nested too deeply, and for a number that
    JSON cannot represent (NaN, an infinity, over 4,300 digits).

    >>> read_json('{"a": [1, null]}')
    {'a': [1, None]}
    >>> read_json("[" * 900_000)
    Traceback (most recent call last):
    ...
    ValueError: it is nested too deeply
    """
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:20]} is too large")
    return value
