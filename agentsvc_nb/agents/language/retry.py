"""Wait and retry while a model is unavailable."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from agentsvc_nb.tools.port import WorkFailure

T = TypeVar("T")
FIRST_SECONDS: Final = 1.0
LONGEST_SECONDS: Final = 120.0
TOTAL_SECONDS: Final = 600.0
"""The default for the total number of seconds that a run waits for one answer."""


class ModelUnavailable(WorkFailure):
    """Raised if a model call failed and a retry may succeed.

    `retry_after` is the delay in seconds that the provider requests, if any.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__("model_unavailable", message)
        self.retry_after = retry_after


class ContextExceeded(WorkFailure):
    """Raised if the model's server refused a request as too long. `tokens` is an estimate for request and answer."""

    def __init__(self, message: str, tokens: int) -> None:
        super().__init__("context_exceeded", message)
        self.tokens = tokens


class RetryDelays:
    """Computes the delays between retries of one answer. They grow, and their sum is at most `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.reset()

    def reset(self) -> None:
        """Begin with the shortest delay again, because the model has answered."""
        self._left, self._next = self._seconds, FIRST_SECONDS

    def next(self, failure: ModelUnavailable) -> float:
        """Return the seconds to wait before the next retry. Raise `failure` if the sum of delays would be too long."""
        # Random delays keep runs that failed at the same time from retrying at the same time.
        seconds = max(self._next * random.uniform(0.5, 1), failure.retry_after or 0)
        if seconds > self._left:
            raise failure
        self._left -= seconds
        self._next = min(2 * self._next, LONGEST_SECONDS)
        return seconds


async def retry(
    ask: Callable[[], Awaitable[T]],
    delays: RetryDelays,
    before_wait: Callable[[ModelUnavailable, float], Awaitable[None]],
) -> T:
    """Return the result of `ask`. Call `ask` again while it raises `ModelUnavailable`."""
    while True:
        try:
            return await ask()
        except ModelUnavailable as failure:
            seconds = delays.next(failure)
            await before_wait(failure, seconds)
            await asyncio.sleep(seconds)
