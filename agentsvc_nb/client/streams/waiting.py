"""Waiting for work of the service that goes on by itself: until `timeout`, and never past the call's deadline."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, Final, TypeVar

from agentsvc_nb.client.errors import APIConnectionError, JobTimeoutError
from agentsvc_nb.client.request.core import Core
from agentsvc_nb.client.request.options import WaitNotice

T = TypeVar("T")
LAST_LOOK_SECONDS: Final = 5.0
"""A look that begins when `timeout` ends may take so long; a deadline leaves it nothing."""


class Wait:
    """One wait for the run or job of `notice`. Its requests go through `core`."""

    def __init__(self, core: Core, timeout: float, notice: WaitNotice, chat: str | None = None) -> None:
        self.core, self.chat, self._notice = core.within(timeout + LAST_LOOK_SECONDS), chat, notice
        self._ends = min(core.io.now() + timeout, core.deadline)

    @property
    def left(self) -> float:
        return self._ends - self.core.io.now()

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
        await self.core.tell(replace(self._notice, status=status, seconds=wait))
        await self.core.io.sleep(wait)

    def _late(self) -> JobTimeoutError:
        return JobTimeoutError(self._notice.id, self.chat)


async def in_time(core: Core, chat: str | None, starting: Coroutine[Any, Any, T]) -> T:
    """What `starting` gives; `JobTimeoutError` without an id when no answer came before the core's deadline."""
    try:
        return await starting
    except APIConnectionError as error:
        if error.late:
            raise JobTimeoutError(None, chat) from None
        raise
