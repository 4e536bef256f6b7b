"""Read and write rows of accounts, request counters, API keys, browser sessions, and the table `meta`.

`meta` has facts about the database. The database stores only hashes of the secrets of keys and sessions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from agentsvc_nb.service.ports import Row, Tx
from agentsvc_nb.service.sql import fetch_one, load, public, record
from agentsvc_nb.wire.resources import ApiKey

_sql = load("accounts/accounts")

State = Literal["active", "throttled", "suspended"]


@dataclass(frozen=True, slots=True)
class AccountRecord:
    """An account's row."""

    id: str
    state: State = "active"
    state_until: int | None = None
    """The time (ms) at which `state` expires. None means that it is valid until the operator changes it."""
    plan: bool = True
    review_since: int | None = None
    """The time (ms) since which the account's prepaid wallet is under review (`set_review`), or None."""

    def state_at(self, now: int) -> State:
        """Return the state at the time `now` (ms): `state`, or `active` once `state` has expired."""
        over = self.state_until is not None and self.state_until <= now
        return "active" if over else self.state


def get(tx: Tx, account: str) -> AccountRecord:
    """Return the account, or an account with default values if it has no row."""
    row = tx.one(_sql["get"], id=account)
    return AccountRecord(account) if row is None else record(AccountRecord, row, plan=bool(row["plan"]))


def set_state(tx: Tx, account: str, state: State, until: int | None = None) -> None:
    """Set the account's state until `until` (ms), or permanently.

    If the account is not active, the service refuses its requests with `user_suspended` or `user_throttled`.
    """
    _ensure(tx, account)
    tx.run(_sql["set_state"], id=account, state=state, state_until=until)


def set_plan(tx: Tx, account: str, plan: bool) -> None:
    """Set whether the account has the plan. Without the plan, every request fails with `plan_access_required`."""
    _ensure(tx, account)
    tx.run(_sql["set_plan"], id=account, plan=int(plan))


def set_review(tx: Tx, account: str, since: int | None) -> None:
    """Put the account's wallet under review since the time `since` (ms). None ends the review.

    A model call without token counts has an unknown cost. The operator settles that cost and then ends the review.
    """
    _ensure(tx, account)
    tx.run(_sql["set_review"], id=account, since=since)


def count_request(tx: Tx, subject: str, span: str, begins: int) -> int:
    """Count a request of `subject`, the id of a key or account, against the limit with the name `span`.

    Return the number of its requests since `begins` (ms), the start of the limit's current minute or day.
    """
    return int(fetch_one(tx, _sql["count"], subject=subject, span=span, begins=begins)["requests"])


def _ensure(tx: Tx, account: str) -> None:
    tx.run(_sql["ensure"], id=account)


_sessions = load("accounts/sessions")


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """The row of a browser session, identified by the hash of its secret. Times are in ms."""

    digest: str
    account: str
    created_at: int
    expires_at: int


def insert_session(tx: Tx, digest: str, account: str, now: int, expires_at: int) -> None:
    tx.run(_sessions["insert"], digest=digest, account=account, now=now, expires_at=expires_at)


def get_session(tx: Tx, digest: str, now: int) -> SessionRecord | None:
    """Return the session, or None if it is unknown or has expired."""
    return record(SessionRecord, tx.one(_sessions["get"], digest=digest, now=now))


def remove_session(tx: Tx, digest: str) -> None:
    tx.run(_sessions["remove"], digest=digest)


def remove_expired_sessions(tx: Tx, now: int) -> None:
    tx.run(_sessions["remove_expired"], now=now)


_keys = load("accounts/keys")


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """An API key's row. Empty `scopes` means all scopes (docs/api/accounts.md "Scopes")."""

    id: str
    account: str
    name: str
    prefix: str
    digest: str
    member: bool
    scopes: tuple[str, ...]
    budget_cents: int | None
    created_at: int
    suspended_at: int | None
    revoked_at: int | None

    def public(self) -> ApiKey:
        status = "active" if self.suspended_at is None else "suspended"
        return public(ApiKey, self, scopes=list(self.scopes), monthly_budget_cents=self.budget_cents, status=status)


def insert_key(tx: Tx, *, member: bool, scopes: tuple[str, ...], **columns: str | int | None) -> KeyRecord:
    """Insert a key with these columns."""
    return _key_record(fetch_one(tx, _keys["insert"], member=int(member), scopes=json.dumps(scopes), **columns))


def key_by_digest(tx: Tx, digest: str) -> KeyRecord | None:
    row = tx.one(_keys["by_digest"], digest=digest)
    return None if row is None else _key_record(row)


def get_key(tx: Tx, account: str, id: str) -> KeyRecord | None:
    row = tx.one(_keys["get"], id=id, account=account)
    return None if row is None else _key_record(row)


def all_keys(tx: Tx, account: str) -> list[KeyRecord]:
    """Return the account's keys, including revoked ones, oldest first."""
    return [_key_record(row) for row in tx.all(_keys["all"], account=account)]


def find_keys(tx: Tx, account: str, text: str) -> list[KeyRecord]:
    """Return the keys, except revoked ones, that have this id, name or displayed prefix."""
    return [_key_record(row) for row in tx.all(_keys["find"], account=account, text=text)]


def suspend_key(tx: Tx, id: str, at: int | None) -> None:
    """Suspend the key from `at` (ms). None ends the suspension."""
    tx.run(_keys["suspend"], id=id, at=at)


def revoke_key(tx: Tx, id: str, at: int) -> None:
    tx.run(_keys["revoke"], id=id, at=at)


def meta(tx: Tx, name: str) -> str | None:
    row = tx.one(_keys["meta"], name=name)
    return None if row is None else row["value"]


def set_meta(tx: Tx, name: str, value: str) -> None:
    """Store `value` under `name`, unless the name already has a value."""
    tx.run(_keys["set_meta"], name=name, value=value)


def _key_record(row: Row) -> KeyRecord:
    return record(KeyRecord, row, member=bool(row["member"]), scopes=tuple(json.loads(row["scopes"])))
