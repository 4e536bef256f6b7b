"""Group commit under asyncio, for any database.

All writes that are requested in one turn of the event loop share one transaction, each in a separate savepoint. So a
burst of small writes costs one commit, and no write waits for a timer. A long write, which indexes texts or changes
many rows, runs in the writer's thread. Meanwhile requests continue, and further writes wait.
"""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Generic, TypeVar

from agentsvc_nb.service.ports import Tx

T = TypeVar("T")
LONG_SECONDS: Final = 0.02
"""After this time, a transaction of long writes takes no further write, because short writes wait for its end."""
LONG_MAX: Final = 16
"""The maximum number of long writes in one transaction."""


class PendingWrite(Generic[T]):
    """A requested write. `done` receives its result or exception. `done` is None for a write that blocks."""

    def __init__(self, use: Callable[[Tx], T], long: bool = False, done: asyncio.Future[T] | None = None) -> None:
        self.long = long
        self.failure: BaseException | None = None
        self._use = use
        self._done = done
        self._result: T

    def attempt(self, tx: Tx) -> bool:
        """Run within the group's transaction.

        If the write fails, store the failure and return False. The caller must then undo the write.
        """
        self.failure = None
        try:
            self._result = self._use(tx)
        except BaseException as error:
            # A Future cannot hold a StopIteration.
            self.failure = (
                RuntimeError("a write transaction ended before its commit")
                if isinstance(error, StopIteration)
                else error
            )
        return self.failure is None

    def result(self) -> T:
        if self.failure is not None:
            raise self.failure
        return self._result

    def settle(self, group_failure: BaseException | None = None) -> None:
        """Set the result or exception of `done`, unless it was cancelled."""
        if self._done is None or self._done.done():
            return
        if failure := group_failure or self.failure:
            self._done.set_exception(failure)
        else:
            self._done.set_result(self._result)


class GroupCommit(ABC):
    """The writing half of `ports.DatabaseEngine`."""

    def __init__(self, thread_name: str) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._short: list[PendingWrite[Any]] = []
        self._long: deque[PendingWrite[Any]] = deque()
        self._flush_is_due = False
        # a Future, not a Task, so that loop shutdown can't cancel it
        self._in_thread: asyncio.Future[list[PendingWrite[Any]]] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name)  # the default thread pool may be busy with files for long

    @abstractmethod
    def _commit(self, writes: list[PendingWrite[Any]], seconds: float = math.inf) -> list[PendingWrite[Any]]:
        """Run writes in one transaction. A failure of one write undoes only that write and is not raised.

        Return the long writes that did not begin within `seconds`.

        Raises `StoreBusy`, and any error that prevents the commit, such as a full disk. In these cases nothing is
        written.
        """

    def _commit_in_loop(self) -> None:  # noqa: B027 - a database on a server does not
        """Commit the short writes in the event loop's thread if no other process holds the lock."""

    async def write(self, use: Callable[[Tx], T], *, long: bool = False) -> T:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # nobody waits for writes of an earlier event loop, which has ended
            self._loop, self._short, self._long, self._in_thread = loop, [], deque(), None
            self._flush_is_due = False
        if not self._flush_is_due and self._in_thread is None:
            self._flush_is_due = True
            loop.call_soon(self._flush)
        done: asyncio.Future[T] = loop.create_future()
        (self._long if long else self._short).append(PendingWrite(use, long, done))
        return await done

    def write_now(self, use: Callable[[Tx], T]) -> T:
        """Write and block, for the command line and tests. Needs no event loop."""
        write = PendingWrite(use)
        self._commit([write])
        return write.result()

    def finish_writes(self) -> None:
        """Execute the requested writes before closing. Call this in the event loop's thread."""
        self._thread.shutdown()
        while writes := self._short or self._next_long():
            self._short = []
            failure = None
            try:
                self._commit(writes)
            except Exception as error:
                failure = error
            for write in writes:
                write.settle(failure)

    def _flush(self) -> None:
        """Commit the short writes of this turn, then the long writes in the writer's thread."""
        self._flush_is_due = False
        if self._short:
            self._commit_in_loop()
        writes, self._short = self._short or self._next_long(), []
        if not writes:
            return
        loop = asyncio.get_running_loop()
        self._in_thread = loop.run_in_executor(self._thread, self._commit, writes, LONG_SECONDS)
        self._in_thread.add_done_callback(lambda done: self._settle_in_loop(writes, done))

    def _next_long(self) -> list[PendingWrite[Any]]:
        """Remove the earliest long writes from the queue and return them."""
        return [self._long.popleft() for _ in range(min(LONG_MAX, len(self._long)))]

    def _settle_in_loop(self, writes: list[PendingWrite[Any]], done: asyncio.Future[list[PendingWrite[Any]]]) -> None:
        """Settle the writes of the writer's thread, then commit writes that were requested since."""
        self._in_thread = None
        failure = done.exception()
        left = [] if failure else done.result()
        for write in writes[: len(writes) - len(left)]:
            write.settle(failure)
        self._long.extendleft(reversed(left))
        self._flush()
