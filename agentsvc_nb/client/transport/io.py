"""The verbs of I/O: all that the core awaits (docs/decisions/0001). `http` has the two backends.

Under `SyncIO` they never suspend, so that `step` can run a core coroutine to its end with no event loop and no
thread; under `AsyncIO` they are awaited as usual.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import date
from typing import Any, BinaryIO, Final, Protocol, TypeVar

T = TypeVar("T")
CLOCK_SLACK: Final = 0.01
"""Seconds by which a socket's timeout may fire before the deadline that it was made of."""


OnBytes = Callable[[int, int | None], Any]
"""Called with the bytes that came or went, and with how many there are, where that is known."""


async def tell(hook: Callable[..., Any] | None, *news: Any) -> None:
    """Call `hook`, which may be a coroutine function with the async client. What it raises ends the call."""
    if hook is not None and inspect.isawaitable(heard := hook(*news)):
        await heard


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. `seconds` bounds each wait for the service; `ends`, a time of `now`, the whole."""

    method: str
    url: str
    seconds: float
    key: str = field(repr=False)
    headers: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] | None = None
    files: list[tuple[str, bytes | BinaryIO]] | None = None
    stream: bool = False
    on_sent: OnBytes | None = None
    ends: float = math.inf


@dataclass(slots=True)
class Response:
    """An answer; `headers` in lower case. A successful streamed one is read with `io.read` and has no `body`."""

    status: int
    headers: dict[str, str]
    body: bytes = b""
    response: Any = field(default=None, repr=False)
    chunks: Any = field(default=None, repr=False)
    ends: float = math.inf


class WorkerPool(Protocol[T]):
    """Several things at once: threads, or tasks of the event loop (docs/decisions/0018)."""

    io: IO
    """What its work does its I/O with."""

    def start(self, work: Coroutine[Any, Any, T]) -> None:
        """Have it done beside the caller."""
        ...

    async def next(self, seconds: float) -> T | None:
        """What the next of them gave, or raises what it raised; None when none ended within a moment, which is
        `seconds` at most."""
        ...

    async def leave(self) -> None:
        """Wait for none that is still at work; nothing is cancelled on the service."""
        ...


class IO(Protocol):
    """What the core may await, and its clocks."""

    async def send(self, request: Request) -> Response:
        """Raises `APIConnectionError` when no answer comes."""
        ...

    async def read(self, answer: Response) -> bytes | None:
        """The next chunk as it came, None at the end. Raises `APIConnectionError`."""
        ...

    async def sleep(self, seconds: float) -> None: ...
    async def call(self, function: Callable[[], T]) -> T:
        """Run a function that may block."""
        ...

    async def close(self, answer: Response | None = None) -> None:
        """Close one streamed answer, or everything."""
        ...

    def drop(self, answer: Response) -> None:
        """Close an answer that nobody can await any more (garbage collection)."""
        ...

    def now(self) -> float:
        """Seconds, monotonic."""
        ...

    def today(self) -> date:
        """The UTC day: idempotency keys end with it."""
        ...

    def crew(self) -> WorkerPool[Any]:
        """For work that goes on beside the caller's."""
        ...


def step(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, because all that it awaits is `SyncIO`."""
    try:
        work.send(None)
    except StopIteration as stop:
        value: T = stop.value
        return value
    finally:
        work.close()
    raise RuntimeError("the client's core awaited something other than its I/O; please report this")
