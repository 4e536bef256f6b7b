"""What is wrong with a tool's input, in one sentence."""

from __future__ import annotations

from pydantic import ValidationError


def fault(error: ValidationError) -> tuple[str, str]:
    """The field, dotted, and what is wrong with it.

    >>> fault(error)
    ('request.outputs.count', 'request.outputs.count: Input should be greater than or equal to 1')
    """
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"]) or "input"
    return field, f"{field}: {first['msg']}"
