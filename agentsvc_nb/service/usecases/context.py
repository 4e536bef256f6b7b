"""The context that every use case takes: database, search index, clock, settings, signals and workers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from agentsvc_nb.formats.children.fairness import FairTurns
from agentsvc_nb.service.ports import Clock, Database, Index, Signals, Tx, Workers
from agentsvc_nb.service.usecases.lanes import Lane
from agentsvc_nb.settings import Settings

T = TypeVar("T")


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
    check: Callable[[], Awaitable[None]] | None = None
    """Called before each write. Raises `ApiError` when the caller has lost access since the request began."""
    searches: Lane = field(default_factory=Lane)
    more_events: FairTurns = field(default_factory=lambda: FairTurns(1))
    """To be taken before events are read that go on from others: one such read in each turn of the event loop."""

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
        return self.database.read(use)

    async def read_single(self, use: Callable[[Tx], T]) -> T:
        """`read` for a `use` of one statement."""
        return self.database.read_single(use)

    async def read_long(self, use: Callable[[Tx], T]) -> T:
        """`read` in a thread."""
        return await asyncio.to_thread(self.database.read, use)

    async def search(self, account: str, use: Callable[[Tx], T], seconds: float | None) -> T:
        """`read` in the searches' lane. Raises `ReadTooLong` after `seconds` of processor time."""
        return await self.searches.run(account, lambda: self.database.read(use, seconds))

    async def write(self, use: Callable[[Tx], T], *, long: bool = False) -> T:
        """Run `use` in one write transaction: all of it is committed, or nothing. Raises `StoreBusy`.

        `long`: `use` indexes texts or touches many rows, so it runs in a thread; other writes wait, requests go on.
        """
        if self.check is not None:
            await self.check()
        return await self.database.write(use, long=long)
