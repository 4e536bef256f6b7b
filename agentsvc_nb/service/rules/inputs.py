"""What is wrong with a tool's input, in one sentence."""

from __future__ import annotations

from typing import Final

from pydantic import ValidationError

FIELD_CHARS: Final = 200
"""A field may have a name of the caller's own, of any length: so much of it is told."""


def fault(error: ValidationError) -> tuple[str, str]:
    """The field, dotted, and what is wrong with it.

    >>> fault(error)
    ('request.outputs.count', 'request.outputs.count: Input should be greater than or equal to 1')
    """
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"])[:FIELD_CHARS] or "input"
    return field, f"{field}: {first['msg']}"
