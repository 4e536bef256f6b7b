"""Sessions of signed-in browsers as rows: a digest of the cookie, never the cookie."""

from __future__ import annotations

from dataclasses import dataclass

from agentsvc_nb.service.ports.storage import Tx
from agentsvc_nb.service.records.queries import load

_sql = load("sessions")


@dataclass(frozen=True, slots=True)
class SessionRecord:
    digest: str
    account: str
    created_at: int
    expires_at: int


def insert(tx: Tx, digest: str, account: str, now: int, expires_at: int) -> None:
    tx.run(_sql["insert"], digest=digest, account=account, now=now, expires_at=expires_at)


def get(tx: Tx, digest: str, now: int) -> SessionRecord | None:
    """The session, unless it is over."""
    row = tx.one(_sql["get"], digest=digest, now=now)
    return None if row is None else SessionRecord(**row)


def remove(tx: Tx, digest: str) -> None:
    tx.run(_sql["remove"], digest=digest)


def remove_expired(tx: Tx, now: int) -> None:
    tx.run(_sql["remove_expired"], now=now)
