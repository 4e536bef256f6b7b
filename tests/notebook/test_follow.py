"""Watching in the foreground: the end, the interrupt, the second interrupt, the time limit, a stream that breaks."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from agentsvc_nb.notebook.ask.follow import CANCEL_SECONDS, Feed, Item, StartControl, follow
from agentsvc_nb.notebook.display.screens import StaticScreen
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.wire.runs import Event, Run
from tests.notebook.screens import Cell, Clock

RUN_ID = "11111111-1111-4111-8111-111111111111"


def _event(number: int, kind: str, **payload: object) -> Event:
    return Event(number, kind, "2026-11-21T06:00:00.000Z", dict(payload))


def _end(number: int, status: str = "completed") -> Event:
    return _event(number, "run.ended", run=Run(run_id=RUN_ID, status=status, output="said").model_dump())


class Scripted:
    """A source whose batches are given; an interrupt in it comes as the terminal would send it."""

    def __init__(self, clock: Clock, *batches: list[Item] | Callable[[], None]) -> None:
        self.clock, self.batches, self.calls = clock, list(batches), list[str]()
        self.started = False

    def start(self) -> None:
        self.started = True

    def drain(self, wait: float) -> list[Item]:
        self.clock.now += wait
        batch = self.batches.pop(0) if self.batches else []
        if callable(batch):
            batch()
            return []
        return batch

    def cancel(self) -> None:
        self.calls.append("cancel")

    def leave(self) -> None:
        self.calls.append("leave")


def _interrupt() -> None:
    raise KeyboardInterrupt


def _follow(source: Scripted, timeout: float | None = None) -> tuple[str, RunView]:
    view = RunView()
    end = follow(source, view, StaticScreen(Cell()), timeout=timeout, clock=source.clock)
    return end, view


NOTHING_YET: list[list[Item]] = [[]] * 4
"""While it waits for whether the kernel is closed."""
START = Run(run_id=RUN_ID, status="queued", chat="chat_1")


def test_it_follows_to_the_end() -> None:
    source = Scripted(Clock(), [START], [], [_event(1, "text.delta", text="said"), _end(2)], [None])
    end, view = _follow(source)
    assert (end, view.text, view.status, source.calls) == ("ended", "said", "completed", [])


def test_the_first_interrupt_cancels_and_waits_for_the_last_word() -> None:
    source = Scripted(Clock(), [START], _interrupt, *NOTHING_YET, [_end(1, "cancelled")], [None])
    end, view = _follow(source)
    assert (end, view.status, source.calls) == ("stopped", "cancelled", ["cancel"])


def test_a_kernel_that_is_restarted_or_closed_leaves_the_run_going() -> None:
    source = Scripted(Clock(), [START], _interrupt)
    view = RunView()
    end = follow(source, view, StaticScreen(Cell()), closing=lambda: True, clock=source.clock)
    assert (end, source.calls) == ("left", ["leave"])


def test_the_second_interrupt_leaves_at_once() -> None:
    source = Scripted(Clock(), [START], _interrupt, _interrupt)
    assert _follow(source)[0] == "left"
    assert source.calls == ["cancel", "leave"]


def test_a_stop_that_is_not_confirmed_is_left_after_five_seconds() -> None:
    clock = Clock()
    source = Scripted(clock, [START], _interrupt)
    assert _follow(source)[0] == "left"
    assert CANCEL_SECONDS <= clock.now - 1000 < CANCEL_SECONDS + 2


def test_an_interrupt_while_the_start_is_sent_cancels_the_run() -> None:
    class Slow(Scripted):
        def start(self) -> None:
            super().start()
            raise KeyboardInterrupt

    source = Slow(Clock(), [START], *NOTHING_YET, [_end(1, "cancelled")], [None])
    assert (_follow(source)[0], source.calls) == ("stopped", ["cancel"])


def test_an_interrupt_before_anything_was_sent_has_nothing_to_cancel() -> None:
    class Quick(Scripted):
        def start(self) -> None:
            raise KeyboardInterrupt

    source = Quick(Clock())
    assert (_follow(source)[0], source.calls) == ("left", [])


def test_a_stream_that_breaks_while_stopping_is_no_error_of_its_own() -> None:
    source = Scripted(Clock(), [START], _interrupt, [ConnectionError("gone")])
    assert _follow(source)[0] == "left"


def test_after_the_time_given_the_run_is_left() -> None:
    source = Scripted(Clock(), [START])
    assert _follow(source, timeout=3)[0] == "late"
    assert source.calls == ["leave"]


def test_what_the_stream_raises_is_raised_here() -> None:
    with pytest.raises(ConnectionError, match="gone"):
        _follow(Scripted(Clock(), [START], [ConnectionError("gone")]))


class Stream:
    """An event stream that waits for its gate before it ends."""

    def __init__(self, *events: Event) -> None:
        self.run, self.events = START, list(events)
        self.gate, self.closed = threading.Event(), threading.Event()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.closed.set()
        self.gate.set()

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Event:
        if not self.events:
            self.gate.wait(30)
            raise StopIteration
        return self.events.pop(0)


def _drained(feed: Feed, count: int) -> list[Item]:
    items: list[Item] = []
    while len(items) < count:
        found = feed.drain(30)
        assert found, f"only {items} came"
        items += found
    return items


def test_a_feed_reads_in_a_daemon_thread_and_says_when_it_ends() -> None:
    stream = Stream(_event(1, "text.delta", text="a"))
    feed = Feed(lambda control: stream, lambda run_id: None)
    feed.start()
    assert [START, _event(1, "text.delta", text="a")] == _drained(feed, 2)
    stream.gate.set()
    assert _drained(feed, 1) == [None]
    assert all(thread.daemon for thread in threading.enumerate() if thread.name.startswith("agentsvc-feed"))


def test_leaving_closes_the_stream_and_cancels_nothing() -> None:
    stream, cancelled = Stream(), list[str]()
    feed = Feed(lambda control: stream, cancelled.append)
    feed.start()
    _drained(feed, 1)
    feed.leave()
    assert stream.closed.wait(30)
    assert cancelled == []


def test_a_run_whose_start_was_not_answered_yet_is_cancelled_when_it_is() -> None:
    answered, cancelled = threading.Event(), threading.Event()
    runs: list[str] = []

    def start(control: StartControl) -> Stream:
        answered.wait(30)
        return Stream()

    def cancel(run_id: str) -> None:
        runs.append(run_id)
        cancelled.set()

    feed = Feed(start, cancel)
    feed.start()
    feed.cancel()
    feed.leave()
    answered.set()
    assert cancelled.wait(30)
    assert runs == [RUN_ID]
