"""JSON that can be stored, and sent again as JSON.

Python reads more than JSON is: `NaN`, numbers beyond any float, halves of surrogate pairs, and nesting that no writer
takes back. Whatever comes from outside, a request or an agent's answer, is read here.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final, NoReturn

DEPTH_MAX: Final = 100


def read(text: str | bytes) -> Any:
    """The value of a JSON document. Raises `ValueError` with the reason in one sentence.

    >>> read('{"a": [1, null]}')
    {'a': [1, None]}
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")  # else Python would read UTF-16, too
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if _depth(value) > DEPTH_MAX:
        raise ValueError(f"it is nested more than {DEPTH_MAX} levels deep")
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("it holds half of a surrogate pair") from None
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text[:20]} is too large a number")
    return value


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level := [child for parent in level for child in _children(parent)]:
        depth += 1
    return depth


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
