"""Ctrl-C and cancellation, at random moments."""

from __future__ import annotations

import asyncio
import random
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

LONGEST_SECONDS = 0.06
"""Longest random wait before an interrupt: about as long as the interrupted work takes."""
# If an interrupt hits the standard library while it makes a socket, garbage collection closes it, with a warning.
HALF_MADE_SOCKETS = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class CtrlC:
    """Runs work and interrupts it with a real SIGINT after a random time. `hits` counts the interrupted ones."""

    def __init__(self, seed: int, longest: float = LONGEST_SECONDS) -> None:
        self._dice, self._over, self._longest = random.Random(seed), False, longest
        self.hits = 0

    def during(self, work: Callable[[], Any]) -> Any:
        """Run `work` and return its result, or None if it was interrupted."""
        self._over = False
        before = signal.signal(signal.SIGINT, self._interrupt)
        timer = threading.Timer(
            self._dice.uniform(0, self._longest), signal.pthread_kill, (threading.get_ident(), signal.SIGINT)
        )
        given = None
        try:
            timer.start()
            given = work()
            self._over = True
        except KeyboardInterrupt:
            self.hits += 1
        timer.join()
        signal.signal(signal.SIGINT, before)
        return given

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if not self._over:
            self._over = True
            raise KeyboardInterrupt


async def cancelled(work: Any, dice: random.Random, longest: float = LONGEST_SECONDS) -> bool:
    """Run `work` as a task and cancel it after a random time. True if it was cancelled before it ended."""
    task = asyncio.ensure_future(work)
    await asyncio.wait([task], timeout=dice.uniform(0, longest))
    task.cancel()
    await asyncio.wait([task])
    return task.cancelled()
