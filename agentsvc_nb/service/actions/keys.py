"""Keys: created, and looked up at each request (spec.md "Authentication"; contract §7)."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.ports import Clock, Tx
from agentsvc_nb.service.records import accounts, keys
from agentsvc_nb.service.records.accounts import AccountRecord
from agentsvc_nb.service.records.keys import KeyRecord
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.routes import SCOPES

ACCOUNT = "acct_local"
"""The one account of a self-hosted service."""

_PREFIX_CHARS = len(ids.MEMBER_PREFIX) + 4


def create(
    tx: Tx,
    clock: Clock,
    *,
    name: str,
    scopes: tuple[str, ...] = (),
    budget_cents: int | None = None,
    member: bool = False,
) -> tuple[KeyRecord, str]:
    """A new key and its secret, which is stored nowhere. Raises `Fail("invalid_scope")`."""
    unknown = [scope for scope in scopes if scope not in SCOPES]
    if unknown:
        raise Fail("invalid_scope", f"Unknown scope {unknown[0]!r}: use {', '.join(SCOPES)}.")
    secret = ids.new_key(member)
    record = keys.insert(
        tx,
        id=ids.new("key"),
        account=ACCOUNT,
        name=name,
        prefix=secret[:_PREFIX_CHARS],
        digest=_digest(_pepper(tx), secret),
        member=member,
        scopes=scopes,
        budget_cents=budget_cents,
        now=clock.now(),
    )
    return record, secret


def find(tx: Tx, secret: str) -> tuple[KeyRecord, AccountRecord]:
    """The key with this secret, and its account.

    Raises `unauthorized` for unknown, malformed and revoked ones alike, `key_suspended` and `plan_access_required`.
    """
    pepper = keys.meta(tx, "pepper")
    record = keys.by_digest(tx, _digest(pepper, secret)) if pepper else None
    if record is None or record.revoked_at is not None:
        raise Fail("unauthorized")
    if record.suspended_at is not None:
        raise Fail("key_suspended")
    account = accounts.get(tx, record.account)
    if not account.plan:
        raise Fail("plan_access_required")
    return record, account


def _pepper(tx: Tx) -> str:
    keys.set_meta(tx, "pepper", secrets.token_hex(32))
    pepper = keys.meta(tx, "pepper")
    assert pepper is not None
    return pepper


def _digest(pepper: str, secret: str) -> str:
    return hmac.new(pepper.encode(), secret.encode(errors="surrogateescape"), hashlib.sha256).hexdigest()
