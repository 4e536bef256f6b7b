"""Rules that hold for every run, whatever faults happened; a broken rule raises a `Violation` that names it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from agentsvc_nb.wire.runs import TERMINAL
from tests.faults.history_checker import LATE, TURNS

NEXT = {
    "queued": {"running", "cancelled", "failed"},
    "running": {"cancelling"} | TERMINAL,
    "cancelling": set(TERMINAL),
}
"""Allowed successors of each status (docs/api/runs.md "States"). A queued run fails if the service crashed too often
to start it."""


class Violation(AssertionError):
    """A rule does not hold. `found` collects the broken rules, because Hypothesis may not reproduce a failure when it
    repeats an example."""

    found: ClassVar[list[str]] = []

    def __init__(self, rule: str, seen: object) -> None:
        super().__init__(f"{rule}: {seen!r}"[:2000])
        self.found.append(rule)


def hold(rule: str, condition: object, seen: object = "") -> None:
    """Raise a `Violation` of `rule`, which quotes `seen`, unless `condition` is true."""
    if not condition:
        raise Violation(rule, seen)


def check_run(record: dict[str, Any], events: list[dict[str, Any]]) -> None:
    """Check the rules of one run. `events` are all its events, and were read after its `record`."""
    hold("event ids are dense from 1", [event["id"] for event in events] == list(range(1, len(events) + 1)), events)
    hold("a late worker writes nothing", LATE not in json.dumps([record, events]), events)
    states = [event["payload"]["status"] for event in events if event["type"] == "run.status"]
    hold("a run begins as queued", states[:1] == ["queued"], states)
    steps = itertools.pairwise(states)
    hold("states follow one another", all(after in NEXT.get(before, ()) for before, after in steps), states)
    ends = [event for event in events if event["type"] == "run.ended"]
    hold("run.ended comes once, and last", ends in ([], events[-1:]), events)
    if record["status"] in TERMINAL:
        hold("an ended run says so in its last event", ends and ends[0]["payload"]["run"] == record, (record, events))
        hold("its last state is the record's", states[-1] == record["status"], states)
        check_output(record, counted_text(events))


def check_output(record: dict[str, Any], text: str) -> None:
    """Check that the output of a completed run is `text`, the text that counts."""
    if record["status"] == "completed":
        hold("the output is the text that counts", record["output"] == text.removesuffix("\n"), (record, text))


def counted_text(events: Iterable[dict[str, Any]]) -> str:
    """The text of all deltas except those that a `run.resumed` event discarded."""
    kept: list[tuple[int, str]] = []
    for event in events:
        if event["type"] == "run.resumed":
            kept = [(id, text) for id, text in kept if id <= event["payload"]["discard_after"]]
        elif event["type"] == "text.delta":
            kept.append((event["id"], event["payload"]["text"]))
    return "".join(text for _, text in kept)


def check_turns(data: Path, tokens: Iterable[str] = ()) -> None:
    """Check that no two turns of one chat were at work at the same time.

    Read from the log of `history_checker.HistoryChecker`, which notes when a turn begins and has really stopped. The
    first line of a message names its chat; with `tokens` only these chats are checked.
    """
    wanted = set(tokens)
    working: dict[str, int] = {}
    for line in (data / TURNS).read_text().splitlines():
        note = json.loads(line)
        chat = note["message"].partition("\n")[0]
        if wanted and chat not in wanted:
            continue
        if note["moment"] == "end":
            working.pop(chat, None)
        else:
            hold("two turns of a chat never overlap", working.get(chat) != note["pid"], note)
            working[chat] = note["pid"]
