"""Waiting for work of the service that goes on by itself: until `timeout`, and never past the call's deadline."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, Final, TypeVar

from agentsvc_nb.client.errors import APIConnectionError, JobTimeoutError
from agentsvc_nb.client.request.core import Core
from agentsvc_nb.client.request.options import WaitNotice

T = TypeVar("T")
LAST_LOOK_SECONDS: Final = 1.0
"""A look that begins when `timeout` ends may take so long; a deadline leaves it nothing."""


class Wait:
    """One wait for the run or job of `notice`."""

    def __init__(self, core: Core, timeout: float, notice: WaitNotice, chat: str | None = None) -> None:
        self.chat, self._core, self._notice = chat, core, notice
        self._ends = min(core.io.now() + timeout, core.deadline)

    @property
    def left(self) -> float:
        return self._ends - self._core.io.now()

    @property
    def core(self) -> Core:
        """For the next look, which ends with the wait; the last one begins where it ends."""
        return self._core.within(self.left if self.left > 0 else LAST_LOOK_SECONDS)

    async def look(self, reading: Coroutine[Any, Any, T]) -> T:
        """What `reading` gives; `JobTimeoutError` when it got no answer before the wait was over."""
        try:
            return await reading
        except APIConnectionError as error:
            if error.late or self.left <= 0:
                raise self._late() from None
            raise

    async def pause(self, seconds: float, status: str, chat: str | None) -> None:
        """Wait until the next look. Raises `JobTimeoutError` when the time is over."""
        self.chat = chat or self.chat
        if self.left <= 0:
            raise self._late()
        wait = min(seconds, self.left)
        await self._core.tell(replace(self._notice, status=status, seconds=wait))
        await self._core.io.sleep(wait)

    def _late(self) -> JobTimeoutError:
        return JobTimeoutError(self._notice.id, self.chat)


async def in_time(chat: str | None, asking: Coroutine[Any, Any, T], job_id: str | None = None) -> T:
    """What `asking` gives; `JobTimeoutError` when no answer came before its deadline, without an id that of a start."""
    try:
        return await asking
    except APIConnectionError as error:
        if error.late:
            raise JobTimeoutError(job_id, chat) from None
        raise
