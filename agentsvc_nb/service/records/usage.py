"""What was billed and what is held, in micro-cents (contract §7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.records.queries import load

_sql = load("usage")

Pool = Literal["wallet", "plan"]
"""What pays: the account's prepaid wallet, or for member tokens the plan's monthly pool."""


class Payer(Protocol):
    """Whose usage it is: a key, or the run or job that it started."""

    @property
    def account(self) -> str: ...
    @property
    def key_id(self) -> str: ...
    @property
    def pool(self) -> Pool: ...


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """One line of the bill; `quantity` are tokens, pictures or searches."""

    key_id: str
    month: str
    pool: Pool
    kind: str
    quantity: int
    microcents: int


def add(tx: Tx, payer: Payer, month: str, kind: str, quantity: int, microcents: int) -> None:
    tx.run(
        _sql["add"],
        account=payer.account,
        key_id=payer.key_id,
        pool=payer.pool,
        month=month,
        kind=kind,
        quantity=quantity,
        microcents=microcents,
    )


def of_pool(tx: Tx, account: str, pool: Pool, month: str | None = None) -> int:
    """All that was billed to the pool, or what was in one month."""
    return _sum(tx, _sql["of_pool"], account=account, pool=pool, month=month)


def tokens_of_key(tx: Tx, account: str, key_id: str, month: str) -> int:
    """What counts against a key's budget: no per-use charges (spec.md "Per-key budget")."""
    return _sum(tx, _sql["tokens_of_key"], account=account, key_id=key_id, month=month)


def held(tx: Tx, account: str, pool: Pool) -> int:
    """The holds of the account's active runs and jobs."""
    return _sum(tx, _sql["held"], account=account, pool=pool)


def held_by_runs_of_key(tx: Tx, account: str, key_id: str) -> int:
    """What may yet count against the key's budget: runs use tokens, tools are billed by use."""
    return _sum(tx, _sql["held_by_runs_of_key"], account=account, key_id=key_id)


def by_key_and_month(tx: Tx, account: str) -> list[UsageRecord]:
    return [UsageRecord(**row) for row in tx.all(_sql["by_key_and_month"], account=account)]


def _sum(tx: Tx, sql: str, **params: str | None) -> int:
    row = tx.one(sql, **params)
    assert row is not None
    found: int = row["microcents"]
    return found
