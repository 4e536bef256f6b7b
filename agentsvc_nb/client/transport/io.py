"""The requests, responses and pending calls that blocking I/O (`SyncIO`) and asyncio I/O (`AsyncIO`) share.

The core of the client awaits the methods of both. The coroutines of `SyncIO` block instead of suspending, so `run_sync`
can run a coroutine of the core to its end without an event loop or a thread.
"""

from __future__ import annotations

import inspect
import math
import os
import weakref
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from agentsvc_nb.client.transport.aio import AsyncIO
    from agentsvc_nb.client.transport.http import SyncIO

IO: TypeAlias = "SyncIO | AsyncIO"
T = TypeVar("T")
CLOCK_SLACK: Final = 0.01
"""The maximum number of seconds by which a socket's timeout may end before the deadline for which it was set."""


class Stopper:
    """Allow another thread (with asyncio, another task) to end the wait for a response."""

    def __init__(self) -> None:
        self.stopped = False
        self._wake: Callable[[], None] | None = None

    def stop(self) -> None:
        """End the current wait, if any, and prevent further requests with this stopper."""
        self.stopped = True
        self.end_wait()

    def end_wait(self) -> None:
        if wake := self._wake:
            wake()

    def set_wake(self, wake: Callable[[], None] | None) -> None:
        """Set the function that ends the wait that now begins, or None after a wait.

        After this call, the caller must check `stopped`.
        """
        self._wake = wake


class WeakRegistry(Generic[T]):
    """A set of weak references. In contrast to a `WeakSet`, another thread may add an object during an iteration."""

    def __init__(self) -> None:
        self._known: set[weakref.ref[T]] = set()

    def add(self, one: T) -> T:
        self._known.add(weakref.ref(one, self._known.discard))
        return one

    def __iter__(self) -> Iterator[T]:
        return (one for known in self._known.copy() if (one := known()) is not None)


OnBytes = Callable[[int, int | None], Any]
"""A progress hook. Its arguments are the number of bytes so far, and the total number of bytes (None if unknown)."""


async def call_hook(hook: Callable[..., Any] | None, *news: Any) -> None:
    """Call `hook`, if there is one, with the arguments `news`. If it returns an awaitable, await it.

    An exception in the hook ends the client's call.
    """
    if hook is not None and inspect.isawaitable(heard := hook(*news)):
        await heard


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """An HTTP request, independent of the HTTP library.

    - `seconds`: the maximum seconds of each wait for the network.
    - `ends`: the deadline of the request and its response, as a time of `IO.now`.
    - `stopper`: allows another thread to end the wait for the response.
    - `body`: the JSON body.
    - `files`: the (name, content) pairs of a multipart body, or None. The multipart body then has `body` in its field
      `payload`.
    """

    method: str
    url: str
    seconds: float
    key: str = field(repr=False)
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    query: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    files: list[tuple[str, BinaryIO]] | None = None
    stream: bool = False
    on_sent: OnBytes | None = None
    ends: float = math.inf
    stopper: Stopper | None = None


@dataclass(slots=True, eq=False, weakref_slot=True)
class Response:
    """An HTTP response, independent of the HTTP library. The names of its headers are in lower case.

    - `raw`: the response object of the HTTP library.
    - `body`: the whole body, or b"" for a streamed response. `IO.read` returns the chunks of a streamed response.
    - `ends`: the deadline for reading a streamed response, as a time of `IO.now`.
    - `method`, `path`, `attempt`: facts about the request, which `Core` sets.
    """

    status: int
    headers: dict[str, str]
    body: bytes = b""
    raw: Any = field(default=None, repr=False)
    chunks: Any = field(default=None, repr=False)
    ends: float = math.inf
    method: str = ""
    path: str = ""
    attempt: int = 1
    pid: int = field(default_factory=os.getpid, repr=False)
    """The id of the process that owns the connection. A forked child must not use the connection."""

    cut_off: bool = False
    """True if the client was closed before the whole response was read."""


class InFlightRequests:
    """The calls that wait for a response, and the open streamed responses. Closing the client ends both."""

    def __init__(self) -> None:
        self.calls: set[Stopper] = set()
        self.responses: WeakRegistry[Response] = WeakRegistry()

    def has_others(self, call: Stopper | None) -> bool:
        """Return True if a call other than `call` waits, or a streamed response is open."""
        return bool(self.calls - {call}) or any(not response.raw.is_closed for response in self.responses)

    def end(self) -> list[Any]:
        """End all waits, and return the httpx responses that the caller must close."""
        for call in self.calls.copy():
            call.stop()
        for response in self.responses:
            response.cut_off = True
        return [response.raw for response in self.responses]


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, and return its result. The coroutine never suspends, because it only awaits `SyncIO`.

    Raises the same exceptions as the coroutine, and `RuntimeError` if the coroutine suspends.
    """
    try:
        work.send(None)
    except StopIteration as stop:
        value: T = stop.value
        return value
    finally:
        work.close()
    raise RuntimeError("the client's core awaited something other than its I/O; please report this")
