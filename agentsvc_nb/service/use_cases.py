"""The context of use cases (operations such as starting a run): database, index, clock, settings, signals, workers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, TypeVar

from agentsvc_nb.documents.memory import return_freed
from agentsvc_nb.service.ports import Clock, Database, Index, Signals, Tx, Workers
from agentsvc_nb.service.telemetry.metrics import Metrics
from agentsvc_nb.service.telemetry.tracing import Tracing
from agentsvc_nb.settings import Settings

T = TypeVar("T")
SEARCHES_AT_ONCE: Final = 4
LONG_SEARCH_SECONDS: Final = 0.25
"""After a search that takes more CPU time than this, the service returns free memory to the operating system.

Such a search may leave up to 60 MB of fragmented free memory in its thread.
"""


@dataclass(frozen=True)
class UseCaseContext:
    """The database, clock, settings and other objects that each use case receives as its first argument.

    A use case opens a transaction, and notifies watchers and workers after the commit. A function whose first argument
    is a `Tx` is a step within the transaction of a use case.
    """

    database: Database
    index: Index
    clock: Clock
    settings: Settings
    origin: str
    """The service's public base URL, with which links in records begin."""
    signals: Signals
    workers: Workers
    process: str | None = None
    """The id of this process among those that share the database. None if only this process uses the database."""
    check: Callable[[], Awaitable[None]] | None = None
    """A function called before each write. It raises `ApiError` if the caller's credential has become invalid."""
    searches: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(SEARCHES_AT_ONCE, "search"))
    """The threads for searches. They are few, so that CPU time remains for other work."""
    more_events: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    """Acquire this before you read a further page of a run's events, so that only one such read runs at a time."""
    metrics: Metrics = field(default_factory=Metrics)
    tracing: Tracing = field(default_factory=Tracing)

    @property
    def now(self) -> int:
        return self.clock.now()

    def with_check(self, check: Callable[[], Awaitable[None]]) -> UseCaseContext:
        """Return a copy of this context that calls `check` before each write."""
        made = object.__new__(UseCaseContext)  # each request does this; `replace` takes twenty times as long
        made.__dict__.update(self.__dict__, check=check)
        return made

    async def read(self, use: Callable[[Tx], T]) -> T:
        """Run `use` on a snapshot of the database. For quick reads only."""
        return await self.database.read_soon(use)

    async def read_single(self, use: Callable[[Tx], T]) -> T:
        """Run `use` without a transaction: for one statement, or for statements that need not see the same snapshot."""
        return await self.database.read_soon(use, single=True)

    async def read_long(self, use: Callable[[Tx], T]) -> T:
        """Run `use` on a snapshot, in a thread."""
        return await asyncio.to_thread(self.database.read, use)

    async def search(self, use: Callable[[Tx], T], seconds: float | None) -> T:
        """Run `use` on a snapshot, in a thread for searches. Raises `ReadTooLong` after `seconds` of CPU time."""

        def read() -> T:
            began = time.thread_time()
            try:
                return self.database.read(use, seconds)
            finally:
                if time.thread_time() - began > LONG_SEARCH_SECONDS:
                    return_freed()

        return await asyncio.get_running_loop().run_in_executor(self.searches, read)

    async def write(self, use: Callable[[Tx], T], *, long: bool = False) -> T:
        """Run `use` in one write transaction: commit all of it, or nothing. Raises `StoreBusy`, or what `check` raises.

        Set `long` if `use` indexes texts or changes many rows. It then runs in a thread. Meanwhile other writes wait,
        but other requests continue.
        """
        if self.check is not None:
            await self.check()
        return await self.database.write(use, long=long)
