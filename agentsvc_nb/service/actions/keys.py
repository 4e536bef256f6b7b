"""Keys: created, and looked up at each request (spec.md "Authentication"; contract §7)."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import replace

from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.ports.storage import Clock, Tx
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
    check_scopes(scopes)
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


def check_scopes(scopes: Sequence[str]) -> None:
    """Raises `invalid_scope`: an unknown scope is never ignored (spec.md "Scopes")."""
    unknown = [scope for scope in scopes if scope not in SCOPES]
    if unknown:
        raise Fail("invalid_scope", f"Unknown scope {unknown[0]!r}: use {', '.join(SCOPES)}.")


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


def suspend(tx: Tx, text: str, now: int) -> KeyRecord:
    """Refuse the key with this id, name or prefix as `key_suspended`. Raises `key_not_found`."""
    return _set_suspended(tx, text, now)


def resume(tx: Tx, text: str, now: int) -> KeyRecord:
    return _set_suspended(tx, text, None)


def revoke(tx: Tx, text: str, now: int) -> KeyRecord:
    """End the key for good: it is answered as if there had never been one."""
    key = _named(tx, text)
    keys.revoke(tx, key.id, now)
    return replace(key, revoked_at=now)


def get(tx: Tx, account: str, id: str) -> KeyRecord:
    """The key with this id. Raises `key_not_found` for a deleted one, too."""
    record = keys.get(tx, account, id)
    if record is None or record.revoked_at is not None:
        raise Fail("key_not_found")
    return record


def delete(tx: Tx, account: str, id: str, now: int) -> None:
    """End the key for good. Its row stays, for what it used. Raises `key_not_found`."""
    keys.revoke(tx, get(tx, account, id).id, now)


def _set_suspended(tx: Tx, text: str, at: int | None) -> KeyRecord:
    key = _named(tx, text)
    keys.suspend(tx, key.id, at)
    return replace(key, suspended_at=at)


def _named(tx: Tx, text: str) -> KeyRecord:
    found = keys.find(tx, ACCOUNT, text.rstrip(".…"))
    if not found:
        raise Fail("key_not_found", f"No key has the id, name or prefix {text!r}.")
    if len(found) > 1:
        raise Fail("key_not_found", f"{len(found)} keys are called {text!r}: give one of {_ids(found)}.")
    return found[0]


def _ids(found: list[KeyRecord]) -> str:
    return ", ".join(key.id for key in found)


def _pepper(tx: Tx) -> str:
    keys.set_meta(tx, "pepper", secrets.token_hex(32))
    pepper = keys.meta(tx, "pepper")
    assert pepper is not None
    return pepper


def _digest(pepper: str, secret: str) -> str:
    return hmac.new(pepper.encode(), secret.encode(errors="surrogateescape"), hashlib.sha256).hexdigest()
