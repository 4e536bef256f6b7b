"""The I/O interface: everything that the core awaits (docs/decisions/0001). `http` has the two implementations.

The methods of `SyncIO` never suspend, so `step` can run a coroutine of the core to its end without an event loop or a
thread; those of `AsyncIO` are awaited as usual.
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
"""A socket's timeout may fire up to so many seconds before the deadline that it was computed from."""


OnBytes = Callable[[int, int | None], Any]
"""A progress hook: called with the bytes transferred so far and the total, which is None if unknown."""


async def tell(hook: Callable[..., Any] | None, *news: Any) -> None:
    """Call `hook`, if given, with `news`. With the async client it may be a coroutine function.

    What it raises ends the call.
    """
    if hook is not None and inspect.isawaitable(heard := hook(*news)):
        await heard


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One HTTP request. `seconds` limits each single wait; `ends` limits the whole exchange, a time of `IO.now`.

    `files` are (name, content) pairs of a multipart body, with `body` as its `payload`; without files `body` is JSON.
    """

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
    """An HTTP response. Header names are in lower case; `raw` is the library's response object.

    A streamed response has no `body`: read its `chunks` with `IO.read`, until `ends` (a time of `IO.now`).
    """

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
        """Wait for the next coroutine to end; return its result or raise its exception.

        None if none ends within `seconds`; a pool may wait for less.
        """
        ...

    async def leave(self) -> None:
        """Stop waiting for work that has not ended; nothing is cancelled on the service."""
        ...


class IO(Protocol):
    """Everything that the core may await, and its clocks."""

    async def send(self, request: HttpRequest) -> Response:
        """Send a request and return the response, with its body unless `request.stream` and it succeeded.

        Raises `APIConnectionError` when no answer comes.
        """
        ...

    async def read(self, response: Response) -> bytes | None:
        """The next chunk of a streamed response as it arrived, None at the end. Raises `APIConnectionError`."""
        ...

    async def sleep(self, seconds: float) -> None: ...
    async def call(self, function: Callable[[], T]) -> T:
        """Run a function that may block (on asyncio in a thread), and return its result."""
        ...

    async def close(self, response: Response | None = None) -> None:
        """Close one streamed response, or without one all connections."""
        ...

    def drop(self, response: Response) -> None:
        """Close a streamed response without awaiting it, as `__del__` must."""
        ...

    def now(self) -> float:
        """A monotonic clock, in seconds."""
        ...

    def today(self) -> date:
        """The current UTC day, with which idempotency keys expire."""
        ...

    def worker_pool(self) -> WorkerPool[Any]:
        """A pool for concurrent work."""
        ...


def step(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, because it awaits nothing but `SyncIO`, and return its result.

    Raises what it raises, and `RuntimeError` if it suspends.
    """
    try:
        work.send(None)
    except StopIteration as stop:
        value: T = stop.value
        return value
    finally:
        work.close()
    raise RuntimeError("the client's core awaited something other than its I/O; please report this")
