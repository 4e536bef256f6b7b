"""Wait until a run or a job has ended, and until a busy chat accepts a new run."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, Final, Literal, TypeVar

from agentsvc_nb.client.core import ApiRequest, Core, add_request_facts
from agentsvc_nb.client.errors import APIConnectionError, JobTimeoutError, StefanBrainError, copy_request
from agentsvc_nb.client.log import log
from agentsvc_nb.client.models import Run
from agentsvc_nb.client.options import WaitNotice, check_timeout
from agentsvc_nb.client.references import ChatRef, optional
from agentsvc_nb.client.streams import AsyncEventStream
from agentsvc_nb.client.transport.io import Response
from agentsvc_nb.wire.limits import RUN_POLL_SECONDS

T = TypeVar("T")

LAST_POLL_SECONDS: Final = 1.0
"""The maximum seconds of a last poll after `timeout` has passed. It ends earlier if the call's `deadline` comes."""


class PollingWait:
    """Poll a run or job until `timeout` seconds have passed or the core's deadline has come.

    `notice` names the run or job. `chat` is its chat, or None if it is unknown. A `JobTimeoutError` includes the chat.
    """

    def __init__(self, core: Core, timeout: float | None, notice: WaitNotice, chat: str | None = None) -> None:
        self.chat = chat
        self._core = core
        self._notice = notice
        self._ends = min(core.io.now() + check_timeout(timeout), core.deadline)
        self._last: Response | None = None

    @property
    def left(self) -> float:
        return self._ends - self._core.io.now()

    @property
    def core(self) -> Core:
        """Return a core for the next poll. Its deadline is the end of the wait, but 1 s from now if that has passed."""
        return self._core.within(self.left if self.left > 0 else LAST_POLL_SECONDS)

    async def poll(self, request: ApiRequest) -> Response:
        """Poll once, and return the response. Raises `JobTimeoutError` if the wait ends before the response comes."""
        try:
            self._last = await self.core.send(request)
        except APIConnectionError as error:
            if error.late or self.left <= 0:
                raise copy_request(self._late(), error) from None
            raise
        return self._last

    async def pause(self, seconds: float, status: str, chat: str | None) -> None:
        """Sleep until the next poll. Raises `JobTimeoutError` if no time is left."""
        self.chat = chat or self.chat
        if self.left <= 0:
            raise add_request_facts(self._late(), self._last) if self._last else self._late()
        wait = max(0.0, min(seconds, self.left))
        await self._core.notify(replace(self._notice, status=status, seconds=wait))
        await self._core.io.sleep(wait)

    def _late(self) -> JobTimeoutError:
        return JobTimeoutError(self._notice.id, self.chat)


async def run_in_time(chat: ChatRef | None, call: Coroutine[Any, Any, T], job_id: str | None = None) -> T:
    """Await `call`, and return its result. Raises `JobTimeoutError` if no response comes before the deadline.

    The error includes `job_id`, which is None for a start, because the job has no id yet.
    """
    try:
        return await call
    except APIConnectionError as error:
        if error.late:
            raise copy_request(JobTimeoutError(job_id, optional("chat", chat)), error) from None
        raise


OnBusy = Literal["reject", "wait"]


async def wait_for_run(core: Core, run_id: str, timeout: float | None, poll: float = RUN_POLL_SECONDS) -> Run[Any]:
    """Wait until the run has ended, and return its record. Raises `JobTimeoutError` after `timeout` seconds.

    This function follows the events of the run. If the service has no event stream, it reads the record every `poll`
    seconds.
    """
    waiting, request = PollingWait(core, timeout, WaitNotice("run", run_id)), ApiRequest("runs.get", {"run_id": run_id})
    run: Run[Any] = core.read(Run, await waiting.poll(request))
    if not run.ended and waiting.left > 0:
        run = await _follow(core.within(waiting.left), run)
    while not run.ended:
        await waiting.pause(poll, run.status, run.chat)
        run = core.read(Run, await waiting.poll(request))
    return run


async def start_when_free(core: Core, start: Callable[[], Coroutine[Any, Any, T]], timeout: float | None) -> T:
    """Call `start`, and return its result. If the chat is busy, wait for its active run, and call `start` again.

    If the chat is still busy after `timeout` seconds, raises the last error of `start` (`agent_run_rejected`).
    """
    core = core.within(check_timeout(timeout))
    waited_for: str | None = None
    while True:
        try:
            return await start()
        except StefanBrainError as error:
            if error.code != "agent_run_rejected":
                raise
            refusal, holder = error, error.active_run_id
        await core.notify(WaitNotice("chat_busy", holder))
        if holder is None or holder == waited_for or not await _wait_for_end(core, holder):
            await core.sleep(RUN_POLL_SECONDS)
        if core.left <= 0:
            raise refusal
        waited_for = holder


async def _follow(core: Core, run: Run[Any]) -> Run[Any]:
    """Follow the run's events until the run ends, and return the run's record.

    If the service has no event stream, return the record as it is known.
    """
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


async def _wait_for_end(core: Core, run_id: str) -> bool:
    """Wait for the run's end or the core's deadline, and return True.

    If the client's API key cannot read the run, return False.
    """
    try:
        await wait_for_run(core, run_id, max(0.0, core.left))
    except JobTimeoutError:
        return True
    except StefanBrainError as error:
        if error.code != "run_not_found":
            raise
        return False
    return True
