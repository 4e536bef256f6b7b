"""Writes under asyncio, for any database: all that are requested in one turn of the event loop share one transaction
(docs/decisions/0004-sqlite.md)."""

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
"""A transaction of long writes begins no other after this: those that are not long wait for its end."""
LONG_AT_ONCE: Final = 16


class GroupedWrites(ABC):
    """The writing half of `ports.Database`."""

    def __init__(self, name: str) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asked: list[Job[Any]] = []
        self._long: deque[Job[Any]] = deque()
        self._due = False
        # a Future, not a Task, so loop shutdown cannot cancel it
        self._aside: asyncio.Future[list[Job[Any]]] | None = None
        self._thread = ThreadPoolExecutor(1, name)  # the default pool may be busy with files for long

    @abstractmethod
    def _commit(self, jobs: list[Job[Any]], seconds: float = math.inf) -> list[Job[Any]]:
        """Run jobs in one transaction; a job's own failure undoes only that job and is not raised. Those long ones that
        would begin after so many seconds are not run, but returned.

        Raises `StoreBusy`, and any error that keeps the transaction from being committed, such as a full disk: no job
        is written then.
        """

    def _commit_here(self) -> None:  # noqa: B027 - most do not
        """Make the requested writes in the event loop's thread, where that is quick."""

    async def write(self, use: Callable[[Tx], T], *, long: bool = False) -> T:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # writes of an earlier, ended loop have nobody waiting for them
            self._loop, self._asked, self._long, self._aside, self._due = loop, [], deque(), None, False
        if not self._due and self._aside is None:
            self._due = True
            loop.call_soon(self._end_turn)
        done: asyncio.Future[T] = loop.create_future()
        job = Job(use, long, done)
        (self._long if long else self._asked).append(job)
        return await done

    def write_now(self, use: Callable[[Tx], T]) -> T:
        """A blocking `write` for the command line and tests; needs no event loop."""
        job = Job(use)
        self._commit([job])
        return job.result()

    def finish_writes(self) -> None:
        """Make the writes that are requested, in this thread. To be called in the event loop's, before closing."""
        self._thread.shutdown()
        while jobs := self._asked or self._next_long():
            self._asked = []
            settle(jobs, _failure(lambda jobs=jobs: self._commit(jobs)))  # type: ignore[misc]

    def _end_turn(self) -> None:
        """Write the requests of this turn; then those that take long, in the writer's thread."""
        self._due = False
        if self._asked:
            self._commit_here()
        jobs, self._asked = self._asked or self._next_long(), []
        if not jobs:
            return
        loop = asyncio.get_running_loop()
        self._aside = loop.run_in_executor(self._thread, self._commit, jobs, LONG_SECONDS)
        self._aside.add_done_callback(lambda done: self._written_aside(jobs, done))

    def _next_long(self) -> list[Job[Any]]:
        """Take the long writes that were requested first."""
        return [self._long.popleft() for _ in range(min(LONG_AT_ONCE, len(self._long)))]

    def _written_aside(self, jobs: list[Job[Any]], done: asyncio.Future[list[Job[Any]]]) -> None:
        """Settle the jobs that the writer's thread has done, then write the requests that came in meanwhile."""
        self._aside = None
        failure = done.exception()
        left = [] if failure else done.result()
        settle(jobs[: len(jobs) - len(left)], failure)
        self._long.extendleft(reversed(left))
        self._end_turn()


class Job(Generic[T]):
    """A requested write. `done` receives its result or exception; None for a write that blocks."""

    def __init__(self, use: Callable[[Tx], T], long: bool = False, done: asyncio.Future[T] | None = None) -> None:
        self.long = long
        self.done = done
        self._use = use
        self._failure: BaseException | None = None
        self._result: T

    def attempt(self, tx: Tx) -> bool:
        """Run within the group's transaction. A failure is kept for `result` or `settle`: what the job has written is
        to be undone then, and the answer is False."""
        self._failure = None
        try:
            self._result = self._use(tx)
        except BaseException as error:
            # A Future cannot hold a StopIteration.
            self._failure = RuntimeError("a write ended early") if isinstance(error, StopIteration) else error
        return self._failure is None

    @property
    def failure(self) -> BaseException | None:
        return self._failure

    def result(self) -> T:
        if self._failure is not None:
            raise self._failure
        return self._result

    def settle(self, failure: BaseException | None) -> None:
        """Set the result or exception of `done`; `failure` is that of the whole group, if it failed."""
        if self.done is None or self.done.done():  # cancelled meanwhile
            return
        failure = failure or self._failure
        if failure is not None:
            self.done.set_exception(failure)
        else:
            self.done.set_result(self._result)


def settle(jobs: list[Job[Any]], failure: BaseException | None = None) -> None:
    for job in jobs:
        job.settle(failure)


def _failure(work: Callable[[], object]) -> Exception | None:
    try:
        work()
    except Exception as error:
        return error
    return None
