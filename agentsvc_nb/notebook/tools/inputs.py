"""The body of a `%%tool` or `%%job` cell, read as the tool's input."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentsvc_nb.notebook import template
from agentsvc_nb.notebook.failures import AskError


def read_input(body: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """A cell's body to a tool's input: a JSON object, or a line each of `key: value`.

    In lines, dots nest (`outputs.count: 2`), a value that is JSON is taken as JSON, `#` begins a comment line. Then
    `{{names}}` are filled in.

    Raises:
        AskError: neither of the two; nothing has been sent.
        template.TemplateError: an unknown name.

    >>> read_input("brief: Autumn sale\\noutputs.count: {{n}}", {"n": 2})
    {'brief': 'Autumn sale', 'outputs': {'count': 2}}
    """
    given = _json(body) if body.lstrip().startswith("{") else _lines(body)
    filled = template.insert(given, variables)
    assert isinstance(filled, dict)
    return filled


def _json(body: str) -> Any:
    try:
        return json.loads(body)
    except ValueError as error:
        raise AskError(f"The input is not JSON: {error}; nothing was sent.", "Put {{names}} in quotes.") from None


def _lines(body: str) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for line in (line.strip() for line in body.splitlines()):
        if not line or line.startswith("#"):
            continue
        key, colon, value = line.partition(":")
        if not colon or not key.strip():
            raise AskError(f"{line!r} is not `key: value`; nothing was sent.", "Write such lines, or a JSON object.")
        _nest(given, key.strip().split("."), _value(value.strip()))
    return given


def _nest(given: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        given = given.setdefault(name, {})
        if not isinstance(given, dict):
            raise AskError(f"`{name}` has a value and parts; nothing was sent.", "Give the one or the other.")
    given[path[-1]] = value


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
