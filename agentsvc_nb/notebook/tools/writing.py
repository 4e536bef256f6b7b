"""Write a tool's input as a cell (`key: value` lines if they can express it, else JSON) or as a call of the client."""

from __future__ import annotations

import json
import pprint
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from agentsvc_nb.client.batch.rows import REFERENCE
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.tools import calling
from agentsvc_nb.wire.text import label, plain

_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def cell(tool: str, asynchronous: bool, given: Mapping[str, Any]) -> str:
    r"""Return the `%%tool` (or `%%job`) cell that sends this input.

    >>> print(cell("web_search", False, {"query": "tents", "count": 8}))
    %%tool web_search
    query: tents
    count: 8
    """
    return f"{'%%job' if asynchronous else '%%tool'} {label(tool, 64)}\n{_body(_kept(given))}"


def call(tool: str, asynchronous: bool, given: Mapping[str, Any]) -> str:
    """Return the call of the client that sends this input, for hosts without magics.

    >>> print(call("web_search", False, {"query": "tents", "count": 8}))
    client.tools.invoke('web_search', {'query': 'tents', 'count': 8})
    """
    name = "client.jobs.submit" if asynchronous else "client.tools.invoke"
    return plain(f"{name}({label(tool, 64)!r}, {pprint.pformat(dict(given), width=100, sort_dicts=False)})")


def _body(given: Any) -> str:
    try:
        lines = "\n".join(_lines(given, ""))
        if plain(lines) == lines and calling.read_input(lines, {}) == calling.read_input(json.dumps(given), {}):
            return lines
    except AskError:
        pass  # for example a key that can't stand in a line
    text = json.dumps(given, indent=2, ensure_ascii=False)
    return text if plain(text) == text else json.dumps(given, indent=2)


def _lines(given: Mapping[str, Any], before: str) -> Iterator[str]:
    for key, value in given.items():
        if not _KEY.fullmatch(key):
            raise AskError(f"{key!r} can't stand in a line.")
        if isinstance(value, dict) and value:
            yield from _lines(value, f"{before}{key}.")
        else:
            yield f"{before}{key}: {_value(value)}"


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str) or value != value.strip() or not value or "\n" in value:
        return text
    try:
        json.loads(value)
    except ValueError:
        return value
    return text  # unquoted, it would be read as another JSON value, such as a number


def _kept(value: Any) -> Any:
    """Escape `{{name}}` in all texts, so that it is sent as it stands."""
    if isinstance(value, dict):
        return {key: _kept(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_kept(part) for part in value]
    return REFERENCE.sub(lambda match: "\\" + match[0], value) if isinstance(value, str) else value
