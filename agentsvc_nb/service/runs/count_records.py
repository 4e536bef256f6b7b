"""How much is under way now, and when attempts began and were cut off: for metrics and traces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentsvc_nb.service.ports import Row, Tx
from agentsvc_nb.service.sql import load

_sql = load("runs/counts")
STATES: Final = ("queued", "running", "cancelling")


@dataclass(frozen=True, slots=True)
class Active:
    """Active runs or jobs: how many of each state, and when the oldest queued one was made (ms; None without any)."""

    by_status: dict[str, int]
    queued_since: int | None


def runs(tx: Tx) -> Active:
    return _active(tx.all(_sql["runs"]))


def jobs(tx: Tx) -> Active:
    return _active(tx.all(_sql["jobs"]))


def _active(rows: list[Row]) -> Active:
    found = {row["status"]: row for row in rows}
    by_status = {status: found[status]["works"] if status in found else 0 for status in STATES}
    return Active(by_status, found["queued"]["oldest"] if "queued" in found else None)


def approvals(tx: Tx) -> int:
    """The number of tool calls that wait for approval."""
    row = tx.one(_sql["approvals"])
    assert row is not None
    found: int = row["works"]
    return found


def database_bytes(tx: Tx) -> int:
    """The size of the database."""
    row = tx.one(_sql["database_bytes"])
    assert row is not None
    found: int = row["bytes"]
    return found


def event_time(tx: Tx, run_id: str, event_id: int) -> int | None:
    """When the run's event was written, in ms."""
    row = tx.one(_sql["event_time"], run_id=run_id, id=event_id)
    return None if row is None else row["created_at"]


def last_resumed(tx: Tx, run_id: str, event_id: int) -> int | None:
    """When the run was last resumed, up to this event, in ms; None if it never was."""
    row = tx.one(_sql["last_resumed"], run_id=run_id, id=event_id)
    return None if row is None else row["created_at"]
