"""Limits and budgets in words, by the reader's own clock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from agentsvc_nb.client.errors import from_response
from agentsvc_nb.notebook.errors import budget_display, local_time

NOW = datetime.fromisoformat("2026-11-21T13:00:00Z")


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "CET-1")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_a_time_is_told_by_the_clock_of_this_machine() -> None:
    assert local_time("2026-11-21T14:30:00.000Z", NOW) == "15:30 CET"
    assert local_time("2026-11-21T13:00:42Z", NOW) == "14:00 CET (in 42 s)"
    assert local_time("2026-11-21T23:30:00Z", NOW) == "22 November, 00:30 CET"


@pytest.mark.parametrize(
    ("detail", "headers", "said"),
    [
        (
            '"reset_at": "2026-11-21T13:00:42Z", "limit": 20, "observed": 21',
            {"retry-after": "42"},
            ["21 requests of 20", "14:00 CET (in 42 s)"],
        ),
        (
            '"key_budget": {"budget_cents": 500, "billed_cents": 512, "resets_at": "2026-12-01T00:00:00Z"}',
            {},
            ["key", "$5.12 of $5.00", "1 December, 01:00 CET"],
        ),
        ('"key_budget": "broken", "observed": {}', {}, []),
    ],
)
def test_what_the_service_said_is_a_sentence(detail: str, headers: dict[str, str], said: list[str]) -> None:
    body = f'{{"error": {{"code": "request_per_minute", "message": "no", {detail}}}}}'
    shown = budget_display(from_response(429, headers, body.encode()), NOW)
    assert [words for words in said if words not in shown] == []
    assert bool(shown) == bool(said)
