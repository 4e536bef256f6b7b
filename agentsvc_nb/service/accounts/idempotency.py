"""Store idempotency keys and the run or job that each key has started (docs/api/runs.md "Idempotency keys").

The transaction that starts the work also writes the key's row. So if two concurrent requests use the same key, one
starts the work and the other finds the row.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.sql import load

_sql = load("accounts/idempotency")


@dataclass(frozen=True, slots=True)
class IdempotencyScope:
    """An idempotency key and the scope within which it is unique."""

    account: str
    kind: str
    """`run`, or the family of the tool that a job calls."""
    address: str
    """The chat fields of a request that starts a run, the run that a request resumes, or "" for a job."""
    utc_day: str
    key: str | None
    """The idempotency key. If it is None, nothing is stored or looked up."""


def remember(tx: Tx, scope: IdempotencyScope, target: str) -> None:
    """Record that the key started `target`, the id of a run or job."""
    if scope.key is not None:
        tx.run(_sql["remember"], target=target, **asdict(scope))


def recall(tx: Tx, scope: IdempotencyScope) -> str | None:
    """Return the id of the run or job that the key started, or None if the key is new."""
    row = None if scope.key is None else tx.one(_sql["recall"], **asdict(scope))
    return None if row is None else row["target"]


def forget(tx: Tx, before_day: str, limit: int) -> int:
    """Delete up to `limit` keys of UTC days before `before_day`. Return the number deleted."""
    return tx.run(_sql["forget"], before_day=before_day, limit=limit)
