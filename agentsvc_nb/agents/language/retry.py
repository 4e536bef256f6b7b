"""Wait for a model that does not respond, and retry."""

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
"""The total number of seconds that a run waits for one answer."""


class ModelUnavailable(WorkFailure):
    """The model did not answer completely, and a retry may help. `retry_after` is the wait in seconds that the provider
    requests.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__("model_unavailable", message)
        self.retry_after = retry_after


class ContextExceeded(WorkFailure):
    """The model's server refused a request as too long. `tokens` estimates the length of the request with the
    answer.
    """

    def __init__(self, message: str, tokens: int) -> None:
        super().__init__("context_exceeded", message)
        self.tokens = tokens


class RetryDelays:
    """The growing delays between retries for one answer, at most `seconds` in total."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.reset()

    def reset(self) -> None:
        """Start again, because the model has answered."""
        self._left, self._next = self._seconds, FIRST_SECONDS

    def next(self, failure: ModelUnavailable) -> float:
        """Return the seconds before the next retry. Raise `failure` if too few seconds are left."""
        # Jitter keeps runs that failed together from retrying together.
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
    """Return the answer of `ask`. Call it again while the model is unavailable."""
    while True:
        try:
            return await ask()
        except ModelUnavailable as failure:
            seconds = delays.next(failure)
            await before_wait(failure, seconds)
            await asyncio.sleep(seconds)
