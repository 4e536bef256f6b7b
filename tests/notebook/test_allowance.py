"""Limits and budgets in words, by the reader's own clock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from agentsvc_nb.client.errors import from_response
from agentsvc_nb.notebook.errors import AskError, budget_display, local_time
from agentsvc_nb.testing import running_service

NOW = datetime.fromisoformat("2026-11-21T13:00:00Z")


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "CET-1")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        ("2026-11-21T14:30:00.000Z", "15:30 CET"),
        ("2026-11-21T13:00:42Z", "14:00 CET (in 42 s)"),
        ("2026-12-01T00:00:00Z", "1 December, 01:00 CET"),
        ("2026-11-21T23:30:00Z", "22 November, 00:30 CET"),
        ("some day", "some day"),
    ],
)
def test_a_time_is_told_by_the_clock_of_this_machine(moment: str, said: str) -> None:
    assert local_time(moment, NOW) == said


@pytest.mark.parametrize(
    ("detail", "headers", "said"),
    [
        (
            '"reset_at": "2026-11-21T13:00:42Z", "limit": 20, "observed": 21',
            {"retry-after": "42"},
            "21 requests of 20; it resets at 14:00 CET (in 42 s).",
        ),
        (
            '"key_budget": {"budget_cents": 500, "billed_cents": 512, "resets_at": "2026-12-01T00:00:00Z"}',
            {},
            "The key has used $5.12 of $5.00 this month; it resets at 1 December, 01:00 CET.",
        ),
        (
            '"plan_usage": {"limit_cents": 100, "used_cents": 100, "resets_at": "2026-12-01T00:00:00Z"}',
            {},
            "The plan has used $1.00 of $1.00 this month; it resets at 1 December, 01:00 CET.",
        ),
        ('"x": 1', {"retry-after": "5"}, "Try again in 5 s."),
        ('"key_budget": "broken", "observed": {}', {}, ""),
    ],
)
def test_what_the_service_said_is_a_sentence(detail: str, headers: dict[str, str], said: str) -> None:
    body = f'{{"error": {{"code": "request_per_minute", "message": "no", {detail}}}}}'
    assert budget_display(from_response(429, headers, body.encode()), NOW) == said


def test_a_real_limit_is_explained_in_the_cell(terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_service(model="scripted", rate_per_day=2) as service:
        monkeypatch.setenv("SERVICE_API_KEY", service.api_key)
        monkeypatch.setenv("AGENTSVC_BASE_URL", service.base_url)
        for _ in range(2):
            terminal.cell("%%ask --new-chat\nsay x")
        with pytest.raises(AskError, match="request_per_day") as caught:
            terminal.cell("%%ask --new-chat\nsay x")
    assert "requests of 2; it resets at " in caught.value.hint
    assert "CET" in caught.value.hint
