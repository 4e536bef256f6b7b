"""Work, turns at something scarce, and the service's threads, shared fairly between accounts: an account that asks for
little does not wait for all that another one asks for."""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, Generic, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

caller: Final[ContextVar[str]] = ContextVar("caller", default="")
"""The id of the key or session that the present request, run or job came with. It goes along into tasks."""


class FairQueue(Generic[T]):
    """Work that waits, by account. Next comes the account of which the least work is being done; of several, the one
    that has waited the longest since its last. Within an account its callers come in turn, and of one caller the first
    comes first.

    At most `share` pieces of work of one account are taken at a time.
    """

    def __init__(self, share: float = math.inf) -> None:
        self._share = share
        self._waiting: dict[str, dict[str, deque[T]]] = {}
        self._last: dict[str, str] = {}
        """The caller that was served last, of each account that has work waiting or being done."""
        self._taken: Counter[str] = Counter()

    def put(self, account: str, item: T, of: str | None = None) -> None:
        """`of`: the caller that it is of, unless it is the present one."""
        line = caller.get() if of is None else of
        self._waiting.setdefault(account, {}).setdefault(line, deque()).append(item)

    def take(self) -> tuple[str, T] | None:
        """The next item with its account, for which `done` is to be called; None when none may be taken now."""
        able = [account for account in self._waiting if self._taken[account] < self._share]
        if not able:
            return None
        chosen = min(able, key=self._taken.__getitem__)
        self._taken[chosen] += 1
        return chosen, self._next_of(chosen)

    def _next_of(self, account: str) -> T:
        """Take an item of the account, which is behind the others then, as its caller is among its callers."""
        lines, last = self._waiting.pop(account), self._last.get(account)
        name = self._last[account] = next((name for name in lines if name != last), last or "")
        items = lines.pop(name)
        item = items.popleft()
        if items:
            lines[name] = items
        if lines:
            self._waiting[account] = lines
        return item

    def done(self, account: str) -> None:
        """Count a piece of the account's work as done."""
        self._taken[account] -= 1
        if not self._taken[account]:
            del self._taken[account]
            if account not in self._waiting:
                self._last.pop(account, None)


class FairTurns:
    """A semaphore of `count` turns, handed out as by `FairQueue`, of which one account holds at most `share`. For one
    event loop.

    However many turns an account waits for, another account waits for one of them at most.
    """

    def __init__(self, count: int, share: float = math.inf) -> None:
        self._free = count
        self._queue: FairQueue[asyncio.Future[None]] = FairQueue(share)

    async def take(self, account: str) -> None:
        """Wait for a turn. When the task is cancelled, it does not have one."""
        turn = asyncio.get_running_loop().create_future()
        self._queue.put(account, turn)
        self._hand_on()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it came in the same moment
                self.give_back(account)
            raise

    def give_back(self, account: str) -> None:
        """End a turn of the account."""
        self._free += 1
        self._hand_on()  # before it counts as done: who gives back comes after those who hold none
        self._queue.done(account)
        self._hand_on()

    @contextlib.asynccontextmanager
    async def turn(self, account: str) -> AsyncIterator[None]:
        """Take a turn, and give it back after the block."""
        await self.take(account)
        try:
            yield
        finally:
            self.give_back(account)

    def _hand_on(self) -> None:
        while self._free and (taken := self._queue.take()) is not None:
            account, turn = taken
            if turn.cancelled():
                self._queue.done(account)
            else:
                self._free -= 1
                turn.set_result(None)


account: Final[ContextVar[str]] = ContextVar("account", default="")
"""The account that the present request, run or job is of; empty for the service's own work. It goes along into tasks
and threads."""


class FairThreads(ThreadPoolExecutor):
    """A thread pool, for `asyncio.to_thread`, in which one account never has all the threads."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads, "worker")
        # Two threads are left to the others, however much one account asks for.
        self._fair: FairQueue[tuple[Future[Any], Callable[[], Any]]] = FairQueue(threads - 2)
        self._lock = threading.Lock()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        with self._lock:
            self._fair.put(account.get(), (future, partial(fn, *args, **kwargs)))
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
            name = taken[0]
            try:
                _settle(*taken[1])
            finally:
                del taken
                with self._lock:
                    self._fair.done(name)


def _settle(future: Future[T], call: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:
        future.set_exception(error)
        # The error holds this frame and its caller's. Had they the future still, which has the error, all that the work
        # had in memory would stay until the garbage collector comes by.
        del future
    else:
        future.set_result(result)
