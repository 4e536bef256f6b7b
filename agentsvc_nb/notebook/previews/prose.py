"""Markdown, formatted: raw HTML in it is text, its pictures are links."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.notebook.display.markdown import to_html
from agentsvc_nb.notebook.display.render import MUTED, Bundle
from agentsvc_nb.notebook.previews import wording
from agentsvc_nb.notebook.previews.kinds import Kind, Subject
from agentsvc_nb.wire.text import escape

CELLS: Final = 2_500
"""Of a table that is nothing but bars, each line is filled up to as many cells as its first has."""


def show(subject: Subject, kind: Kind) -> Bundle:
    """The first 4,000 characters; as their source where they would grow too large."""
    text, note = wording.written(subject)
    shown = wording.noted(text, note)
    lines = text.split("\n")
    if len(lines) * max(line.count("|") for line in lines) > CELLS:
        return shown
    below = f'<div style="{MUTED}">({escape(note, 400)})</div>' if note else ""
    return shown | {"text/html": to_html(text) + below}
