"""Previews of files that are text: plain text, JSON as a tree, formatted Markdown, and HTML and SVG pages in a sandbox
(docs/decisions/0022); of files of no known kind a hex dump.

In the sandbox, no script runs and nothing is fetched. Below a page is its source, the only part that is shown by hosts
that remove frames from outputs, such as GitHub.
"""

from __future__ import annotations

import html
import json
import re
from typing import Any, Final

from agentsvc_nb.documents.decoding import DecodedText
from agentsvc_nb.notebook.display.markdown import SMALL, WRAPPED, to_html
from agentsvc_nb.notebook.display.render import MUTED, Bundle, size
from agentsvc_nb.notebook.previews.kinds import Kind, Subject
from agentsvc_nb.wire.text import escape, excerpt, label, plain

CHARS: Final = 4_000
PRE: Final = f'<pre style="{WRAPPED}">'
HEXDUMP_BYTES: Final = 256
_HEXDUMP_WIDTH: Final = 16


def text_preview(subject: Subject, kind: Kind) -> Bundle:
    """The first 4,000 characters of a text."""
    return source_preview(subject)


def source_preview(subject: Subject, *notes: str) -> Bundle:
    """The beginning of a file of any kind of text, with notes below."""
    return _preformatted(*_text_excerpt(subject), *notes)


def _text_excerpt(subject: Subject) -> tuple[str, str]:
    """Return the beginning of the text without control characters, and a note on its share of the file and encoding."""
    found = subject.text
    assert found is not None, "only files that are text get here"
    excerpt = plain(found.text[: 2 * CHARS])[:CHARS]
    notes = []
    if subject.cut:
        notes.append(f"the beginning of {size(subject.file.size_bytes)}")
    elif len(found.text) > CHARS:
        notes.append(f"the first {CHARS:,} of {len(found.text):,} characters")
    return excerpt, ", ".join([*notes, *_encoding_notes(found)])


def _encoding_notes(found: DecodedText) -> list[str]:
    """Return a note on the encoding, unless it is UTF-8."""
    if found.encoding == "utf-8":
        return []
    return [f"in {found.encoding}, which is a guess" if found.guessed else f"in {found.encoding}"]


def _preformatted(text: str, *notes: str) -> Bundle:
    """A text whose control characters were removed before, with notes below; empty notes are left out."""
    kept = [note for note in notes if note]
    below = "".join(f'<div style="{SMALL}">({escape(note, 400)})</div>' for note in kept)
    return {
        "text/plain": "\n".join([text, *(f"({note})" for note in kept)]),
        "text/html": f"{PRE}{html.escape(text)}</pre>{below}",
    }


def hexdump(subject: Subject, kind: Kind) -> Bundle:
    """The first 256 bytes of a file of no known kind, in hexadecimal and as characters."""
    first = subject.head[:HEXDUMP_BYTES]
    starts = range(0, len(first), _HEXDUMP_WIDTH)
    lines = [_hexdump_line(start, first[start : start + _HEXDUMP_WIDTH]) for start in starts]
    amount = f"The first {len(first)} bytes" if subject.file.size_bytes > len(first) else "Its bytes"
    sentence = f"No picture, table, text, sound or video. {amount}; %files get {label(subject.file.path)} fetches all:"
    return {
        "text/plain": "\n".join([sentence, *lines]),
        "text/html": f"<div>{escape(sentence, 400)}</div><pre>{html.escape(chr(10).join(lines))}</pre>",
    }


def _hexdump_line(start: int, part: bytes) -> str:
    letters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
    return f"{start:04x}  {part.hex(' '):<{3 * _HEXDUMP_WIDTH}} {letters}"


TABLE_CELLS_MAX: Final = 2_500
"""The limit of cells of a Markdown table: its rows are padded to the length of the first, so a few bars grow large."""

POLICY: Final = (
    "<!doctype html><meta charset=utf-8><meta name=color-scheme content=light>"
    "<meta name=referrer content=no-referrer><meta http-equiv=x-dns-prefetch-control content=off>"
    "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline';"
    " img-src data:; media-src data:; font-src data:; base-uri 'none'; form-action 'none'\">"
)
"""The beginning of a page in the sandbox: it precedes all of the page, so that the policy holds for all of it."""
PAGE_BYTES: Final = 200_000
_FRAME_STYLE: Final = "width:100%;height:400px;border:1px solid var(--jp-border-color2,#8884);background:#fff"
# Chromium 156 opens a connection for `<link rel="preconnect">` and for the address of a frame before it checks the
# policy. The policy forbids everything that these elements could do anyway, so they are renamed.
_PRECONNECTING: Final = re.compile(r"<(/?)(?=(?:link|meta|i?frame)\b)", re.IGNORECASE)


def markdown_preview(subject: Subject, kind: Kind) -> Bundle:
    """The first 4,000 characters, formatted: raw HTML becomes text, images become links.

    With too large a table, the source is shown instead.
    """
    return markdown_bundle(*_text_excerpt(subject))


def markdown_bundle(text: str, note: str) -> Bundle:
    """A Markdown text whose control characters were removed before, formatted; its source if its table is too large."""
    source = _preformatted(text, note)
    lines = text.split("\n")
    if len(lines) * max(line.count("|") for line in lines) > TABLE_CELLS_MAX:
        return source
    below = f'<div style="{SMALL}">({escape(note, 400)})</div>' if note else ""
    return source | {"text/html": to_html(text) + below}


def page_preview(subject: Subject, kind: Kind) -> Bundle:
    """The page in a sandboxed frame 400 pixels high, and its source folded below."""
    assert subject.text is not None, "only files that are text get here"
    page = _srcdoc(subject.text.text)
    name = f"{kind.noun} {subject.name}, without scripts and without anything from elsewhere"
    source = _preformatted(*_text_excerpt(subject))
    frame = (
        f'<iframe sandbox="" srcdoc="{page}" title="{escape(name, 400)}" referrerpolicy="no-referrer"'
        f' style="{_FRAME_STYLE}"></iframe>'
    )
    return source | {
        "text/html": f"{frame}<details><summary>Source</summary>{source['text/html']}</details>",
    }


def _srcdoc(text: str) -> str:
    """Return the escaped document for `srcdoc`, cut to `PAGE_BYTES`."""
    inert = _PRECONNECTING.sub(r"<\1x-", plain(text))
    while len((page := html.escape(POLICY + inert, quote=True)).encode()) > PAGE_BYTES:
        inert = inert[: len(inert) * 3 // 4]
    return page


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
    notes = [*([note] if note else []), *_encoding_notes(subject.text)]
    below = "".join(f'<div style="{SMALL}">({escape(line)})</div>' for line in notes)
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
        amount = f"{len(value):,} {'field' if isinstance(value, dict) else 'item'}{'s' * (len(value) != 1)}"
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
