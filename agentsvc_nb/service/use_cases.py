"""The context that every use case takes: database, search index, clock, settings, signals and workers; and the threads
of searches, few of which run at once, so that they leave the processor to others."""

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
DEAR_SECONDS: Final = 0.25
"""Work that took this much processor time may leave fragments of freed memory, of which a thread keeps up to 60 MB."""


@dataclass(frozen=True)
class UseCaseContext:
    """The first argument of each use case. A use case opens its own transaction, and notifies watchers and workers
    after the commit.

    A function that takes a `Tx` instead is a step within the transaction of a use case.
    """

    database: Database
    index: Index
    clock: Clock
    settings: Settings
    origin: str
    """The service's public address; links in records begin with it."""
    signals: Signals
    workers: Workers
    process: str | None = None
    """The id of this process among those that share the database; None if it has the database to itself."""
    check: Callable[[], Awaitable[None]] | None = None
    """Called before each write. Raises `ApiError` when the caller has lost access since the request began."""
    searches: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(SEARCHES_AT_ONCE, "search"))
    more_events: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    """To be acquired before reading events that continue others: one such read in each turn of the event loop."""
    metrics: Metrics = field(default_factory=Metrics)
    tracing: Tracing = field(default_factory=Tracing)

    @property
    def now(self) -> int:
        return self.clock.now()

    def checked(self, check: Callable[[], Awaitable[None]]) -> UseCaseContext:
        """A copy of this context that calls `check` before each write."""
        made = object.__new__(UseCaseContext)  # each request makes one: `replace` takes twenty times as long
        made.__dict__.update(self.__dict__, check=check)
        return made

    async def read(self, use: Callable[[Tx], T]) -> T:
        """Run `use` on a snapshot. Quick reads only."""
        return await self.database.read_soon(use)

    async def read_single(self, use: Callable[[Tx], T]) -> T:
        """`read` for a `use` of one statement, or of several that need not see the same moment."""
        return await self.database.read_soon(use, single=True)

    async def read_long(self, use: Callable[[Tx], T]) -> T:
        """`read` in a thread."""
        return await asyncio.to_thread(self.database.read, use)

    async def search(self, use: Callable[[Tx], T], seconds: float | None) -> T:
        """`read` in a thread for searches. Raises `ReadTooLong` after `seconds` of processor time."""

        def read() -> T:
            began = time.thread_time()
            try:
                return self.database.read(use, seconds)
            finally:
                if time.thread_time() - began > DEAR_SECONDS:
                    return_freed()

        return await asyncio.get_running_loop().run_in_executor(self.searches, read)

    async def write(self, use: Callable[[Tx], T], *, long: bool = False) -> T:
        """Run `use` in one write transaction: all of it is committed, or nothing. Raises `StoreBusy`.

        `long`: `use` indexes texts or touches many rows, so it runs in a thread; other writes wait, requests go on.
        """
        if self.check is not None:
            await self.check()
        return await self.database.write(use, long=long)
