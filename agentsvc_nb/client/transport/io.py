"""Requests, responses and calls in flight, for both kinds of I/O.

The methods of `SyncIO` never suspend, so `run_sync` can run a coroutine of the core to its end without an event loop or
a thread. The methods of `AsyncIO` are awaited as usual.
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
"""A socket's timeout may fire up to this many seconds before the deadline that it was computed from."""


class Stopper:
    """Let another thread (on asyncio, another task) end the wait for a response."""

    def __init__(self) -> None:
        self.stopped = False
        self._wake: Callable[[], None] | None = None

    def stop(self) -> None:
        """End the present wait, if any, and prevent further requests with this stopper."""
        self.stopped = True
        self.end_wait()

    def end_wait(self) -> None:
        if wake := self._wake:
            wake()

    def waits(self, wake: Callable[[], None] | None) -> None:
        """Before a wait, set the function that ends the wait; after the wait, set None. Then check `stopped`."""
        self._wake = wake


class WeakRegistry(Generic[T]):
    """Objects that are still referenced. Unlike a `WeakSet`, you can iterate while another thread adds one."""

    def __init__(self) -> None:
        self._known: set[weakref.ref[T]] = set()

    def add(self, one: T) -> T:
        self._known.add(weakref.ref(one, self._known.discard))
        return one

    def __iter__(self) -> Iterator[T]:
        return (one for known in self._known.copy() if (one := known()) is not None)


OnBytes = Callable[[int, int | None], Any]
"""A progress hook, called with the bytes transferred so far and the total, which is None if unknown."""


async def call_hook(hook: Callable[..., Any] | None, *news: Any) -> None:
    """Call `hook`, if given, with `news`. With the async client it may be a coroutine function.

    An exception in the hook ends the call.
    """
    if hook is not None and inspect.isawaitable(heard := hook(*news)):
        await heard


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One HTTP request.

    `seconds` limits each single wait. `ends`, a time of `IO.now`, limits the whole exchange. `stopper` ends the
    exchange from outside. `body` is JSON. `files` are (name, content) pairs of a multipart body, with `body` as its
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
    """An HTTP response, with header names in lower case. `raw` is the library's response object.

    `Core` sets `method`, `path` and `attempt` of the request. A streamed response has no `body`: read its `chunks` with
    `IO.read`, until `ends` (a time of `IO.now`).
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
    """The process that owns the connection. A forked child must not touch it."""

    cut_off: bool = False
    """True if the client was closed while the response was read."""


class InFlightRequests:
    """Calls that wait for a response, and streamed responses. Closing the client ends both."""

    def __init__(self) -> None:
        self.calls: set[Stopper] = set()
        self.responses: WeakRegistry[Response] = WeakRegistry()

    def others(self, call: Stopper | None) -> bool:
        """Return True if anything but `call` is in flight."""
        return bool(self.calls - {call}) or any(not response.raw.is_closed for response in self.responses)

    def end(self) -> list[Any]:
        """End all waits. Return the responses of httpx that must be closed."""
        for call in self.calls.copy():
            call.stop()
        for response in self.responses:
            response.cut_off = True
        return [response.raw for response in self.responses]


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, because it awaits only `SyncIO`, and return its result.

    Raises the exceptions of the coroutine, and `RuntimeError` if it suspends.
    """
    try:
        work.send(None)
    except StopIteration as stop:
        value: T = stop.value
        return value
    finally:
        work.close()
    raise RuntimeError("the client's core awaited something other than its I/O; please report this")
