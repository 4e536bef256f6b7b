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
class HttpRequest:
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
    """An HTTP response; `headers` in lower case, `raw` the library's own. A stream has no `body`: use `io.read`."""

    status: int
    headers: dict[str, str]
    body: bytes = b""
    raw: Any = field(default=None, repr=False)
    chunks: Any = field(default=None, repr=False)
    ends: float = math.inf


class WorkerPool(Protocol[T]):
    """Concurrent work on threads, or on tasks of the event loop (docs/decisions/0018)."""

    io: IO
    """The I/O for work in the pool."""

    def start(self, work: Coroutine[Any, Any, T]) -> None:
        """Run `work` concurrently."""
        ...

    async def next(self, seconds: float) -> T | None:
        """The result of the next coroutine to end, or its exception; None if none ends within `seconds`, or sooner."""
        ...

    async def leave(self) -> None:
        """Stop waiting for the work that is under way; nothing is cancelled on the service."""
        ...


class IO(Protocol):
    """What the core may await, and its clocks."""

    async def send(self, request: HttpRequest) -> Response:
        """Raises `APIConnectionError` when no answer comes."""
        ...

    async def read(self, response: Response) -> bytes | None:
        """The next chunk as it came, None at the end. Raises `APIConnectionError`."""
        ...

    async def sleep(self, seconds: float) -> None: ...
    async def call(self, function: Callable[[], T]) -> T:
        """Run a function that may block."""
        ...

    async def close(self, response: Response | None = None) -> None:
        """Close one streamed response, or everything."""
        ...

    def drop(self, response: Response) -> None:
        """Close a response without awaiting it, for garbage collection."""
        ...

    def now(self) -> float:
        """Seconds, monotonic."""
        ...

    def today(self) -> date:
        """The UTC day: idempotency keys end with it."""
        ...

    def worker_pool(self) -> WorkerPool[Any]:
        """A pool for concurrent work."""
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
