"""Read and write the rows of runs' events. The ids of a run's events are consecutive integers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from agentsvc_nb.service.payloads import StoredEvent, encode, shorten_for_clients
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.sql import load
from agentsvc_nb.service.times import rfc3339
from agentsvc_nb.wire.runs import Event, PlanStep

_sql = load("runs/events")
_AT_ONCE: Final = 100
"""The maximum number of events in one query. The first query of a page reads 8 events, and each further query twice as
many as the one before.

A page is also limited in bytes, so a query for all of its events could load far more than the page may contain.
"""


def append(tx: Tx, run_id: str, attempt: int, type: str, payload: dict[str, Any], now: int) -> int | None:
    """Write the run's next event and return its id.

    Return None, and write nothing, if another attempt has taken over the run or the run has ended.
    """
    event_id = _count_events(tx, run_id, attempt, 1)
    if event_id is not None:
        insert(tx, run_id, event_id, type, payload, now)
    return event_id


def append_all(tx: Tx, run_id: str, attempt: int, events: Sequence[tuple[str, dict[str, Any]]], now: int) -> bool:
    """Write the run's next events.

    Return False, and write nothing, if another attempt has taken over the run or the run has ended.
    """
    last = _count_events(tx, run_id, attempt, len(events))
    if last is None:
        return False
    for event_id, (type, payload) in enumerate(events, last - len(events) + 1):
        insert(tx, run_id, event_id, type, payload, now)
    return True


def _count_events(tx: Tx, run_id: str, attempt: int, events: int) -> int | None:
    """Reserve the ids of the next `events` events and return the last of these ids."""
    row = tx.one(_sql["next_events"], run_id=run_id, attempt=attempt, events=events)
    return None if row is None else row["last_event"]


def insert(tx: Tx, run_id: str, event_id: int, type: str, payload: dict[str, Any], now: int) -> None:
    """Write an event whose id is already reserved in the run's row."""
    tx.run(_sql["insert_event"], run_id=run_id, id=event_id, type=type, now=now, payload=encode(payload))


def list_events(tx: Tx, run_id: str, after: int, limit: int, most_bytes: int) -> tuple[list[StoredEvent], bool]:
    """Return the events after the id `after`, and whether more events follow.

    Return at most `limit` events, and at most `most_bytes` characters of payload, but at least one event.
    """
    found: list[StoredEvent] = []
    total, at_once = 0, 8
    while True:
        wanted = min(at_once, limit + 1 - len(found))
        at_once = min(2 * at_once, _AT_ONCE)
        rows = tx.all(_sql["events"], run_id=run_id, after=after, limit=wanted)
        for row in rows:
            size = len(row["payload"])
            if len(found) == limit or (found and total + size > most_bytes):
                return found, True
            found.append(
                shorten_for_clients(StoredEvent(row["id"], row["type"], rfc3339(row["created_at"]), row["payload"]))
            )
            total += size
        if len(rows) < wanted:
            return found, False
        after = rows[-1]["id"]


def has_warned_of_limit(tx: Tx, run_id: str) -> bool:
    """Return whether the run has an event `limit.near` for its current limit."""
    row = tx.one(_sql["last_of_limit"], run_id=run_id)
    return row is not None and row["type"] == "limit.near"


def has_warned(tx: Tx, run_id: str, code: str) -> bool:
    """Return whether the run has an event `warning` with this code."""
    return tx.one(_sql["warned_of"], run_id=run_id, code=f'%"{code}"%') is not None


def get_plan(tx: Tx, run_id: str) -> list[PlanStep]:
    """Return the agent's current plan. Ignore plans that a later `run.resumed` event discards."""
    plans: list[tuple[int, list[Any]]] = [(0, [])]
    for row in tx.all(_sql["plans"], run_id=run_id):
        payload = json.loads(row["payload"])
        if row["type"] == "run.resumed":
            plans = [(id, steps) for id, steps in plans if id <= payload["discard_after"]]
        else:
            plans.append((row["id"], payload["steps"]))
    return [PlanStep.model_validate(step) for step in plans[-1][1]]


def list_text(tx: Tx, run_id: str) -> list[Event]:
    """Return the events from which `chats.chats.text_so_far` builds the run's text."""
    return [
        Event(row["id"], row["type"], rfc3339(row["created_at"]), json.loads(row["payload"]))
        for row in tx.all(_sql["said"], run_id=run_id)
    ]
