"""PDF: its first pages as pictures, their words as the alternative text."""

from __future__ import annotations

from typing import Any

from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.previews import process
from agentsvc_nb.notebook.previews.figures import figure
from agentsvc_nb.notebook.previews.kinds import Kind, Subject
from agentsvc_nb.wire.text import label


def show(subject: Subject, kind: Kind) -> Bundle:
    """The first three pages. Raises `CannotShow`."""
    with subject.on_disk() as place:
        return shown(subject, kind, process.asked("pages", place))


def shown(subject: Subject, kind: Kind, found: dict[str, Any]) -> Bundle:
    """What the decoder found, as an output."""
    count = found.get("count", 0)
    figures, lines = [], [label(f"PDF, {count:,} page{'s' * (count != 1)}")]
    for number, page in enumerate(found.get("pages", ())[:3], 1):
        words, caption = label(page.get("text", ""), 300), f"page {number} of {count:,}"
        figures.append(figure(page.get("picture"), f"{subject.name}, {caption}: {words}", caption))
        lines.append(f"{caption}: {words}")
    return {"text/plain": "\n".join(lines), "text/html": f"<div>{''.join(figures)}</div>"}
