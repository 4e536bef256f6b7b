"""May this key ask now? The operator's word first, then requests a minute and a day (spec.md "429 codes").

Windows are fixed: a UTC minute, a UTC day. A refused request counts like any other.
"""

from __future__ import annotations

from typing import Final

from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.ports.storage import Tx
from agentsvc_nb.service.records import accounts
from agentsvc_nb.service.records.accounts import AccountRecord
from agentsvc_nb.service.records.keys import KeyRecord
from agentsvc_nb.service.settings import Settings
from agentsvc_nb.wire.times import rfc3339

MINUTE_MS: Final = 60_000
DAY_MS: Final = 24 * 60 * MINUTE_MS


def check_account(account: AccountRecord, now: int, *, held: bool = False) -> None:
    """Raises `user_suspended` or `user_throttled`, with the time when that ends, if it does by itself. What is `held`
    open was asked for before: only a suspension ends it."""
    state = account.state_at(now)
    if state == "suspended" or (state == "throttled" and not held):
        code = f"user_{state}"
        if account.state_until is None:
            raise Fail(code)
        raise Fail(code, headers=retry_after(account.state_until, now), reset_at=rfc3339(account.state_until))


def configured(settings: Settings) -> bool:
    """Whether requests are counted at all."""
    limits = (settings.rate_per_minute, settings.rate_per_minute_user, settings.rate_per_day)
    return any(limit is not None for limit in limits)


def count(tx: Tx, key: KeyRecord, settings: Settings, now: int) -> Fail | None:
    """Count a request; the refusal when it is one too many. Returned, not raised: the count is to be kept."""
    for code, subject, length, limit in (
        ("request_per_minute", key.id, MINUTE_MS, settings.rate_per_minute),
        ("request_per_minute_user", key.account, MINUTE_MS, settings.rate_per_minute_user),
        ("request_per_day", key.account, DAY_MS, settings.rate_per_day),
    ):
        if limit is None:
            continue
        begins = now - now % length
        observed = accounts.count_request(tx, subject, code, begins)
        if observed > limit:
            return _refusal(code, limit, observed, begins + length, now)
    return None


def _refusal(code: str, limit: int, observed: int, reset: int, now: int) -> Fail:
    return Fail(code, headers=retry_after(reset, now), limit=limit, observed=observed, reset_at=rfc3339(reset))


def retry_after(reset: int, now: int) -> dict[str, str]:
    """Whole seconds, rounded up: a client that waits so long is not refused again."""
    return {"Retry-After": str(max(1, -(-(reset - now) // 1000)))}
