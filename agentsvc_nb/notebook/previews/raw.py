"""Bytes of no kind that can be shown: the first of them, as numbers and letters."""

from __future__ import annotations

import html
from typing import Final

from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.previews.kinds import Kind, Subject
from agentsvc_nb.wire.text import escape, label

BYTES: Final = 256
_LINE: Final = 16


def show(subject: Subject, kind: Kind) -> Bundle:
    """The first 256 bytes."""
    first = subject.head[:BYTES]
    lines = [_line(start, first[start : start + _LINE]) for start in range(0, len(first), _LINE)]
    of = f"The first {len(first)} bytes" if subject.file.size_bytes > len(first) else "Its bytes"
    sentence = f"No picture, table, text, sound or video. {of}; %files get {label(subject.file.path)} fetches all:"
    return {
        "text/plain": "\n".join([sentence, *lines]),
        "text/html": f"<div>{escape(sentence, 400)}</div><pre>{html.escape(chr(10).join(lines))}</pre>",
    }


def _line(start: int, part: bytes) -> str:
    letters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
    return f"{start:04x}  {part.hex(' '):<{3 * _LINE}} {letters}"
