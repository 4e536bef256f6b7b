"""Calendar days in the zone of the service's machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from agentsvc_nb.service.times import local_day, local_day_end, rfc3339


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("moment", "day", "end"),
    [
        ("2026-11-21T22:59:59Z", "2026-11-21", "2026-11-21T23:00:00.000Z"),
        ("2026-11-21T23:00:00Z", "2026-11-22", "2026-11-22T23:00:00.000Z"),
        ("2026-03-29T00:30:00Z", "2026-03-29", "2026-03-29T22:00:00.000Z"),  # a day of 23 hours
        ("2026-10-24T22:30:00Z", "2026-10-25", "2026-10-25T23:00:00.000Z"),  # one of 25
    ],
)
def test_a_day_begins_and_ends_by_the_clock_of_the_machine(moment: str, day: str, end: str) -> None:
    now = round(datetime.fromisoformat(moment).timestamp() * 1000)
    assert (local_day(now), rfc3339(local_day_end(now))) == (day, end)
