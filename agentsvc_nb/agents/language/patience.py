"""What a run does while its model does not answer: it waits longer each time, and tries again from its last checkpoint
(docs/decisions/0058-a-model-that-is-away-is-waited-for.md)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from agentsvc_nb.tools.port import WorkFailure

T = TypeVar("T")
FIRST_SECONDS: Final = 1.0
LONGEST_SECONDS: Final = 120.0
PATIENCE_SECONDS: Final = 600.0
"""How long a run waits in all for one answer."""


class Away(WorkFailure):
    """The model did not answer, or not to the end, for a reason that may pass. `retry_after`: the seconds that its
    provider asks to wait."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__("model_unavailable", message)
        self.retry_after = retry_after


class TooLong(WorkFailure):
    """The model's server refused a request for its length, which was estimated as `asked` tokens, the ones for its
    answer included."""

    def __init__(self, message: str, asked: int) -> None:
        super().__init__("context_exceeded", message)
        self.asked = asked


class Patience:
    """The waits for one answer; `seconds` may be waited in all."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._left = seconds
        self._next = FIRST_SECONDS

    def answered(self) -> None:
        """The model has answered: the next one may be waited for as long."""
        self._left, self._next = self._seconds, FIRST_SECONDS

    def wait(self, fault: Away) -> float:
        """The seconds to wait before the next try. Raises `fault` when they are more than are left."""
        # With jitter, so that runs that failed together do not come back together.
        seconds = max(self._next * random.uniform(0.5, 1), fault.retry_after or 0)
        if seconds > self._left:
            raise fault
        self._left -= seconds
        self._next = min(2 * self._next, LONGEST_SECONDS)
        return seconds


async def patiently(
    ask: Callable[[], Awaitable[T]], patience: Patience, again: Callable[[Away, float], Awaitable[None]]
) -> T:
    """The answer of `ask`, which is tried again while its model is away; before each wait `again` is told."""
    while True:
        try:
            return await ask()
        except Away as fault:
            seconds = patience.wait(fault)
            await again(fault, seconds)
            await asyncio.sleep(seconds)
