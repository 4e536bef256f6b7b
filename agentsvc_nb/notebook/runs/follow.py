"""Watch a run in the foreground: a daemon thread reads its stream, the cell's thread draws and takes the interrupt."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Final, Literal, Protocol

from agentsvc_nb.notebook.display.screens import TICK_SECONDS, Screen
from agentsvc_nb.notebook.display.transcript import Transcript
from agentsvc_nb.wire.runs import Event, Run

RECONNECTS: Final = 4
"""Attempts in a row to pick up a cell's stream: with a client's two it would not outlive a service's restart."""


class Stream(Protocol):
    """What the client's `EventStream` gives: events that survive dropped connections."""

    @property
    def run(self) -> Run: ...
    def close(self) -> None: ...
    def __iter__(self) -> Iterator[Event]: ...
    def __enter__(self) -> Stream: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None, /
    ) -> object: ...


@dataclass(frozen=True, slots=True)
class Waiting:
    """The run begins when another has ended; the id is empty where it is not known."""

    run_id: str


Item = Run | Event | Waiting | BaseException | None
"""The record of the start, an event, what the start waits for, why the stream failed, or its end."""


class StartControl:
    """For what opens a stream: whether anybody still waits for it, and whom it waits for itself."""

    def __init__(self, say: Callable[[Item], None]) -> None:
        self._say = say
        self._told: str | None = None
        self.given_up = threading.Event()

    def waits_for(self, run_id: str) -> None:
        if run_id != self._told:
            self._told = run_id
            self._say(Waiting(run_id))


Open = Callable[[StartControl], Stream]


class Feed:
    """Opens a stream and reads it to its end. `cancel` is called with the run's id, in a thread of its own.

    Attributes:
        started: whether the stream may have been opened.
    """

    def __init__(self, open_stream: Open, cancel: Callable[[str], object]) -> None:
        self._open, self._cancel_run = open_stream, cancel
        self._items: SimpleQueue[Item] = SimpleQueue()
        self._door = StartControl(self._items.put)
        self._opened = threading.Event()
        self._stream: Stream | None = None
        self._left = self.started = False

    def start(self) -> None:
        """Open the stream, in the thread. Apart from the constructor, so that an interrupt just then is noticed."""
        self.started = True
        threading.Thread(target=self._read, name="agentsvc-feed", daemon=True).start()

    def drain(self, wait: float) -> list[Item]:
        """What has come, waiting up to `wait` seconds for the first of it."""
        items: list[Item] = []
        with contextlib.suppress(Empty):
            items.append(self._items.get(timeout=wait))
            while True:
                items.append(self._items.get_nowait())
        return items

    def cancel(self) -> None:
        """Have the run cancelled on the server; if its start is not answered yet, as soon as it is."""
        self._door.given_up.set()
        threading.Thread(target=self._cancel, name="agentsvc-cancel", daemon=True).start()

    def leave(self) -> None:
        """Stop reading. The run goes on."""
        self._door.given_up.set()
        self._left = True
        if self._stream is not None:
            with contextlib.suppress(Exception):
                self._stream.close()

    def _read(self) -> None:
        try:
            self._follow()
            self._items.put(None)
        except BaseException as error:  # carried to the main thread, which raises it
            self._items.put(error)
        finally:
            self._opened.set()

    def _follow(self) -> None:
        with self._open(self._door) as stream:
            self._stream = stream
            self._opened.set()
            self._items.put(stream.run)
            if not self._left:
                for event in stream:
                    self._items.put(event)

    def _cancel(self) -> None:
        self._opened.wait()
        if self._stream is None:
            return  # the start failed: there is nothing to cancel
        with contextlib.suppress(Exception):  # the run's own events tell whether it stopped
            self._cancel_run(self._stream.run.run_id)


CANCEL_SECONDS: Final = 5.0
SHUTDOWN_SECONDS: Final = 0.3
"""A kernel that is restarted or closed is interrupted first, and told a moment later."""

End = Literal["ended", "stopped", "left", "late"]
"""The run ended; it was stopped here; it goes on without us (second interrupt, or a stop that was not confirmed);
the time given was over."""


class Source(Protocol):
    """What `Feed` gives."""

    started: bool

    def start(self) -> None: ...
    def drain(self, wait: float) -> list[Item]: ...
    def cancel(self) -> None: ...
    def leave(self) -> None: ...


def follow(
    feed: Source,
    view: Transcript,
    screen: Screen,
    *,
    timeout: float | None = None,
    on_open: Callable[[Run], None] = lambda run: None,
    closing: Callable[[], bool] = lambda: False,
    clock: Callable[[], float] = time.monotonic,
) -> End:
    """Watch until the run ends, an interrupt comes or `timeout` seconds are over.

    The first interrupt cancels the run on the server and waits up to 5 s for its last word; a second one ends the
    waiting, however soon it comes: who presses twice wants it stopped all the more. When the kernel is `closing` the
    run is left: who restarts a kernel has not stopped it.
    `on_open` is called with the record of the start. Raises what the stream raised.
    """
    watch = _Watch(feed, view, screen, on_open, closing, clock)
    try:
        feed.start()
        if watch.until(timeout):
            return "ended"
        if view.waiting:
            feed.cancel()  # what has not begun is not to begin unseen
        feed.leave()
        return "late"
    except KeyboardInterrupt:
        return watch.stop()


class _Watch:
    def __init__(
        self,
        feed: Source,
        view: Transcript,
        screen: Screen,
        on_open: Callable[[Run], None],
        closing: Callable[[], bool],
        clock: Callable[[], float],
    ) -> None:
        self.feed, self.view, self.screen, self.on_open, self.clock = feed, view, screen, on_open, clock
        self.closing, self.cancelled = closing, False
        self.began = clock()

    def until(self, seconds: float | None) -> bool:
        """Watch for so long; whether the stream ended."""
        end = None if seconds is None else self.clock() + seconds
        while end is None or self.clock() < end:
            ended = [self.take(item) for item in self.feed.drain(TICK_SECONDS)]
            self.view.elapsed = self.clock() - self.began
            self.screen.draw(self.view)
            if any(ended):
                return True
        return False

    def take(self, item: Item) -> bool:
        """Put an item into the view; True at the end of the stream."""
        if isinstance(item, BaseException):
            raise item
        if isinstance(item, Event):
            self.view.take(item)
        elif isinstance(item, Run):
            self.view.opened(item)
            self.on_open(item)
        elif isinstance(item, Waiting):
            self.view.waiting = item.run_id or "the one before"
        return item is None

    def stop(self) -> End:
        if not self.feed.started:
            return "left"
        self.view.stopping = True
        try:
            if self._to_its_last_word():
                return "stopped"
        except KeyboardInterrupt:
            self._cancel()
        except Exception:  # the stop matters to the reader, not that the stream broke while stopping
            if self.view.ended:
                return "stopped"
        self.feed.leave()
        return "left"

    def _to_its_last_word(self) -> bool:
        if self.until(SHUTDOWN_SECONDS):
            return True
        self._cancel()
        return self.cancelled and self.until(CANCEL_SECONDS)

    def _cancel(self) -> None:
        if not self.cancelled and not self.closing():
            self.cancelled = True
            self.feed.cancel()
