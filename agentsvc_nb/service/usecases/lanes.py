"""Lanes: a few threads for reads that cost much, shared fairly between accounts
(docs/decisions/0035-costly-work-in-lanes.md)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from agentsvc_nb.formats.children.fairness import FairTurns
from agentsvc_nb.formats.memory import return_freed

T = TypeVar("T")

SEARCHES_AT_ONCE: Final = 4
DEAR_SECONDS: Final = 0.25
"""Work of so much processor time may have left much freed memory in pieces, which a thread keeps: 60 MB each."""


class Lane:
    """Threads of its own, for one piece of work of each account at a time, so that one account leaves threads free for
    others. For one event loop at a time."""

    def __init__(self, name: str = "search", threads: int = SEARCHES_AT_ONCE) -> None:
        self._threads = ThreadPoolExecutor(threads, name)
        self._turns = FairTurns(threads, share=1)

    async def run(self, account: str, work: Callable[[], T]) -> T:
        """The result of `work`, when it was the account's turn and a thread has done it.

        A thread cannot be cancelled: the account's turn ends when the thread is done, whoever waits for it.
        """
        await self._turns.take(account)
        try:
            working = asyncio.get_running_loop().run_in_executor(self._threads, _done, work)
        except BaseException:  # no thread can be started
            self._turns.give_back(account)
            raise
        working.add_done_callback(lambda _: self._turns.give_back(account))
        return await asyncio.shield(working)

    def close(self) -> None:
        """Wait for the threads' end."""
        self._threads.shutdown()


def _done(work: Callable[[], T]) -> T:
    began = time.thread_time()
    try:
        return work()
    finally:
        if time.thread_time() - began > DEAR_SECONDS:
            return_freed()
