"""Group several writes to a database into one transaction.

All short writes that are requested in one turn of the event loop share a transaction, each in a separate savepoint.
Therefore a burst of writes costs one commit, and no write waits for a timer. A long write indexes texts or changes many
rows. It runs in the writer's thread. Meanwhile the service responds to requests, but other writes wait.
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
"""After this time, a transaction starts no further long write, because short writes wait for its end."""
LONG_MAX: Final = 16
"""The maximum number of long writes in one transaction."""


class PendingWrite(Generic[T]):
    """A write that was requested but is not yet committed.

    `done` is the future that receives the result. It is None if the requesting thread blocks until the commit.
    """

    def __init__(self, use: Callable[[Tx], T], long: bool = False, done: asyncio.Future[T] | None = None) -> None:
        self.long = long
        self.failure: BaseException | None = None
        self._use = use
        self._done = done
        self._result: T

    def attempt(self, tx: Tx) -> bool:
        """Execute the write in the group's transaction, and return whether it succeeded.

        If it failed, the caller must roll the write back.
        """
        self.failure = None
        try:
            self._result = self._use(tx)
        except BaseException as error:
            # asyncio does not allow a StopIteration as the exception of a Future.
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
        """Pass the result or the exception to `done`, unless `done` was cancelled."""
        if self._done is None or self._done.done():
            return
        if failure := group_failure or self.failure:
            self._done.set_exception(failure)
        else:
            self._done.set_result(self._result)


class GroupCommit(ABC):
    """The part of `ports.DatabaseEngine` that writes."""

    def __init__(self, thread_name: str) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._short: list[PendingWrite[Any]] = []
        self._long: deque[PendingWrite[Any]] = deque()
        self._flush_is_due = False
        # a Future instead of a Task, so that the end of the event loop can't cancel it
        self._in_thread: asyncio.Future[list[PendingWrite[Any]]] | None = None
        # a separate thread, because file operations may keep the default thread pool busy for long
        self._thread = ThreadPoolExecutor(1, thread_name)

    @abstractmethod
    def _commit(self, writes: list[PendingWrite[Any]], seconds: float = math.inf) -> list[PendingWrite[Any]]:
        """Execute writes in one transaction. If a write fails, undo only this write, and execute the others.

        Return the long writes that were not started within `seconds`.

        Raises `StoreBusy`, and any error that prevents the commit, such as a full disk. Then the database is unchanged.
        """

    def _commit_in_loop(self) -> None:  # noqa: B027 - only SQLite overrides this
        """Commit the short writes in the event loop's thread, if no other process holds the database's lock."""

    async def write(self, use: Callable[[Tx], T], *, long: bool = False) -> T:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # an earlier event loop has ended, so nobody waits for its writes
            self._loop, self._short, self._long, self._in_thread = loop, [], deque(), None
            self._flush_is_due = False
        if not self._flush_is_due and self._in_thread is None:
            self._flush_is_due = True
            loop.call_soon(self._flush)
        done: asyncio.Future[T] = loop.create_future()
        (self._long if long else self._short).append(PendingWrite(use, long, done))
        return await done

    def write_now(self, use: Callable[[Tx], T]) -> T:
        """Execute a write and block until its commit, without an event loop. For the command line and tests."""
        write = PendingWrite(use)
        self._commit([write])
        return write.result()

    def finish_writes(self) -> None:
        """Execute all requested writes before the database closes. Call this in the event loop's thread."""
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
        """Commit the short writes in the event loop's thread if possible, and other writes in the writer's thread."""
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
        """Remove the oldest long writes from the queue and return them."""
        return [self._long.popleft() for _ in range(min(LONG_MAX, len(self._long)))]

    def _settle_in_loop(self, writes: list[PendingWrite[Any]], done: asyncio.Future[list[PendingWrite[Any]]]) -> None:
        """Pass on the results of the writer's thread, then commit the writes that were requested meanwhile."""
        self._in_thread = None
        failure = done.exception()
        left = [] if failure else done.result()
        for write in writes[: len(writes) - len(left)]:
            write.settle(failure)
        self._long.extendleft(reversed(left))
        self._flush()
