"""Run events (spec.md "Events"; contract.md §3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from agentsvc_nb.wire.envelope import Model

EventType = Literal[
    "run.status",
    "text.delta",
    "thinking.delta",
    "step.started",
    "tool.call",
    "tool.result",
    "approval.requested",
    "approval.decided",
    "file.written",
    "job.submitted",
    "progress",
    "warning",
    "run.resumed",
    "run.ended",
]

SPOKEN = frozenset({"text.delta", "thinking.delta", "tool.call", "tool.result"})
"""What `run.resumed` takes back: events of these types after `discard_after` and before it no longer count."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a run. Ids are dense from 1 within the run; `payload` is as the service sent it.

    Unknown types are passed on: a viewer skips what it does not know. A payload that was too large is shortened and has
    `truncated: true`; `whole_path` names the file of the chat with all of it, but for `run.ended`: the record has it.
    """

    id: int
    type: EventType | str
    created_at: str
    payload: dict[str, Any]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Event:
        payload = data.get("payload") or {}
        if not isinstance(payload, dict):
            raise TypeError("`payload` is not an object")
        return cls(int(data["id"]), data["type"], data.get("created_at", ""), payload)


class EventPage(Model):
    """One page of events; pass `next_after` as `after` for the next."""

    object: str = "list"
    data: list[Event] = Field(default_factory=list)
    next_after: int = 0
    has_more: bool = False
    status: str = ""
