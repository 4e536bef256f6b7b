"""Limits and budgets in words: how much there was, and when there is more, by the reader's own clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from agentsvc_nb.client.errors import StefanBrainError


def explained(error: StefanBrainError, now: datetime | None = None) -> str:
    """What the service said about a limit, as a sentence; empty when it said nothing."""
    body: Any = error.body if isinstance(error.body, dict) else {}
    detail: Any = body.get("error") if isinstance(body.get("error"), dict) else {}
    for name, whose, limit, used in (
        ("key_budget", "The key", "budget_cents", "billed_cents"),
        ("plan_usage", "The plan", "limit_cents", "used_cents"),
    ):
        if isinstance(facts := detail.get(name), dict):
            spent = f"{whose} has used {_money(facts.get(used))} of {_money(facts.get(limit))} this month"
            return _until(spent, facts.get("resets_at"), now)
    if error.reset_at:
        counted = f"{detail['observed']} requests of {detail['limit']}" if "observed" in detail else ""
        return _until(counted, error.reset_at, now)
    return f"Try again in {error.retry_after_seconds:g} s." if error.retry_after_seconds else ""


def local_time(moment: str, now: datetime | None = None) -> str:
    """A time of the service by this machine's clock, with the day when it is another; as it stands if it is no time.

    >>> local_time("soon")
    'soon'
    """
    try:
        there = datetime.fromisoformat(moment).astimezone()
    except ValueError:
        return moment
    here = (now or datetime.now()).astimezone()
    left = there - here
    wait = f" (in {max(1, round(left.total_seconds()))} s)" if timedelta() < left < timedelta(minutes=2) else ""
    day = "" if there.date() == here.date() else f"{there.day} {there:%B}, "
    return f"{day}{there:%H:%M %Z}".rstrip() + wait


def _until(said: str, resets_at: object, now: datetime | None) -> str:
    when = f"it resets at {local_time(resets_at, now)}" if isinstance(resets_at, str) else ""
    sentence = "; ".join(part for part in (said, when) if part)
    return f"{sentence[:1].upper()}{sentence[1:]}." if sentence else ""


def _money(cents: object) -> str:
    return f"${cents / 100:,.2f}" if isinstance(cents, int | float) else "an unknown amount"
