"""Authorization codes, each good for one token: a hash of the code, and what the user allowed whom."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.service.ports import Row, Tx
from agentsvc_nb.service.sql import load, record

_sql: Final = load("accounts/oauth")


@dataclass(frozen=True, slots=True)
class CodeRecord:
    """A code: who asked (`client_id`), where the answer went, the S256 challenge, and the token that it is good for
    until `expires_at`. `used_at` is when it was first shown, `key_id` what that gave. Times are in ms."""

    digest: str
    account: str
    client_id: str
    redirect_uri: str
    challenge: str
    resource: str
    scopes: tuple[str, ...]
    budget_cents: int | None
    token_expires_at: int
    expires_at: int
    used_at: int | None = None
    key_id: str | None = None


def insert(tx: Tx, code: CodeRecord) -> None:
    tx.run(
        _sql["insert"],
        digest=code.digest,
        account=code.account,
        client_id=code.client_id,
        redirect_uri=code.redirect_uri,
        challenge=code.challenge,
        resource=code.resource,
        scopes=json.dumps(code.scopes),
        budget_cents=code.budget_cents,
        token_expires_at=code.token_expires_at,
        expires_at=code.expires_at,
    )


def get(tx: Tx, digest: str) -> CodeRecord | None:
    return _code(tx.one(_sql["get"], digest=digest))


def take(tx: Tx, digest: str, now: int) -> CodeRecord | None:
    """Mark the code as used; None for one that was used before, or is unknown."""
    return _code(tx.one(_sql["take"], digest=digest, now=now))


def set_key(tx: Tx, digest: str, key_id: str) -> None:
    """Record what the code gave."""
    tx.run(_sql["set_key"], digest=digest, key_id=key_id)


def forget(tx: Tx, before: int) -> None:
    """Delete the codes that expired before that time (ms)."""
    tx.run(_sql["forget"], before=before)


def _code(row: Row | None) -> CodeRecord | None:
    return None if row is None else record(CodeRecord, row, scopes=tuple(json.loads(row["scopes"])))
