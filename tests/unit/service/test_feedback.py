"""How many reports an account may send: 60 in any hour (docs/api/feedback.md "Rate")."""

from __future__ import annotations

import asyncio

import pytest

from agentsvc_nb.service.accounts import feedback
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.ports import DatabaseEngine
from agentsvc_nb.service.times import rfc3339
from agentsvc_nb.wire.resources import NewFeedback
from tests.unit.service.contexts import NOW, use_case

MINUTE = 60_000


def send(database: DatabaseEngine, now: int, account: str = "acct_a") -> str:
    given = NewFeedback(summary="x")
    return asyncio.run(feedback.send(use_case(database, now), account, given)).id


def test_the_window_rolls(database: DatabaseEngine) -> None:
    """One a minute fits for ever; a second one in a minute has to wait for the oldest to be an hour old."""
    for minute in range(60):
        send(database, NOW + minute * MINUTE)
    now = NOW + 59 * MINUTE + 500
    with pytest.raises(ApiError) as caught:
        send(database, now)
    fail = caught.value
    assert fail.row.code == "feedback_rate_limited"
    assert fail.headers["Retry-After"] == "60"
    assert fail.details == {"limit": 60, "observed": 60, "reset_at": rfc3339(NOW + 60 * MINUTE)}
    assert send(database, NOW + 60 * MINUTE).startswith("fb_")
    with pytest.raises(ApiError):
        send(database, NOW + 60 * MINUTE + 1)
