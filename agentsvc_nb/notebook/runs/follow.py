"""Watch a run in the foreground: drain its events, draw, tick, and take the interrupt at once (docs/decisions/0017)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Literal, Protocol

from agentsvc_nb.notebook.display.screens import TICK_SECONDS, Screen
from agentsvc_nb.notebook.display.transcript import Transcript
from agentsvc_nb.notebook.runs.feed import Item, Waiting
from agentsvc_nb.wire.events import Event
from agentsvc_nb.wire.runs import Run

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
