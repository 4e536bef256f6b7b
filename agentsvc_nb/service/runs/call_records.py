"""Read and write the rows of runs' tool calls. A write of an attempt that is no longer current changes nothing."""

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
    """A tool call of a run.

    A new attempt at the run repeats the run's last step, and finds the calls of this step by their `key`.
    """

    run_id: str
    key: str
    call_id: str
    tool: str
    input: dict[str, Any]
    """The input with which the tool is called: the agent's input, or the input as a person changed it."""
    asked_input: dict[str, Any] | None
    """The agent's input if a person changed the input before approving the call, otherwise None."""
    state: State
    job_id: str | None
    outcome: Outcome | None
    reason: str | None
    created_at: int
    waits_in: int | None
    """The number of the attempt that waits for a person's approval or for the caller's answer."""
    asked_at: int | None
    """The time of the first request to the run's caller (ms)."""
    expires_at: int | None
    """The time until which the run's caller may answer (ms)."""


def open(
    tx: Tx, run: RunRecord, attempt: int, key: str, call_id: str, tool: str, given: dict[str, Any], now: int
) -> CallRecord | None:
    """Return the call with this key. Insert the call first if it does not exist.

    Return None if the call does not exist and `attempt` is no longer the run's current attempt.
    """
    document = json.dumps(given, ensure_ascii=False)
    call = {"run_id": run.run_id, "attempt": attempt, "key": key, "call_id": call_id, "tool": tool, "now": now}
    tx.run(_sql["insert"], input=document, **call)
    return get(tx, run.run_id, key)


def copy_to(tx: Tx, old: str, new: str) -> None:
    """Copy the calls of the run `old` to the run `new`.

    If a call waits for approval or an answer, the copy no longer waits, so that the run `new` requests it again.
    """
    tx.run(_sql["take_over"], old=old, new=new)


def get(tx: Tx, run_id: str, key: str) -> CallRecord | None:
    return _record(tx.one(_sql["get"], run_id=run_id, key=key))


def get_first(tx: Tx, run_id: str) -> CallRecord | None:
    return _record(tx.one(_sql["first"], run_id=run_id))


def by_call_id(tx: Tx, run_id: str, call_id: str) -> CallRecord | None:
    return _record(tx.one(_sql["by_call_id"], run_id=run_id, call_id=call_id))


def wait(tx: Tx, call: CallRecord, attempt: int) -> CallRecord | None:
    """Mark the call as waiting for approval. Return None if `attempt` is no longer the run's current attempt."""
    return _record(tx.one(_sql["wait"], run_id=call.run_id, key=call.key, attempt=attempt))


def ask(tx: Tx, call: CallRecord, attempt: int, now: int, expires_at: int) -> CallRecord | None:
    """Mark the call as waiting for the answer of the run's caller until `expires_at` (ms).

    Return None if `attempt` is no longer the run's current attempt.
    """
    row = tx.one(_sql["ask"], run_id=call.run_id, key=call.key, attempt=attempt, now=now, expires_at=expires_at)
    return _record(row)


def answer(tx: Tx, call: CallRecord, outcome: Outcome, now: int) -> bool:
    """Store the caller's answer. Return False if the call is not waiting for an answer, or its run is not running."""
    text = outcome.model_dump_json()
    return tx.run(_sql["answer"], run_id=call.run_id, key=call.key, outcome=text, now=now) > 0


def extend(tx: Tx, call: CallRecord, expires_at: int, now: int) -> bool:
    """Extend the time for an answer until `expires_at` (ms). Return False if the call is not waiting for an answer."""
    return tx.run(_sql["extend"], run_id=call.run_id, key=call.key, expires_at=expires_at, now=now) > 0


def expire(tx: Tx, call: CallRecord, outcome: Outcome, now: int) -> bool:
    """Store `outcome` if the time for an answer is over. Return False if the call was answered or extended."""
    text = outcome.model_dump_json()
    return tx.run(_sql["expire"], run_id=call.run_id, key=call.key, outcome=text, now=now) > 0


def end_wait(tx: Tx, call: CallRecord, attempt: int) -> None:
    """Record that the attempt no longer waits for the call's approval or answer."""
    tx.run(_sql["go_on"], run_id=call.run_id, key=call.key, attempt=attempt)


def list_waiting(tx: Tx, run_id: str) -> list[CallRecord]:
    """Return the run's calls that wait for approval."""
    return [found for row in tx.all(_sql["waiting"], run_id=run_id) if (found := _record(row))]


def list_ended(tx: Tx, run_id: str, limit: int) -> list[CallRecord]:
    """Return the last `limit` calls of a run that have an outcome, oldest first."""
    return [found for row in reversed(tx.all(_sql["ended"], run_id=run_id, limit=limit)) if (found := _record(row))]


def has_outcome(tx: Tx, run_id: str, tool: str) -> bool:
    """Return whether the run has called this tool and recorded the outcome."""
    return tx.one(_sql["ended_of_tool"], run_id=run_id, tool=tool) is not None


def list_diffs(tx: Tx, run_id: str, limit: int) -> list[str]:
    """Return the diffs of text files from the run's first `limit` calls of `edit_file` and `write_file`."""
    outcomes = (
        Outcome.model_validate_json(row["outcome"]) for row in tx.all(_sql["edits"], run_id=run_id, limit=limit)
    )
    return [str(block["text"]) for each in outcomes for block in each.content if block.get("format") == "diff"]


def decide(tx: Tx, call: CallRecord, state: State, reason: str, changed: dict[str, Any] | None) -> CallRecord | None:
    """Store a verdict and, if a person changed the call's input, the changed input.

    Return None if the call is not waiting for approval or its run is not running.
    """
    given = None if changed is None else json.dumps(changed, ensure_ascii=False)
    return _record(tx.one(_sql["decide"], run_id=call.run_id, key=call.key, state=state, reason=reason, input=given))


def move(
    tx: Tx, call: CallRecord, attempt: int, state: State, *, job_id: str | None = None, outcome: Outcome | None = None
) -> CallRecord | None:
    """Set the call's state and return the updated call. Return None if `attempt` is not the run's current one."""
    text = None if outcome is None else outcome.model_dump_json()
    moved = {"attempt": attempt, "state": state, "job_id": job_id, "outcome": text}
    return _record(tx.one(_sql["move"], run_id=call.run_id, key=call.key, **moved))


def _record(row: Row | None) -> CallRecord | None:
    if row is None:
        return None
    outcome = None if row["outcome"] is None else Outcome.model_validate_json(row["outcome"])
    asked = None if row["asked_input"] is None else json.loads(row["asked_input"])
    return record(CallRecord, row, input=json.loads(row["input"]), asked_input=asked, outcome=outcome)
