"""Rules that hold for the events of every run, whatever faults happened."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from agentsvc_nb.wire.runs import TERMINAL

NEXT = {
    "queued": {"running", "cancelled", "failed"},
    "running": {"cancelling"} | TERMINAL,
    "cancelling": set(TERMINAL),
}
"""Allowed successors of each status (docs/api/runs.md "States"). A queued run fails if the service crashed too often
to start it."""


def check_run(record: dict[str, Any], events: list[dict[str, Any]]) -> None:
    """Check the rules of an ended run."""
    assert [event["id"] for event in events] == list(range(1, len(events) + 1))
    states = [event["payload"]["status"] for event in events if event["type"] == "run.status"]
    assert states[0] == "queued"
    assert all(after in NEXT.get(before, ()) for before, after in itertools.pairwise(states)), states
    assert states[-1] == record["status"]
    assert [event for event in events if event["type"] == "run.ended"] == events[-1:]
    assert events[-1]["payload"]["run"] == record
    if record["status"] == "completed":
        assert record["output"] == counted_text(events).removesuffix("\n")


def counted_text(events: Iterable[dict[str, Any]]) -> str:
    """The text of all deltas except those that a `run.resumed` event discarded."""
    kept: list[tuple[int, str]] = []
    for event in events:
        if event["type"] == "run.resumed":
            kept = [(id, text) for id, text in kept if id <= event["payload"]["discard_after"]]
        elif event["type"] == "text.delta":
            kept.append((event["id"], event["payload"]["text"]))
    return "".join(text for _, text in kept)
