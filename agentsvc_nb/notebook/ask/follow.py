"""Follow a run in the foreground: a daemon thread reads the stream, the cell's thread draws and handles Ctrl-C."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal, Protocol

from agentsvc_nb.notebook.display.screens import TICK_SECONDS, Screen
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.wire.runs import Event, Run

if TYPE_CHECKING:
    from agentsvc_nb.notebook.kernel.desk import KernelDesk

RECONNECTS: Final = 4
"""Consecutive reconnects of a cell's stream. The client's default of two would not survive a service restart."""


class Stream(Protocol):
    """The part of the client's `EventStream` that is used here."""

    @property
    def run(self) -> Run: ...
    def close(self) -> None: ...
    def __iter__(self) -> Iterator[Event]: ...
    def __enter__(self) -> Stream: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None, /
    ) -> object: ...


@dataclass(frozen=True, slots=True)
class WaitingForRun:
    """The start waits until the run `run_id` has ended; empty if it is not known."""

    run_id: str


Item = Run | Event | WaitingForRun | BaseException | None
"""An item of a feed: the run as started, an event, the run that delays the start, an exception, or None at the end."""


class StartControl:
    """Passed to the function that opens a stream: cancellation flag, and the notification of what blocks the start."""

    def __init__(self, send: Callable[[Item], None]) -> None:
        self._send = send
        self._announced: str | None = None
        self.abandoned = threading.Event()

    def waits_for(self, run_id: str) -> None:
        if run_id != self._announced:
            self._announced = run_id
            self._send(WaitingForRun(run_id))


Open = Callable[[StartControl], Stream]


class Feed:
    """Opens a stream and reads it to its end, in a thread. `cancel` is called with the run's id, in another thread.

    Attributes:
        started: whether the stream may have been opened.
    """

    def __init__(self, open_stream: Open, cancel: Callable[[str], object]) -> None:
        self._open = open_stream
        self._cancel_run = cancel
        self._items: SimpleQueue[Item] = SimpleQueue()
        self._control = StartControl(self._items.put)
        self._opened = threading.Event()
        self._stream: Stream | None = None
        self._left = self.started = False

    def start(self) -> None:
        """Start the thread. Separate from the constructor, so that an interrupt meanwhile finds a complete object."""
        self.started = True
        threading.Thread(target=self._read, name="agentsvc-feed", daemon=True).start()

    def drain(self, wait: float) -> list[Item]:
        """The items received since the last call; waits up to `wait` seconds for the first."""
        items: list[Item] = []
        with contextlib.suppress(Empty):
            items.append(self._items.get(timeout=wait))
            while True:
                items.append(self._items.get_nowait())
        return items

    def cancel(self) -> None:
        """Cancel the run on the service; if its start has no response yet, as soon as it has."""
        self._control.abandoned.set()
        threading.Thread(target=self._cancel, name="agentsvc-cancel", daemon=True).start()

    def leave(self) -> None:
        """Stop reading. The run continues."""
        self._control.abandoned.set()
        self._left = True
        if self._stream is not None:
            with contextlib.suppress(Exception):
                self._stream.close()

    def _read(self) -> None:
        try:
            self._follow()
            self._items.put(None)
        except BaseException as error:  # the cell's thread raises it
            self._items.put(error)
        finally:
            self._opened.set()

    def _follow(self) -> None:
        with self._open(self._control) as stream:
            self._stream = stream
            self._opened.set()
            self._items.put(stream.run)
            if not self._left:  # the cell may have been left while the start was on its way
                for event in stream:
                    self._items.put(event)

    def _cancel(self) -> None:
        # Until the start is answered, the run has no id to cancel it by; left alone, it would go on unwatched.
        self._opened.wait()
        if self._stream is None:
            return  # the start failed
        with contextlib.suppress(Exception):  # the run's own events tell whether it stopped
            self._cancel_run(self._stream.run.run_id)


CANCEL_SECONDS: Final = 5.0
"""How long a cancelled run may take to confirm that it has stopped."""
SHUTDOWN_SECONDS: Final = 0.3
"""A kernel that is restarted or closed gets the interrupt first, and `exit_now` a moment later."""

End = Literal["ended", "stopped", "left", "late"]
"""How following a run ended.

- `ended`: the run ended by itself.
- `stopped`: an interrupt cancelled it.
- `left`: it continues unwatched, after a second interrupt or a cancellation that was not confirmed.
- `late`: the timeout elapsed.
"""


class Source(Protocol):
    """The interface of `Feed`."""

    started: bool

    def start(self) -> None: ...
    def drain(self, wait: float) -> list[Item]: ...
    def cancel(self) -> None: ...
    def leave(self) -> None: ...


def follow(
    feed: Source,
    view: RunView,
    screen: Screen,
    *,
    timeout: float | None = None,
    on_open: Callable[[Run], None] = lambda run: None,
    closing: Callable[[], bool] = lambda: False,
    clock: Callable[[], float] = time.monotonic,
    desk: KernelDesk | None = None,
) -> End:
    """Watch until the run ends, an interrupt arrives or `timeout` seconds have passed.

    The first interrupt cancels the run on the service and waits up to 5 s for its terminal event; a second one ends
    the waiting at once. When the kernel is `closing`, the run is left alone: a restart is not a cancellation.

    Args:
        on_open: called with the run as started.
        desk: the run's calls for the user's kernel, which are done here.

    Raises whatever the stream raised.
    """
    watch = _FollowLoop(feed, view, screen, on_open, closing, clock, desk)
    try:
        feed.start()
        if watch.until(timeout):
            return "ended"
        if view.waiting:
            feed.cancel()  # a run that has not started must not start unwatched
        feed.leave()
        return "late"
    except KeyboardInterrupt:
        return watch.stop()


@dataclass
class _FollowLoop:
    """Applies the items of a feed to the view, draws it, and cancels the run on an interrupt."""

    feed: Source
    view: RunView
    screen: Screen
    on_open: Callable[[Run], None]
    closing: Callable[[], bool]
    clock: Callable[[], float]
    desk: KernelDesk | None
    cancelled: bool = False

    def __post_init__(self) -> None:
        self.began = self.clock()

    def until(self, seconds: float | None) -> bool:
        """Watch for `seconds`; return whether the stream ended."""
        end = None if seconds is None else self.clock() + seconds
        while end is None or self.clock() < end:
            ended = [self.apply(item) for item in self.feed.drain(TICK_SECONDS)]
            self.view.elapsed = self.clock() - self.began
            self.screen.draw(self.view)
            if any(ended):
                return True
            if self.desk is not None:
                self.desk.tick(lambda: self.screen.draw(self.view))
        return False

    def apply(self, item: Item) -> bool:
        """Apply an item to the view; return True at the end of the stream."""
        if isinstance(item, BaseException):
            raise item
        if isinstance(item, Event):
            self.view.apply(item)
        elif isinstance(item, Run):
            self.view.opened(item)
            self.on_open(item)
        elif isinstance(item, WaitingForRun):
            self.view.waiting = item.run_id or "the one before"
        return item is None

    def stop(self) -> End:
        """Handle an interrupt: cancel the run and wait for its end, unless the kernel closes or a second one comes."""
        if not self.feed.started:
            return "left"
        self.view.stopping = True
        if self.desk is not None:
            self.desk.close()
        try:
            if self._cancel_and_wait():
                return "stopped"
        except KeyboardInterrupt:
            self._cancel()
        except Exception:  # an error of the stream no longer matters once the user has stopped the run
            if self.view.ended:
                return "stopped"
        self.feed.leave()
        return "left"

    def _cancel_and_wait(self) -> bool:
        # Wait first: only after a moment is it known whether the kernel is closing (`SHUTDOWN_SECONDS`).
        if self.until(SHUTDOWN_SECONDS):
            return True
        self._cancel()
        return self.cancelled and self.until(CANCEL_SECONDS)

    def _cancel(self) -> None:
        if not self.cancelled and not self.closing():
            self.cancelled = True
            self.feed.cancel()
