"""How many rows go at once: halved by refusals, slowly more afterwards."""

from __future__ import annotations

from agentsvc_nb.client.batch_runner import PROBE_SECONDS, AdaptiveLimit


def test_refusals_of_one_burst_halve_it_once() -> None:
    limit = AdaptiveLimit(8)
    for _ in range(4):
        limit.refused(started=10.0, now=11.0, wait=5.0)
    assert (limit.limit, limit.held_until) == (4, 16.0)
    limit.refused(started=16.0, now=17.0, wait=5.0)
    assert (limit.limit, limit.held_until) == (2, 22.0)


def test_one_row_at_least() -> None:
    limit = AdaptiveLimit(2)
    for now in (1.0, 2.0, 3.0):
        limit.refused(started=now, now=now, wait=0.0)
    assert limit.limit == 1


def test_it_is_raised_by_one_when_all_was_calm_and_later_after_each_refusal() -> None:
    limit = AdaptiveLimit(8)
    limit.refused(started=0.0, now=0.0, wait=5.0)
    limit.ended(started=5.0, now=PROBE_SECONDS - 1)
    assert limit.limit == 4
    limit.ended(started=5.0, now=PROBE_SECONDS)
    limit.ended(started=5.0, now=PROBE_SECONDS)
    assert limit.limit == 5
    limit.refused(started=31.0, now=31.0, wait=5.0)
    limit.ended(started=36.0, now=31.0 + PROBE_SECONDS)
    assert limit.limit == 2
    limit.ended(started=36.0, now=31.0 + 2 * PROBE_SECONDS)
    assert limit.limit == 3


def test_no_more_than_was_asked_for() -> None:
    limit = AdaptiveLimit(3)
    for now in range(100):
        limit.ended(started=0.0, now=100.0 * now)
    assert limit.limit == 3


def test_the_time_left_goes_by_the_last_rows_and_the_pause() -> None:
    limit = AdaptiveLimit(4)
    for _ in range(100):
        limit.ended(started=0.0, now=100.0)
    for _ in range(20):
        limit.ended(started=100.0, now=102.0)
    assert limit.seconds_for(10, now=102.0) == 5.0
    limit.held_until = 105.0
    assert limit.seconds_for(10, now=102.0) == 8.0
