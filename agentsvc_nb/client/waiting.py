"""Wait for the end of a run or a job, and for a busy chat."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, Final, Literal, TypeVar

from agentsvc_nb.client.core import ApiRequest, Core, described
from agentsvc_nb.client.errors import APIConnectionError, JobTimeoutError, StefanBrainError, after
from agentsvc_nb.client.log import log
from agentsvc_nb.client.models import Run
from agentsvc_nb.client.options import WaitNotice, wait_seconds
from agentsvc_nb.client.references import ChatRef, optional
from agentsvc_nb.client.streams import AsyncEventStream
from agentsvc_nb.client.transport.io import Response
from agentsvc_nb.wire.limits import RUN_POLL_SECONDS

T = TypeVar("T")

LAST_LOOK_SECONDS: Final = 1.0
"""The limit of the last poll, which begins when `timeout` ends. A `deadline` can still end it earlier."""


class Wait:
    """Wait for the run or job of `notice`: poll until `timeout` seconds or the core's deadline have passed.

    `chat` is the chat of the run or job, once known. `JobTimeoutError` includes it.
    """

    def __init__(self, core: Core, timeout: float | None, notice: WaitNotice, chat: str | None = None) -> None:
        self.chat = chat
        self._core = core
        self._notice = notice
        self._ends = min(core.io.now() + wait_seconds(timeout), core.deadline)
        self._last: Response | None = None

    @property
    def left(self) -> float:
        return self._ends - self._core.io.now()

    @property
    def core(self) -> Core:
        """Return the core for the next poll. Its deadline is the end of the wait, or 1 s from now for the last poll."""
        return self._core.within(self.left if self.left > 0 else LAST_LOOK_SECONDS)

    async def look(self, request: ApiRequest) -> Response:
        """Poll once. Raises `JobTimeoutError` if the wait ends before a response comes."""
        try:
            self._last = await self.core.send(request)
        except APIConnectionError as error:
            if error.late or self.left <= 0:
                raise after(self._late(), error) from None
            raise
        return self._last

    async def pause(self, seconds: float, status: str, chat: str | None) -> None:
        """Sleep until the next poll. Raises `JobTimeoutError` if no time is left."""
        self.chat = chat or self.chat
        if self.left <= 0:
            raise described(self._late(), self._last) if self._last else self._late()
        wait = max(0.0, min(seconds, self.left))
        await self._core.notify(replace(self._notice, status=status, seconds=wait))
        await self._core.io.sleep(wait)

    def _late(self) -> JobTimeoutError:
        return JobTimeoutError(self._notice.id, self.chat)


async def in_time(chat: ChatRef | None, call: Coroutine[Any, Any, T], job_id: str | None = None) -> T:
    """Return the result of `call`. Raises `JobTimeoutError` if no response came before the deadline.

    `job_id` is None for a start, which has no id yet.
    """
    try:
        return await call
    except APIConnectionError as error:
        if error.late:
            raise after(JobTimeoutError(job_id, optional("chat", chat)), error) from None
        raise


OnBusy = Literal["reject", "wait"]


async def ended(core: Core, run_id: str, timeout: float | None, poll: float = RUN_POLL_SECONDS) -> Run[Any]:
    """Wait until the run has ended, and return it. Raises `JobTimeoutError` after `timeout` seconds.

    Read the run, then follow its events. Without an event stream, read the run every `poll` seconds.
    """
    waiting, request = Wait(core, timeout, WaitNotice("run", run_id)), ApiRequest("runs.get", {"run_id": run_id})
    run: Run[Any] = core.read(Run, await waiting.look(request))
    if not run.ended and waiting.left > 0:
        run = await _followed(core.within(waiting.left), run)
    while not run.ended:
        await waiting.pause(poll, run.status, run.chat)
        run = core.read(Run, await waiting.look(request))
    return run


async def when_free(core: Core, start: Callable[[], Coroutine[Any, Any, T]], timeout: float | None) -> T:
    """Return the result of `start`. While the chat is busy, wait for its active run and call `start` again.

    Raises the last refusal (`agent_run_rejected`) after `timeout` seconds.
    """
    core = core.within(wait_seconds(timeout))
    waited_for: str | None = None
    while True:
        try:
            return await start()
        except StefanBrainError as error:
            if error.code != "agent_run_rejected":
                raise
            refusal, holder = error, error.active_run_id
        await core.notify(WaitNotice("chat_busy", holder))
        if holder is None or holder == waited_for or not await _seen_to_end(core, holder):
            await core.sleep(RUN_POLL_SECONDS)
        if core.left <= 0:
            raise refusal
        waited_for = holder


async def _followed(core: Core, run: Run[Any]) -> Run[Any]:
    """Follow the run's events and return its record. The run has ended, unless the service has no event stream."""
    await core.notify(WaitNotice("run", run.run_id, run.status))
    stream = AsyncEventStream(core, run)
    try:
        async for _ in stream:
            pass
    except JobTimeoutError:
        raise
    except StefanBrainError as error:
        if error.closed:
            raise
        log.info("%s has no event stream, so the client polls: %s", run.run_id, error.message)
    finally:
        await stream.close()
    return stream.run


async def _seen_to_end(core: Core, run_id: str) -> bool:
    """Wait for the run's end or the core's deadline, and return True. Return False if this key cannot read the run."""
    try:
        await ended(core, run_id, max(0.0, core.left))
    except JobTimeoutError:
        return True
    except StefanBrainError as error:
        if error.code != "run_not_found":
            raise
        return False
    return True
