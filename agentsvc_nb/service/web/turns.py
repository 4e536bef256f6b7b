"""What a chat's page shows of its runs and files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentsvc_nb.service.ports.storage import Tx
from agentsvc_nb.service.records import runs, tool_calls
from agentsvc_nb.service.records.files import FileRecord
from agentsvc_nb.service.records.runs import RunRecord
from agentsvc_nb.service.records.tool_calls import CallRecord
from agentsvc_nb.wire.events import Event
from agentsvc_nb.wire.runs import TERMINAL

PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What a browser may show in the page: pictures that can hold no script. All else is downloaded."""

_TEXTS: Final = frozenset({"application/json", "application/xml", "application/x-ndjson"})
_HEAD_BYTES: Final = 1_200


@dataclass(frozen=True, slots=True)
class Turn:
    """A run, its text: the output, or what was said so far."""

    run: RunRecord
    text: str
    waiting: Sequence[CallRecord] = ()
    """The calls that wait for approval."""

    @property
    def active(self) -> bool:
        return self.run.status not in TERMINAL

    @property
    def seconds(self) -> float | None:
        """How long it ran; None while it does."""
        return None if self.run.ended_at is None else (self.run.ended_at - self.run.created_at) / 1000


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file, and a text's first lines."""

    file: FileRecord
    head: str

    @property
    def picture(self) -> bool:
        return self.file.media_type in PICTURES


def turn(tx: Tx, run: RunRecord) -> Turn:
    if run.status in TERMINAL:
        return Turn(run, run.output or "")
    return Turn(run, text_so_far(runs.said(tx, run.run_id)), tool_calls.waiting(tx, run.run_id))


def text_so_far(events: Iterable[Event]) -> str:
    """What was said and still counts: after a crash a step may speak again (contract §3, `run.resumed`)."""
    said: list[tuple[int, str]] = []
    for event in events:
        if event.type == "run.resumed":
            said = [(id, text) for id, text in said if id <= event.payload["discard_after"]]
        elif event.type == "text.delta":
            said.append((event.id, event.payload["text"]))
    return "".join(text for _, text in said)


def shown_file(file: FileRecord, content: Path) -> ShownFile:
    """The file with what can be read in its head; one whose content is gone has none."""
    if not file.media_type.startswith("text/") and file.media_type not in _TEXTS:
        return ShownFile(file, "")
    try:
        with content.open("rb") as opened:
            head = opened.read(_HEAD_BYTES).decode(errors="ignore")
    except OSError:
        return ShownFile(file, "")
    return ShownFile(file, head + " …" if file.size_bytes > _HEAD_BYTES else head)
