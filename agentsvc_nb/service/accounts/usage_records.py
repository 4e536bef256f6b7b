"""Read and write charges and holds (amounts reserved for active work) in micro-cents (docs/api/accounts.md)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol

from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.sql import fetch_one, load, record
from agentsvc_nb.wire.limits import CENTS_MAX
from agentsvc_nb.wire.runs import CENT

_sql = load("accounts/usage")

Pool = Literal["wallet", "plan"]
"""The pool that pays for work: the account's prepaid wallet or, for member tokens and MCP, the plan's monthly pool."""


TOKENS_MAX: Final = 10**12
"""The maximum number of tokens that the service counts for a run or job.

A model may report any number, but the sum must fit into the database's integers. `MICROCENTS_MAX` limits the cost for
the same reason.
"""
MICROCENTS_MAX: Final = CENTS_MAX * CENT


class Payer(Protocol):
    """The account, key and pool that pay for a run or job."""

    @property
    def account(self) -> str: ...
    @property
    def key_id(self) -> str: ...
    @property
    def pool(self) -> Pool: ...


@dataclass(slots=True)
class ModelUsage:
    """The tokens and cost of model calls so far. `uncounted` is True if a call had no token counts.

    >>> spent = ModelUsage()
    >>> spent.use(1_000, 500, 150_000)
    >>> spent
    ModelUsage(input_tokens=1000, output_tokens=500, cost_microcents=150000, uncounted=False)
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cost_microcents: int = 0
    uncounted: bool = False

    def use(self, input_tokens: int, output_tokens: int, microcents: int) -> None:
        """Add the tokens and cost of one call."""
        self.input_tokens = min(self.input_tokens + input_tokens, TOKENS_MAX)
        self.output_tokens = min(self.output_tokens + output_tokens, TOKENS_MAX)
        self.cost_microcents = min(self.cost_microcents + microcents, MICROCENTS_MAX)

    def __add__(self, other: ModelUsage) -> ModelUsage:
        """Return the sum of both usages."""
        found = replace(self, uncounted=self.uncounted or other.uncounted)
        found.use(other.input_tokens, other.output_tokens, other.cost_microcents)
        return found


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """A key's charges of one kind in one month. `quantity` counts tokens, pictures or searches, depending on `kind`."""

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


def add_to_day(tx: Tx, account: str, day: str, microcents: int) -> None:
    tx.run(_sql["add_to_day"], account=account, day=day, microcents=microcents)


def sum_of_day(tx: Tx, account: str, day: str) -> int:
    """Return the micro-cents charged to the account on this day, to both pools."""
    return _sum(tx, _sql["of_day"], account=account, day=day)


def sum_of_pool(tx: Tx, account: str, pool: Pool, month: str | None = None) -> int:
    """Return the micro-cents charged to the pool, in total or in one billing month."""
    return _sum(tx, _sql["of_pool"], account=account, pool=pool, month=month)


def sum_of_key_tokens(tx: Tx, account: str, key_id: str, pool: Pool, month: str) -> int:
    """Return the micro-cents charged to the pool for the key's tokens in one month, without per-use charges."""
    return _sum(tx, _sql["tokens_of_key"], account=account, key_id=key_id, pool=pool, month=month)


def sum_holds(tx: Tx, account: str, pool: Pool) -> int:
    """Return the micro-cents that the account's active runs, jobs and direct calls hold in the pool."""
    return _sum(tx, _sql["held"], account=account, pool=pool)


def sum_all_holds(tx: Tx, account: str) -> int:
    """Return the micro-cents that all active work of the account holds, in both pools."""
    return sum_holds(tx, account, "wallet") + sum_holds(tx, account, "plan")


def sum_key_token_holds(tx: Tx, account: str, key_id: str, pool: Pool) -> int:
    """Return the micro-cents that the key's active runs and jobs hold in the pool for tokens."""
    return _sum(tx, _sql["tokens_held_of_key"], account=account, key_id=key_id, pool=pool)


def begin_direct_call(tx: Tx, payer: Payer, call_id: str, microcents: int, process: str | None) -> None:
    """Hold the maximum cost of a direct tool call (one that runs within a request) until `end_direct_call`.

    `process` is the id of the process that executes the call.
    """
    row = {"account": payer.account, "pool": payer.pool, "process": process}
    tx.run(_sql["begin_direct_call"], call_id=call_id, hold_microcents=microcents, **row)


def end_direct_call(tx: Tx, call_id: str) -> bool:
    """Release the hold of a direct call. Return False if the call has already ended."""
    return tx.run(_sql["end_direct_call"], call_id=call_id) == 1


def end_direct_calls(tx: Tx) -> None:
    """Release the holds of direct calls that an earlier process left. The caller must hold the folder's lock."""
    tx.run(_sql["end_direct_calls"])


def by_key_and_month(tx: Tx, account: str) -> list[UsageRecord]:
    return [record(UsageRecord, row) for row in tx.all(_sql["by_key_and_month"], account=account)]


def _sum(tx: Tx, sql: str, **params: str | None) -> int:
    return int(fetch_one(tx, sql, **params)["microcents"])
