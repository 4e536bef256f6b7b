"""The input of a tool as the body of a cell: parse it, write it, and warn of a file name where a text is expected."""

from __future__ import annotations

import contextlib
import json
import pprint
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.client.batch_rows import REFERENCE
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook import template
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.jobs.fields import field, rows
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.wire.reading import read_json
from agentsvc_nb.wire.text import label, plain

_LINES: Final = (
    "Write lines such as `request.brief: Headline: Autumn sale`, or a JSON object. `%tools NAME` shows an example cell."
)
_NAME_CHARS: Final = 255


def read_input(body: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Parse the body of a cell as a tool's input. It is a JSON object, or lines of `key: value`.

    In a line, dots in the key separate nested keys (`outputs.count: 2`), and a value that is valid JSON is parsed as
    JSON. A line that begins with `#` is a comment. At the end, each `{{name}}` is replaced with the value of a
    variable.

    Raises:
        AskError: the body has neither form. Nothing was sent.
        template.TemplateError: a variable does not exist, or its value cannot be inserted.

    >>> read_input("brief: Autumn sale\\noutputs.count: {{n}}", {"n": 2})
    {'brief': 'Autumn sale', 'outputs': {'count': 2}}
    """
    if body.lstrip().startswith("{"):
        try:
            given = read_json(body)
        except ValueError as error:
            raise AskError(
                f"The input is not valid JSON: {error}; nothing was sent.", "Put each {{name}} in quotation marks."
            ) from None
    else:
        given = _read_lines(body)
    filled = template.insert(given, variables)
    assert isinstance(filled, dict)
    return filled


def _read_lines(body: str) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    for line in (line.strip() for line in body.splitlines()):
        if not line or line.startswith("#"):
            continue
        key, colon, text = line.partition(":")
        if not colon or not key.strip():
            raise AskError(f"The line {line!r} does not have the form `key: value`; nothing was sent.", _LINES)
        part, path = whole, key.strip().split(".")
        for name in path[:-1]:
            part = part.setdefault(name, {})
            if not isinstance(part, dict):
                raise AskError(
                    f"`{name}` has both a value and nested fields; nothing was sent.",
                    "Remove the value or the nested fields.",
                )
        try:
            part[path[-1]] = read_json(text.strip())
        except ValueError:
            part[path[-1]] = text.strip()
    return whole


def as_cell(tool: str, asynchronous: bool, given: Mapping[str, Any]) -> str:
    r"""Return the text of a `%%tool` or `%%job` cell that sends this input.

    >>> print(as_cell("web_search", False, {"query": "tents", "count": 8}))
    %%tool web_search
    query: tents
    count: 8
    """
    return f"{'%%job' if asynchronous else '%%tool'} {label(tool, 64)}\n{_write_body(_escape(given))}"


def as_client_call(tool: str, asynchronous: bool, given: Mapping[str, Any]) -> str:
    """Return a Python call of the client that sends this input, for hosts without magics.

    >>> print(as_client_call("web_search", False, {"query": "tents", "count": 8}))
    client.tools.invoke('web_search', {'query': 'tents', 'count': 8})
    """
    name = "client.jobs.submit" if asynchronous else "client.tools.invoke"
    return plain(f"{name}({label(tool, 64)!r}, {pprint.pformat(dict(given), width=100, sort_dicts=False)})")


def _write_body(given: Any) -> str:
    try:
        lines = "\n".join(f"{path}: {_write_value(value)}" for path, value in _flatten(given))
        if plain(lines) == lines and read_input(lines, {}) == read_input(json.dumps(given), {}):
            return lines
    except AskError:
        pass  # for example, if a key contains a dot, which lines can't express
    text = json.dumps(given, indent=2, ensure_ascii=False)
    return text if plain(text) == text else json.dumps(given, indent=2)


def _flatten(given: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values in an input with their dotted paths, such as `outputs.count`."""
    for key, value in given.items():
        if isinstance(value, dict) and value:
            yield from _flatten(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _write_value(value: Any) -> str:
    if isinstance(value, str) and value:
        # Quote a text only if, without quotes, it would be parsed as another value, such as a number.
        with contextlib.suppress(AskError):
            if _read_lines(f"key: {value}") == {"key": value}:
                return value
    return json.dumps(value, ensure_ascii=False)


def _escape(value: Any) -> Any:
    """Escape each `{{name}}` in the texts of an input, so that the service receives them unchanged."""
    if isinstance(value, dict):
        return {key: _escape(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_escape(part) for part in value]
    return REFERENCE.sub(lambda match: "\\" + match[0], value) if isinstance(value, str) else value


def note_file_names(session: Session, tool: str, given: Mapping[str, Any]) -> None:
    """For each text that names a local file, add a note to the next output: only the name is sent, not the file.

    The schema of the tool is requested only if a text names a local file. Fields that expect the path of a file in the
    chat get no note.
    """
    named = {path: value for path, value in _flatten(given) if isinstance(value, str) and _names_file(value)}
    if not named:
        return
    try:
        schema = session.client().tools.describe(tool).input_schema
    except StefanBrainError:  # the call of the tool reports the same error
        return
    for one in rows(field(schema, schema)):
        if one.path in named and one.words.startswith("string"):
            shown = label(named[one.path], 80)
            session.note(
                f"`{shown}` is sent as a plain text. To send the content of the file, run `from pathlib import Path; "
                f"text = Path({shown!r}).read_text()` in a cell, and write `{{{{text}}}}` here."
            )


def _names_file(text: str) -> bool:
    try:
        return len(text) <= _NAME_CHARS and bool(Path(text).suffix) and Path(text).is_file()
    except (OSError, ValueError):
        return False
