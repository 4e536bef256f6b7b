"""Previews of JSON as a tree that unfolds. A long file is cut, and the open brackets are closed."""

from __future__ import annotations

import json
from typing import Any, Final

from agentsvc_nb.notebook.display.render import MUTED, Bundle, size
from agentsvc_nb.notebook.previews.kinds import Kind, Subject
from agentsvc_nb.notebook.previews.text import CHARS, encoding_notes, source_preview
from agentsvc_nb.wire.text import escape, excerpt, label

NODES: Final = 200
DEPTH: Final = 12
OPEN_DEPTH: Final = 2
"""How many levels are unfolded at first."""
CHILDREN: Final = 50
"""How many fields or items of one value are shown."""
KEY_CHARS: Final = 60
VALUE_CHARS: Final = 160
LINES: Final = 20
"""How many lines of JSON Lines are shown."""
_INDENT: Final = "margin-left:1.2em"


def json_preview(subject: Subject, kind: Kind) -> Bundle:
    """Show at most 200 values; a file that is not valid JSON is shown as text."""
    assert subject.text is not None, "only files that are text get here"
    text = subject.text.text
    try:
        value, note = _parse(subject, text)
        indented = json.dumps(value, indent=2, ensure_ascii=False)
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else f"not readable as JSON: {error}"
        return source_preview(subject, why)
    notes = [*([note] if note else []), *encoding_notes(subject.text)]
    below = "".join(f'<div style="{MUTED}">({escape(line)})</div>' for line in notes)
    return {
        "text/plain": "\n".join([excerpt(indented, CHARS), *(f"({line})" for line in notes)]),
        "text/html": f"<div>{_Tree().node('', value, 0)}</div>{below}",
    }


def _parse(subject: Subject, text: str) -> tuple[Any, str]:
    """Return the value, or the first values of JSON Lines, and a note if that is not the whole file.

    Raises `ValueError` or `RecursionError` for a text that is not JSON.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) > 1 and (records := _records(lines[: min(LINES, len(lines) - subject.cut)])):
        return records, f"the first {len(records)} lines" if len(lines) > len(records) else ""
    if not subject.cut:
        return json.loads(text), ""
    return json.loads(close_brackets(text)), f"the beginning of {size(subject.file.size_bytes)}"


def _records(lines: list[str]) -> list[Any]:
    """Return the values of JSON Lines; none if a line is not JSON."""
    try:
        return [json.loads(line) for line in lines]
    except ValueError:
        return []


def close_brackets(text: str) -> str:
    """Cut a JSON document after its last complete value, and close the brackets that are open there.

    >>> close_brackets('{"a": [1, 2, {"b": "c')
    '{"a": [1, 2]}'
    """
    stack: list[str] = []
    end, ends = 0, ""
    quoted = escaped = False
    for place, character in enumerate(text):
        if quoted:
            quoted = escaped or character != '"'
            escaped = character == "\\" and not escaped
            continue
        quoted = character == '"'
        if character in "{[":
            stack.append("}" if character == "{" else "]")
        elif character in "}]" and stack:
            stack.pop()
        elif character != ",":
            continue
        if len(stack) <= DEPTH:
            end, ends = place + (character != ","), "".join(reversed(stack))
    return text[:end] + ends


class _Tree:
    """Renders at most `NODES` values, because the HTML of a value is several times as long as its text."""

    def __init__(self) -> None:
        self._left = NODES

    def node(self, name: str, value: Any, depth: int) -> str:
        self._left -= 1
        shown = f"<strong>{escape(name, KEY_CHARS)}</strong>: " if name else ""
        if not isinstance(value, dict | list) or not value:
            return f'<div style="{_INDENT}">{shown}<code>{_scalar(value)}</code></div>'
        amount = f"{len(value):,} {'fields' if isinstance(value, dict) else 'items'}"
        summary = f'<summary>{shown}<span style="{MUTED}">{amount}</span></summary>'
        unfolded = " open" if depth < OPEN_DEPTH else ""
        return f'<details style="{_INDENT}"{unfolded}>{summary}{self._children(value, depth)}</details>'

    def _children(self, value: Any, depth: int) -> str:
        pairs = list(value.items()) if isinstance(value, dict) else [(str(n), item) for n, item in enumerate(value)]
        shown = []
        for name, item in pairs[:CHILDREN]:
            if self._left <= 0 or depth >= DEPTH:
                break
            shown.append(self.node(name, item, depth + 1))
        rest = len(pairs) - len(shown)
        return "".join(shown) + (f'<div style="{_INDENT};{MUTED}">… {rest:,} more</div>' if rest else "")


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return escape(json.dumps(label(value, VALUE_CHARS), ensure_ascii=False), VALUE_CHARS + 2)
    return escape(json.dumps(value), VALUE_CHARS)
