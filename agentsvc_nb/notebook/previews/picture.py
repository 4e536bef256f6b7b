"""Pictures, scaled down."""

from __future__ import annotations

from typing import Any

from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.previews import process
from agentsvc_nb.notebook.previews.figures import figure
from agentsvc_nb.notebook.previews.kinds import Kind, Subject
from agentsvc_nb.wire.text import label


def show(subject: Subject, kind: Kind) -> Bundle:
    """The picture, of an animated one its first. Raises `CannotShow`."""
    with subject.on_disk() as place:
        return shown(subject, kind, process.asked("pictures", place))


def shown(subject: Subject, kind: Kind, found: dict[str, Any]) -> Bundle:
    """What the decoder found, as an output."""
    frames = found.get("frames", 1)
    moving = f", the first of {frames:,} frames" if isinstance(frames, int) and frames > 1 else ""
    caption = label(f"{kind.noun}, {_count(found.get('width'))} × {_count(found.get('height'))} pixels{moving}")
    return {"text/plain": caption, "text/html": figure(found.get("picture"), f"{subject.name}: {caption}", caption)}


def _count(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else "?"
