"""The context of every use case: database, search index, clock, settings, signals and workers.

It also has the threads of searches. Few searches run at once, so that they leave CPU time to other work.
"""

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
"""After this much CPU time, work may leave fragments of freed memory. A thread keeps up to 60 MB of them."""


@dataclass(frozen=True)
class UseCaseContext:
    """The first argument of each use case.

    A use case opens a transaction, and notifies watchers and workers after the commit. A function that takes a `Tx`
    instead is a step within the transaction of a use case.
    """

    database: Database
    index: Index
    clock: Clock
    settings: Settings
    origin: str
    """The service's public address. Links in records begin with it."""
    signals: Signals
    workers: Workers
    process: str | None = None
    """The id of this process among those that share the database. None if only one uses it."""
    check: Callable[[], Awaitable[None]] | None = None
    """Called before each write. Raises `ApiError` if the caller has lost access since the request began."""
    searches: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(SEARCHES_AT_ONCE, "search"))
    more_events: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    """Acquire this before you read further pages of events. The event loop does one such read per turn."""
    metrics: Metrics = field(default_factory=Metrics)
    tracing: Tracing = field(default_factory=Tracing)

    @property
    def now(self) -> int:
        return self.clock.now()

    def checked(self, check: Callable[[], Awaitable[None]]) -> UseCaseContext:
        """Return a copy of this context that calls `check` before each write."""
        made = object.__new__(UseCaseContext)  # each request makes one, and `replace` takes twenty times as long
        made.__dict__.update(self.__dict__, check=check)
        return made

    async def read(self, use: Callable[[Tx], T]) -> T:
        """Run `use` on a snapshot. For quick reads only."""
        return await self.database.read_soon(use)

    async def read_single(self, use: Callable[[Tx], T]) -> T:
        """Run `use` on a snapshot, for one statement, or several that need not see the same moment."""
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
                if time.thread_time() - began > DEAR_SECONDS:
                    return_freed()

        return await asyncio.get_running_loop().run_in_executor(self.searches, read)

    async def write(self, use: Callable[[Tx], T], *, long: bool = False) -> T:
        """Run `use` in one write transaction: commit all of it, or nothing. Raises `StoreBusy`.

        If `long`, `use` indexes texts or changes many rows, so it runs in a thread. Meanwhile other writes wait, but
        other requests continue.
        """
        if self.check is not None:
            await self.check()
        return await self.database.write(use, long=long)
