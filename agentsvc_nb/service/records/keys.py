"""API keys as rows, which hold a keyed hash of the secret, never the secret; and the values of the table `meta`."""

from __future__ import annotations

import json
from dataclasses import dataclass

from agentsvc_nb.service.ports import Row, Tx
from agentsvc_nb.service.records.queries import load
from agentsvc_nb.wire.resources import ApiKey
from agentsvc_nb.wire.times import rfc3339

_sql = load("keys")


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key. Empty `scopes` means all scopes (docs/api/accounts.md "Scopes")."""

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
        return ApiKey(
            id=self.id,
            name=self.name,
            prefix=self.prefix,
            scopes=list(self.scopes),
            monthly_budget_cents=self.budget_cents,
            status="active" if self.suspended_at is None else "suspended",
            created_at=rfc3339(self.created_at),
        )


def insert(
    tx: Tx,
    *,
    id: str,
    account: str,
    name: str,
    prefix: str,
    digest: str,
    member: bool,
    scopes: tuple[str, ...],
    budget_cents: int | None,
    now: int,
) -> KeyRecord:
    row = tx.one(
        _sql["insert"],
        id=id,
        account=account,
        name=name,
        prefix=prefix,
        digest=digest,
        member=int(member),
        scopes=json.dumps(scopes),
        budget_cents=budget_cents,
        now=now,
    )
    assert row is not None
    return _read(row)


def by_digest(tx: Tx, digest: str) -> KeyRecord | None:
    row = tx.one(_sql["by_digest"], digest=digest)
    return None if row is None else _read(row)


def get(tx: Tx, account: str, id: str) -> KeyRecord | None:
    row = tx.one(_sql["get"], id=id, account=account)
    return None if row is None else _read(row)


def all(tx: Tx, account: str) -> list[KeyRecord]:
    """Every key, revoked ones included, oldest first."""
    return [_read(row) for row in tx.all(_sql["all"], account=account)]


def find(tx: Tx, account: str, text: str) -> list[KeyRecord]:
    """Keys that are not revoked, with this id, name or displayed prefix."""
    return [_read(row) for row in tx.all(_sql["find"], account=account, text=text)]


def suspend(tx: Tx, id: str, at: int | None) -> None:
    """Suspend the key from `at` (ms); None ends the suspension."""
    tx.run(_sql["suspend"], id=id, at=at)


def revoke(tx: Tx, id: str, at: int) -> None:
    tx.run(_sql["revoke"], id=id, at=at)


def meta(tx: Tx, name: str) -> str | None:
    row = tx.one(_sql["meta"], name=name)
    return None if row is None else row["value"]


def set_meta(tx: Tx, name: str, value: str) -> None:
    """Store `value` under `name`, unless the name has a value already."""
    tx.run(_sql["set_meta"], name=name, value=value)


def _read(row: Row) -> KeyRecord:
    return KeyRecord(**{**row, "member": bool(row["member"]), "scopes": tuple(json.loads(row["scopes"]))})
