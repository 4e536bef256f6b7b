"""Accounts, request counters and browser sessions as rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.records.queries import load

_sql = load("accounts")

State = Literal["active", "throttled", "suspended"]


@dataclass(frozen=True, slots=True)
class AccountRecord:
    """An account. `state` holds until `state_until` (ms), or until the operator changes it; `review_since` (ms) is set
    while the wallet waits for reconciliation."""

    id: str
    state: State = "active"
    state_until: int | None = None
    plan: bool = True
    review_since: int | None = None

    def state_at(self, now: int) -> State:
        """`state`, or `active` once it has expired."""
        over = self.state_until is not None and self.state_until <= now
        return "active" if over else self.state


def get(tx: Tx, account: str) -> AccountRecord:
    """The account; one without a row has the defaults."""
    row = tx.one(_sql["get"], id=account)
    return AccountRecord(account) if row is None else AccountRecord(**{**row, "plan": bool(row["plan"])})


def set_state(tx: Tx, account: str, state: State, until: int | None) -> None:
    _ensure(tx, account)
    tx.run(_sql["set_state"], id=account, state=state, state_until=until)


def set_plan(tx: Tx, account: str, plan: bool) -> None:
    _ensure(tx, account)
    tx.run(_sql["set_plan"], id=account, plan=int(plan))


def set_review(tx: Tx, account: str, since: int | None) -> None:
    _ensure(tx, account)
    tx.run(_sql["set_review"], id=account, since=since)


def count_request(tx: Tx, subject: str, span: str, begins: int) -> int:
    """Count one request of `subject` (the id of a key or account) against the limit `span`; the number counted since
    `begins` (ms)."""
    row = tx.one(_sql["count"], subject=subject, span=span, begins=begins)
    assert row is not None
    requests: int = row["requests"]
    return requests


def _ensure(tx: Tx, account: str) -> None:
    tx.run(_sql["ensure"], id=account)


_sessions = load("sessions")


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A browser session's row, by the hash of its secret. Times are in ms."""

    digest: str
    account: str
    created_at: int
    expires_at: int


def insert(tx: Tx, digest: str, account: str, now: int, expires_at: int) -> None:
    tx.run(_sessions["insert"], digest=digest, account=account, now=now, expires_at=expires_at)


def session_of(tx: Tx, digest: str, now: int) -> SessionRecord | None:
    """The session; None when it is unknown or has expired."""
    row = tx.one(_sessions["get"], digest=digest, now=now)
    return None if row is None else SessionRecord(**row)


def remove(tx: Tx, digest: str) -> None:
    tx.run(_sessions["remove"], digest=digest)


def remove_expired(tx: Tx, now: int) -> None:
    tx.run(_sessions["remove_expired"], now=now)
