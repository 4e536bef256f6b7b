"""A fair share of threads and turns for each account: who asks for little waits for nobody who asks for much."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, Generic, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

account: Final[ContextVar[str]] = ContextVar("account", default="")
"""The account that the present request, run or job is of; empty for the service's own work. It goes along into tasks
and threads."""


class FairQueue(Generic[T]):
    """Work that waits, by account. At most `share` of one account are taken at a time, and next is always the account
    of which the fewest are; of equals the one that was served longest ago."""

    def __init__(self, share: int) -> None:
        self._share = share
        self._waiting: dict[str, deque[T]] = {}
        self._taken: Counter[str] = Counter()

    def put(self, item: T) -> None:
        self._waiting.setdefault(account.get(), deque()).append(item)

    def take(self) -> tuple[str, T] | None:
        """The next item, with its account, to be given to `done`; None when none may be taken now."""
        open = [name for name in self._waiting if self._taken[name] < self._share]
        if not open:
            return None
        name = min(open, key=self._taken.__getitem__)
        items = self._waiting.pop(name)
        item = items.popleft()
        if items:
            self._waiting[name] = items  # behind the others
        self._taken[name] += 1
        return name, item

    def done(self, name: str) -> None:
        self._taken[name] -= 1
        if not self._taken[name]:
            del self._taken[name]


class FairThreads(ThreadPoolExecutor):
    """A thread pool, for `asyncio.to_thread`, in which one account never has all the threads."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads, "worker")
        self._fair: FairQueue[tuple[Future[Any], Callable[[], Any]]] = FairQueue(max(1, threads - 2))
        self._lock = threading.Lock()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        with self._lock:
            self._fair.put((future, partial(fn, *args, **kwargs)))
        super().submit(self._serve)
        return future

    def _serve(self) -> None:
        """Do what may be taken, until nothing may: what is left then is taken by the threads that work for its
        account."""
        while True:
            with self._lock:
                taken = self._fair.take()
            if taken is None:
                return
            name, (future, call) = taken
            try:
                _settle(future, call)
            finally:
                with self._lock:
                    self._fair.done(name)


def _settle(future: Future[T], call: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


class FairTurns:
    """A semaphore of `turns`, of which one account holds at most all but one."""

    def __init__(self, turns: int) -> None:
        self._free = turns
        self._queue: FairQueue[asyncio.Future[None]] = FairQueue(max(1, turns - 1))

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        mine = asyncio.get_running_loop().create_future()
        self._queue.put(mine)
        name = account.get()
        self._give()
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self._end(name)
            raise
        try:
            yield
        finally:
            self._end(name)

    def _give(self) -> None:
        while self._free and (taken := self._queue.take()) is not None:
            name, waiting = taken
            if waiting.done():  # cancelled while it waited
                self._queue.done(name)
            else:
                self._free -= 1
                waiting.set_result(None)

    def _end(self, name: str) -> None:
        self._free += 1
        self._queue.done(name)
        self._give()
