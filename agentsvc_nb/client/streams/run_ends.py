"""Waiting for a run's end, and with it for a chat that takes a new turn."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Literal, TypeVar

from agentsvc_nb.client.errors import JobTimeoutError, StefanBrainError
from agentsvc_nb.client.request.call import Call
from agentsvc_nb.client.request.core import Core, log
from agentsvc_nb.client.request.options import WaitNotice
from agentsvc_nb.client.results.models import Run
from agentsvc_nb.client.streams.following import Following
from agentsvc_nb.client.streams.waiting import Wait
from agentsvc_nb.wire.limits import RUN_POLL_SECONDS

T = TypeVar("T")
OnBusy = Literal["reject", "wait"]


async def ended(core: Core, run_id: str, timeout: float, poll: float = RUN_POLL_SECONDS) -> Run:
    """The run once it has ended: reads at once, follows its events while there is a stream, else reads every `poll`
    seconds. Raises `JobTimeoutError` after `timeout` seconds."""
    waiting = Wait(core, timeout, WaitNotice("run", run_id))
    run = await waiting.look(_read(waiting.core, run_id))
    if not run.ended and waiting.left > 0:
        run = await _followed(core.within(waiting.left), run)
    while not run.ended:
        await waiting.pause(poll, run.status, run.chat)
        run = await waiting.look(_read(waiting.core, run_id))
    return run


async def when_free(core: Core, start: Callable[[], Coroutine[Any, Any, T]], timeout: float) -> T:
    """What `start` gives, tried again whenever the turn that holds the chat has ended; raises the last refusal after
    `timeout` seconds."""
    core = core.within(timeout)
    waited_for: str | None = None
    while True:
        try:
            return await start()
        except StefanBrainError as error:
            if error.code != "agent_run_rejected":
                raise
            refusal, holder = error, error.active_run_id
        await core.tell(WaitNotice("chat_busy", holder))
        if holder is None or holder == waited_for or not await _seen_to_end(core, holder):
            await core.rest(RUN_POLL_SECONDS)
        if core.left <= 0:
            raise refusal
        waited_for = holder


async def _read(core: Core, run_id: str) -> Run:
    return await core.ask(Run, Call("runs.get", {"run_id": run_id}))


async def _followed(core: Core, run: Run) -> Run:
    """The run after its events: ended, unless there is no event stream to be had."""
    await core.tell(WaitNotice("run", run.run_id, run.status))
    stream = Following(core, run)
    try:
        while await stream.next():
            pass
    except JobTimeoutError:
        raise
    except StefanBrainError as error:
        log.info("%s has no event stream, it is read instead: %s", run.run_id, error.message)
    finally:
        await stream.close()
    return stream.run


async def _seen_to_end(core: Core, run_id: str) -> bool:
    """Wait for the run's end, or the core's deadline. False: this key cannot see the run."""
    try:
        await ended(core, run_id, max(0.0, core.left))
    except JobTimeoutError:
        return True
    except StefanBrainError as error:
        if error.code != "run_not_found":
            raise
        return False
    return True
