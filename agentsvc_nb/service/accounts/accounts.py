"""Use cases of accounts, their API keys, and the sessions of signed-in browsers."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from agentsvc_nb.service.accounts import account_records, usage_records
from agentsvc_nb.service.accounts.account_records import AccountRecord, KeyRecord, SessionRecord
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.new_ids import MEMBER_PREFIX, new_id, new_key
from agentsvc_nb.service.ports import Clock, Tx
from agentsvc_nb.service.terms import TERMS_VERSION
from agentsvc_nb.service.times import local_day, local_day_end, rfc3339, utc_month
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.wire.limits import SESSION_SECONDS
from agentsvc_nb.wire.resources import SCOPES, CreatedKey, DayUsage, NewKey
from agentsvc_nb.wire.runs import CENT

ACCOUNT = "acct_local"
"""The id of the only account of a self-hosted service."""

_PREFIX_CHARS = len(MEMBER_PREFIX) + 4


def create_key(
    tx: Tx,
    clock: Clock,
    *,
    name: str,
    account: str = ACCOUNT,
    scopes: tuple[str, ...] = (),
    budget_cents: int | None = None,
    member: bool = False,
    shared_secret: str | None = None,
) -> tuple[KeyRecord, str]:
    """Create a key. Return its record and its secret.

    The database stores only a hash of the key's secret, keyed with `shared_secret` or else with the database's own
    secret. Raises `ApiError("invalid_scope")`.
    """
    check_scopes(scopes)
    secret = new_key(member)
    record = account_records.insert_key(
        tx,
        id=new_id("key"),
        account=account,
        name=name,
        prefix=secret[:_PREFIX_CHARS],
        digest=_digest(shared_secret or own_secret(tx), secret),
        member=member,
        scopes=scopes,
        budget_cents=budget_cents,
        now=clock.now(),
    )
    return record, secret


def own_secret(tx: Tx) -> str:
    """Return the secret with which a database in a data folder hashes its keys. Create it if there is none yet."""
    account_records.set_meta(tx, "pepper", secrets.token_hex(32))
    pepper = account_records.meta(tx, "pepper")
    assert pepper is not None
    return pepper


def known_own_secret(tx: Tx) -> str | None:
    """Return the result of `own_secret`, or None if the secret was never created."""
    return account_records.meta(tx, "pepper")


def check_shared_secret(tx: Tx, shared_secret: str) -> bool:
    """Return whether the database hashes its keys with this secret. If none was set yet, set it: store its hash."""
    fingerprint = _digest(shared_secret, "agentsvc")
    account_records.set_meta(tx, "secret", fingerprint)
    return account_records.meta(tx, "secret") == fingerprint


def knows_shared_secret(tx: Tx, shared_secret: str) -> bool:
    """Return whether `check_shared_secret` would accept this secret, but store nothing."""
    return account_records.meta(tx, "secret") in (None, _digest(shared_secret, "agentsvc"))


def check_terms(accepted: object, version: object) -> None:
    """Check that the user has accepted the current developer terms.

    Raises `developer_terms_not_accepted` or `developer_terms_version_mismatch`, with the required version.
    """
    required = {"requiredDeveloperTermsVersion": TERMS_VERSION}
    if accepted is not True:
        raise ApiError("developer_terms_not_accepted", top=required)
    if version != TERMS_VERSION:
        raise ApiError("developer_terms_version_mismatch", top=required)


async def issue_key(context: UseCaseContext, given: NewKey) -> CreatedKey:
    """Create a key for a signed-in user. Only this response contains the key's secret. Call `check_terms` first."""
    name, budget, scopes = given.name, given.monthly_budget_cents, tuple(dict.fromkeys(given.scopes or ()))
    record, secret = await context.write(
        lambda tx: create_key(
            tx,
            context.clock,
            name=name,
            scopes=scopes,
            budget_cents=budget,
            shared_secret=context.settings.shared_secret,
        )
    )
    return CreatedKey(**record.public().model_dump(), key=secret)


async def list_keys(context: UseCaseContext, account: str) -> list[KeyRecord]:
    """Return the account's keys, including deleted keys, because charges refer to them."""
    return await context.read(lambda tx: account_records.all_keys(tx, account))


async def list_usage(context: UseCaseContext, account: str) -> list[usage_records.UsageRecord]:
    """Return the account's charges, by month and key."""
    return await context.read(lambda tx: usage_records.by_key_and_month(tx, account))


async def usage_of_today(context: UseCaseContext, account: str) -> DayUsage:
    """Return today's charges of the account, the money reserved for its active work, and its daily budget."""
    now, limit = context.now, context.settings.day_cents

    def use(tx: Tx) -> tuple[int, int]:
        return usage_records.sum_of_day(tx, account, local_day(now)), usage_records.sum_all_holds(tx, account)

    billed, held = await context.read(use)
    return DayUsage(
        day=local_day(now),
        billed_cents=billed / CENT,
        held_cents=held / CENT,
        limit_cents=limit,
        resets_at=rfc3339(local_day_end(now)),
    )


def check_scopes(scopes: Sequence[str]) -> None:
    """Raise `invalid_scope` for an unknown scope. Unknown scopes are never ignored (docs/api/accounts.md "Scopes")."""
    unknown = [scope for scope in scopes if scope not in SCOPES]
    if unknown:
        raise ApiError("invalid_scope", f"Unknown scope {unknown[0]!r}. Valid scopes: {', '.join(SCOPES)}.")


def find_key(tx: Tx, secret: str, shared_secret: str | None = None) -> tuple[KeyRecord, AccountRecord]:
    """Return the key with this secret, and its account.

    The database hashes the secrets of keys with `shared_secret`, or with its own secret if that is None.

    Raises `unauthorized` for an unknown, malformed or revoked key, `key_suspended`, and `plan_access_required`.
    """
    pepper = shared_secret or account_records.meta(tx, "pepper")
    # Without a pepper (a secret for hashing), the database has no keys.
    record = account_records.key_by_digest(tx, _digest(pepper, secret)) if pepper else None
    if record is None or record.revoked_at is not None:
        raise ApiError("unauthorized")
    if record.suspended_at is not None:
        raise ApiError("key_suspended")
    account = account_records.get(tx, record.account)
    if not account.plan:
        raise ApiError("plan_access_required")
    return record, account


def change_key(tx: Tx, text: str, change: Literal["suspend", "resume", "revoke"], now: int) -> KeyRecord:
    """Suspend, resume or permanently revoke the key with this id, name or prefix.

    The service refuses requests of a suspended key with `key_suspended`, and of a revoked key with `unauthorized`.

    Raises `key_not_found`, also when several keys match.
    """
    found = account_records.find_keys(tx, ACCOUNT, text.rstrip(".…"))
    if not found:
        raise ApiError("key_not_found", f"No key has the id, name or prefix {text!r}.")
    if len(found) > 1:
        ids = ", ".join(key.id for key in found)
        raise ApiError("key_not_found", f"{len(found)} keys have the name {text!r}: use one of the ids {ids}.")
    (key,) = found
    if change == "revoke":
        account_records.revoke_key(tx, key.id, now)
        return replace(key, revoked_at=now)
    at = now if change == "suspend" else None
    account_records.suspend_key(tx, key.id, at)
    return replace(key, suspended_at=at)


async def get_key(context: UseCaseContext, account: str, id: str) -> KeyRecord:
    """Return the key with this id. Raises `key_not_found` for an unknown or deleted key."""
    return await context.read(lambda tx: _key_of(tx, account, id))


async def delete_key(context: UseCaseContext, account: str, id: str) -> None:
    """Revoke the key permanently. Its row remains, because charges refer to the key. Raises `key_not_found`."""
    now = context.now
    await context.write(lambda tx: account_records.revoke_key(tx, _key_of(tx, account, id).id, now))


def _key_of(tx: Tx, account: str, id: str) -> KeyRecord:
    record = account_records.get_key(tx, account, id)
    if record is None or record.revoked_at is not None:
        raise ApiError("key_not_found")
    return record


def _digest(pepper: str, secret: str) -> str:
    """Return the keyed hash of an API key's secret."""
    return hmac.new(pepper.encode(), secret.encode(errors="surrogateescape"), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class AccountBalance:
    """An account and its balance, in micro-cents."""

    account: AccountRecord
    wallet: int
    """The total ever charged to the wallet."""
    plan_pool: int
    """The amount charged to the plan's pool this month."""
    held: int
    """The amount reserved for active work."""


def get_balance(tx: Tx, account: str, now: int) -> AccountBalance:
    """Return the account and its balance at the time `now` (ms)."""
    return AccountBalance(
        account_records.get(tx, account),
        usage_records.sum_of_pool(tx, account, "wallet"),
        usage_records.sum_of_pool(tx, account, "plan", utc_month(now)),
        usage_records.sum_holds(tx, account, "wallet") + usage_records.sum_holds(tx, account, "plan"),
    )


_TTL_MS: Final = SESSION_SECONDS * 1000


async def open_session(context: UseCaseContext) -> str:
    """Open a browser session and return its secret, for the cookie. Delete expired sessions in the same transaction."""
    secret, now = secrets.token_urlsafe(32), context.now

    def use(tx: Tx) -> None:
        # It suffices to delete expired sessions here, because only a sign-in adds sessions.
        account_records.remove_expired_sessions(tx, now)
        account_records.insert_session(tx, digest(secret), ACCOUNT, now, now + _TTL_MS)

    await context.write(use)
    return secret


async def find_session(context: UseCaseContext, secret: str) -> SessionRecord | None:
    """Return the session with this secret, or None if it is unknown or has expired."""
    now = context.now
    return await context.read_single(lambda tx: account_records.get_session(tx, digest(secret), now))


async def close_session(context: UseCaseContext, session: SessionRecord) -> None:
    await context.write(lambda tx: account_records.remove_session(tx, session.digest))


async def find_open_sessions(context: UseCaseContext, digests: Iterable[str]) -> set[str]:
    """Return those of the `digests` (hashes of sessions' secrets) whose sessions have not ended."""
    now = context.now
    return await context.read(lambda tx: {digest for digest in digests if account_records.get_session(tx, digest, now)})


def digest(secret: str) -> str:
    """Return the hash of a session's secret. The hash needs no salt, because nobody can guess 256 random bits."""
    return hashlib.sha256(secret.encode(errors="surrogateescape")).hexdigest()


def is_token(given: str, token: str) -> bool:
    """Return whether `given` is the sign-in link's `token`, in constant time. If `token` is empty, return False."""
    return bool(token) and secrets.compare_digest(given.encode(errors="surrogateescape"), token.encode())
