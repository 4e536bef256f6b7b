"""Parse JSON that comes from other programs."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn


def read_json(text: str | bytes | bytearray) -> Any:
    """Parse JSON.

    Raises `ValueError` if the text is not JSON, is nested too deeply, or contains a number that JSON or Python can't
    represent (NaN, an infinity, more than 4,300 digits). The message gives the reason.

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
