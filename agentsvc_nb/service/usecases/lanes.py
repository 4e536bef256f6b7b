"""Lanes: a few threads for reads that cost much, shared fairly between accounts
(docs/decisions/0035-costly-work-in-lanes.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar
from weakref import WeakValueDictionary

from agentsvc_nb.formats.children.turns import FairTurns

T = TypeVar("T")

SEARCHES_AT_ONCE: Final = 4


class Lane:
    """Threads of its own, for one piece of work of each account at a time, so that one account leaves threads free for
    others. For one event loop at a time."""

    def __init__(self, name: str = "search", threads: int = SEARCHES_AT_ONCE) -> None:
        self._threads = ThreadPoolExecutor(threads, name)
        self._turns = FairTurns(threads)
        self._locks = WeakValueDictionary[str, asyncio.Lock]()

    async def run(self, account: str, work: Callable[[], T]) -> T:
        """The result of `work`, when it was the account's turn and a thread has done it."""
        lock = self._locks.setdefault(account, asyncio.Lock())
        async with lock:
            await self._turns.take(account)
            working = asyncio.get_running_loop().run_in_executor(self._threads, work)
            working.add_done_callback(lambda _: self._turns.give_back(account))
            try:
                return await asyncio.shield(working)
            except asyncio.CancelledError:
                await asyncio.wait([working])  # a thread cannot be cancelled: the account's turn ends with it
                working.exception()  # retrieved here, or asyncio would log a traceback
                raise
