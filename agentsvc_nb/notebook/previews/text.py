"""Previews of text as it stands, with the encoding it was found to be in; and of other bytes as a hex dump."""

from __future__ import annotations

import html
from typing import Final

from agentsvc_nb.notebook.display.render import MUTED, Bundle, size
from agentsvc_nb.notebook.previews.decoding import DecodedText
from agentsvc_nb.notebook.previews.kinds import Kind, Subject
from agentsvc_nb.wire.text import escape, label, plain

CHARS: Final = 4_000
PRE: Final = '<pre style="white-space:pre-wrap">'
HEXDUMP_BYTES: Final = 256
_HEXDUMP_WIDTH: Final = 16


def text_preview(subject: Subject, kind: Kind) -> Bundle:
    """The first 4,000 characters."""
    return source_preview(subject)


def source_preview(subject: Subject, *notes: str) -> Bundle:
    """The beginning of any file that is text, with notes below."""
    return preformatted(*text_excerpt(subject), *notes)


def text_excerpt(subject: Subject) -> tuple[str, str]:
    """The beginning of the text, harmless; and a note on how much of the file it is, and on an unusual encoding."""
    found = subject.text
    assert found is not None, "only files that are text get here"
    excerpt = plain(found.text[: 2 * CHARS])[:CHARS]
    notes = []
    if subject.cut:
        notes.append(f"the beginning of {size(subject.file.size_bytes)}")
    elif len(found.text) > CHARS:
        notes.append(f"the first {CHARS:,} of {len(found.text):,} characters")
    return excerpt, ", ".join([*notes, *encoding_notes(found)])


def encoding_notes(found: DecodedText) -> list[str]:
    """A note on the encoding, unless it is UTF-8."""
    if found.encoding == "utf-8":
        return []
    return [f"in {found.encoding}, which is a guess" if found.guessed else f"in {found.encoding}"]


def preformatted(text: str, *notes: str) -> Bundle:
    """Text that was made harmless before, with notes below; empty notes are left out."""
    kept = [note for note in notes if note]
    below = "".join(f'<div style="{MUTED}">({escape(note, 400)})</div>' for note in kept)
    return {
        "text/plain": "\n".join([text, *(f"({note})" for note in kept)]),
        "text/html": f"{PRE}{html.escape(text)}</pre>{below}",
    }


def hexdump(subject: Subject, kind: Kind) -> Bundle:
    """The first 256 bytes of a file of no known kind, as numbers and letters."""
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
