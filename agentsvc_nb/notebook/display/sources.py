"""The passages that an answer quotes from the chat's files, each with the lines around it."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from typing import Final

from agentsvc_nb.documents.decoding import decode
from agentsvc_nb.notebook.display.markdown import WRAPPED
from agentsvc_nb.wire.text import escape, plain

Read = Callable[[str], bytes | None]
"""The type of functions that return the beginning of the file at a path in the chat, or None if it cannot be read."""

HEAD_BYTES: Final = 256_000
"""How many bytes are read from the beginning of a file. Passages after these bytes are not shown."""
SOURCES: Final = 8
"""The maximum number of passages shown for one answer."""
AROUND: Final = 3
"""How many lines are shown before and after the quoted line."""
LINE_CHARS: Final = 400
_CITED: Final = re.compile(r"— `([^`\n]{1,300})`, line (\d{1,6})\b")
_PRE: Final = f'<pre style="{WRAPPED};margin:2px 0 6px 12px">'


def sources_html(answer: str, read: Read) -> list[str]:
    """Return HTML for each passage that an answer cites as `— file, line 12`. Omit passages that can't be read."""
    cited = list(dict.fromkeys((found[1], int(found[2])) for found in _CITED.finditer(answer)))[:SOURCES]
    files = {path: _lines(read(path)) for path in dict.fromkeys(path for path, _ in cited)}
    return [_source(path, number, files[path]) for path, number in cited if 0 < number <= len(files[path])]


def _lines(data: bytes | None) -> list[str]:
    found = decode(data, cut=len(data) >= HEAD_BYTES) if data else None
    return plain(found.text).split("\n") if found else []


def _source(path: str, number: int, lines: list[str]) -> str:
    first = max(0, number - 1 - AROUND)
    body = "\n".join(_marked(lines[first : number + AROUND], number - 1 - first))
    summary = f"<summary><code>{escape(path, 300)}</code>, line {number}</summary>"
    return f'<details style="margin-left:12px">{summary}{_PRE}{body}</pre></details>'


def _marked(lines: list[str], at: int) -> Iterator[str]:
    for place, line in enumerate(lines):
        shown = html.escape(line[:LINE_CHARS])
        yield f"<mark>{shown}</mark>" if place == at else shown
