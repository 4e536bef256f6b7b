"""Text as it stands: its beginning, and the encoding that it was found to be in."""

from __future__ import annotations

import html
from typing import Final

from agentsvc_nb.notebook.display.render import MUTED, Bundle, size
from agentsvc_nb.notebook.previews.decoding import Text
from agentsvc_nb.notebook.previews.kinds import Kind, Subject
from agentsvc_nb.wire.text import escape, plain

CHARS: Final = 4_000
PRE: Final = '<pre style="white-space:pre-wrap">'


def show(subject: Subject, kind: Kind) -> Bundle:
    """The first 4,000 characters."""
    return source(subject)


def source(subject: Subject, *notes: str) -> Bundle:
    """The text of a file of any kind of text, with notes below."""
    return noted(*written(subject), *notes)


def written(subject: Subject) -> tuple[str, str]:
    """The text's beginning, harmless; and a note on how much of it this is, and on its encoding when not UTF-8."""
    found = subject.text
    assert found is not None, "only kinds of text come here"
    shown = plain(found.text[: 2 * CHARS])[:CHARS]
    notes = []
    if subject.cut:
        notes.append(f"the beginning of {size(subject.file.size_bytes)}")
    elif len(found.text) > CHARS:
        notes.append(f"the first {CHARS:,} of {len(found.text):,} characters")
    return shown, ", ".join([*notes, *encoding(found)])


def encoding(found: Text) -> list[str]:
    """A note on the encoding, unless it is UTF-8."""
    if found.encoding == "utf-8":
        return []
    return [f"in {found.encoding}, which is a guess" if found.guessed else f"in {found.encoding}"]


def noted(text: str, *notes: str) -> Bundle:
    """Text that is harmless already, with notes below; empty ones are left out."""
    kept = [note for note in notes if note]
    below = "".join(f'<div style="{MUTED}">({escape(note, 400)})</div>' for note in kept)
    return {
        "text/plain": "\n".join([text, *(f"({note})" for note in kept)]),
        "text/html": f"{PRE}{html.escape(text)}</pre>{below}",
    }
