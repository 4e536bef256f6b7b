"""A run's stream, read in a daemon thread into a queue, so that the main thread is free for clock and interrupt.

Magics can't be async, and a blocking read would freeze the clock until the next event or ping. The
start itself is sent from the thread too: an interrupt while a large file goes up is taken at once.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Final, Protocol

from agentsvc_nb.wire.events import Event
from agentsvc_nb.wire.runs import Run

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


class Door:
    """For what opens a stream: whether anybody still waits for it, and whom it waits for itself."""

    def __init__(self, say: Callable[[Item], None]) -> None:
        self._say = say
        self._told: str | None = None
        self.given_up = threading.Event()

    def waits_for(self, run_id: str) -> None:
        if run_id != self._told:
            self._told = run_id
            self._say(Waiting(run_id))


Open = Callable[[Door], Stream]


class Feed:
    """Opens a stream and reads it to its end. `cancel` is called with the run's id, in a thread of its own.

    Attributes:
        started: whether the stream may have been opened.
    """

    def __init__(self, open_stream: Open, cancel: Callable[[str], object]) -> None:
        self._open, self._cancel_run = open_stream, cancel
        self._items: SimpleQueue[Item] = SimpleQueue()
        self._door = Door(self._items.put)
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
