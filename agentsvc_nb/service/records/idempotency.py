"""Which work an Idempotency-Key started (docs/api/runs.md "Idempotency keys").

The row is written in the transaction that starts the work, so that of two starts at one moment one starts and the
other finds its row.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.records.queries import load

_sql = load("replays")


@dataclass(frozen=True, slots=True)
class IdempotencyScope:
    """Where a key counts. `kind` is `run` or a tool's family; `address` what else makes it unique
    (docs/api/runs.md)."""

    account: str
    kind: str
    address: str
    utc_day: str
    key: str


def remember(tx: Tx, where: IdempotencyScope, target: str) -> None:
    tx.run(_sql["remember"], target=target, **_params(where))


def recall(tx: Tx, where: IdempotencyScope) -> str | None:
    row = tx.one(_sql["recall"], **_params(where))
    return None if row is None else row["target"]


def _params(where: IdempotencyScope) -> dict[str, str]:
    return {
        "account": where.account,
        "kind": where.kind,
        "address": where.address,
        "utc_day": where.utc_day,
        "key": where.key,
    }
