"""The tool calls of runs as rows. A worker's writes carry its `attempt`, and those of an earlier one change nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from agentsvc_nb.service.ports import Row, Tx
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.service.sql import load, record
from agentsvc_nb.tools.port import Outcome

_sql = load("runs/calls")

State = Literal["called", "waiting", "approved", "refused", "begun", "done", "asked", "answered", "expired"]


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One tool call. A takeover that repeats a step makes the call under the same `key`, and finds this record."""

    run_id: str
    key: str
    call_id: str
    tool: str
    input: dict[str, Any]
    """What the tool is called with: the agent's input, or what a person made of it."""
    asked_input: dict[str, Any] | None
    """The agent's input, if a person changed it before approving the call."""
    state: State
    job_id: str | None
    outcome: Outcome | None
    reason: str | None
    created_at: int
    waits_in: int | None
    """The attempt that waits for approval or for the caller."""
    asked_at: int | None
    """When the caller was first asked (ms)."""
    expires_at: int | None
    """Until when the caller may answer (ms)."""


def open(
    tx: Tx, run: RunRecord, attempt: int, key: str, call_id: str, tool: str, given: dict[str, Any], now: int
) -> CallRecord | None:
    """The call that an earlier attempt recorded under this key, or a new one. None when the call is new and `attempt`
    is no longer the run's."""
    document = json.dumps(given, ensure_ascii=False)
    call = {"run_id": run.run_id, "attempt": attempt, "key": key, "call_id": call_id, "tool": tool, "now": now}
    tx.run(_sql["insert"], input=document, **call)
    return get(tx, run.run_id, key)


def take_over(tx: Tx, old: str, new: str) -> None:
    """Record the calls of the run `old` as those of the run `new`. One that waited for approval will be asked about
    again."""
    tx.run(_sql["take_over"], old=old, new=new)


def get(tx: Tx, run_id: str, key: str) -> CallRecord | None:
    return _record(tx.one(_sql["get"], run_id=run_id, key=key))


def first(tx: Tx, run_id: str) -> CallRecord | None:
    return _record(tx.one(_sql["first"], run_id=run_id))


def by_call_id(tx: Tx, run_id: str, call_id: str) -> CallRecord | None:
    return _record(tx.one(_sql["by_call_id"], run_id=run_id, call_id=call_id))


def wait(tx: Tx, call: CallRecord, attempt: int) -> CallRecord | None:
    """Let the call wait for approval; None when `attempt` is no longer the run's."""
    return _record(tx.one(_sql["wait"], run_id=call.run_id, key=call.key, attempt=attempt))


def ask(tx: Tx, call: CallRecord, attempt: int, now: int, expires_at: int) -> CallRecord | None:
    """Let the call wait for the run's caller until `expires_at` (ms); None when `attempt` is no longer the run's."""
    row = tx.one(_sql["ask"], run_id=call.run_id, key=call.key, attempt=attempt, now=now, expires_at=expires_at)
    return _record(row)


def answer(tx: Tx, call: CallRecord, outcome: Outcome, now: int) -> bool:
    """Store the caller's answer; False when the call does not wait for one, or its run is not running."""
    text = outcome.model_dump_json()
    return tx.run(_sql["answer"], run_id=call.run_id, key=call.key, outcome=text, now=now) > 0


def extend(tx: Tx, call: CallRecord, expires_at: int, now: int) -> bool:
    """Let the call wait until `expires_at` (ms); False when it does not wait for the caller."""
    return tx.run(_sql["extend"], run_id=call.run_id, key=call.key, expires_at=expires_at, now=now) > 0


def expire(tx: Tx, call: CallRecord, outcome: Outcome, now: int) -> bool:
    """Give the call this outcome if nobody has answered it in time."""
    text = outcome.model_dump_json()
    return tx.run(_sql["expire"], run_id=call.run_id, key=call.key, outcome=text, now=now) > 0


def go_on(tx: Tx, call: CallRecord, attempt: int) -> None:
    """Note that the attempt does not wait for the call any more."""
    tx.run(_sql["go_on"], run_id=call.run_id, key=call.key, attempt=attempt)


def waiting(tx: Tx, run_id: str) -> list[CallRecord]:
    """The calls that wait for approval."""
    return [found for row in tx.all(_sql["waiting"], run_id=run_id) if (found := _record(row))]


def ended(tx: Tx, run_id: str, limit: int) -> list[CallRecord]:
    """The last calls of a run that have an outcome, in their order."""
    return [found for row in reversed(tx.all(_sql["ended"], run_id=run_id, limit=limit)) if (found := _record(row))]


def has_ended(tx: Tx, run_id: str, tool: str) -> bool:
    """Whether a call of the tool by the run has an outcome."""
    return tx.one(_sql["ended_of_tool"], run_id=run_id, tool=tool) is not None


def diffs(tx: Tx, run_id: str, limit: int) -> list[str]:
    """The diffs of the first `limit` calls of a run that wrote or edited a text file."""
    outcomes = (
        Outcome.model_validate_json(row["outcome"]) for row in tx.all(_sql["edits"], run_id=run_id, limit=limit)
    )
    return [str(block["text"]) for each in outcomes for block in each.content if block.get("format") == "diff"]


def decide(tx: Tx, call: CallRecord, state: State, reason: str, changed: dict[str, Any] | None) -> CallRecord | None:
    """Store a verdict, with the `changed` input, and return the call; None when the call does not wait for one, or its
    run is not running."""
    given = None if changed is None else json.dumps(changed, ensure_ascii=False)
    return _record(tx.one(_sql["decide"], run_id=call.run_id, key=call.key, state=state, reason=reason, input=given))


def move(
    tx: Tx, call: CallRecord, attempt: int, state: State, *, job_id: str | None = None, outcome: Outcome | None = None
) -> CallRecord | None:
    """Set the call's state and return the call; None when `attempt` is no longer the run's."""
    text = None if outcome is None else outcome.model_dump_json()
    moved = {"attempt": attempt, "state": state, "job_id": job_id, "outcome": text}
    return _record(tx.one(_sql["move"], run_id=call.run_id, key=call.key, **moved))


def _record(row: Row | None) -> CallRecord | None:
    if row is None:
        return None
    outcome = None if row["outcome"] is None else Outcome.model_validate_json(row["outcome"])
    asked = None if row["asked_input"] is None else json.loads(row["asked_input"])
    return record(CallRecord, row, input=json.loads(row["input"]), asked_input=asked, outcome=outcome)
