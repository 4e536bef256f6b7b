"""Supervise the asyncio tasks in which this process executes runs and jobs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import copy_context
from typing import Any, TypeVar

from agentsvc_nb.service.disk import disk_fault
from agentsvc_nb.service.ports import Signals
from agentsvc_nb.service.runs.attempts import LostRun
from agentsvc_nb.tools.support import stopping

T = TypeVar("T")
STORE_AGAIN_SECONDS = 1.0
log = logging.getLogger(__name__)


class TaskSupervisor:
    """Executes runs, jobs and other work in background tasks. The work's name is the id of a run, job or call.

    A name has at most one task at a time. The task of a run or job starts an inner task for the work of the agent or
    tool. Only the inner task is ever cancelled. The outer task then ends the run or job, so that a chat stays busy
    until its run has really stopped.

    If the disk is full or broken, the supervisor notifies the watchers of the run or job.
    """

    def __init__(self, signals: Signals) -> None:
        self._signals = signals
        self._disk_faults: dict[str, str] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._inner: dict[str, asyncio.Task[Any]] = {}
        self.stopping = False

    @property
    def busy(self) -> bool:
        return bool(self._tasks)

    @property
    def names(self) -> set[str]:
        """The names of all current work."""
        return set(self._tasks)

    @property
    def interruptible_names(self) -> set[str]:
        """The names of the work that `interrupt` can stop now."""
        return set(self._inner)

    def start(self, name: str, work: Callable[[str], Awaitable[None]]) -> None:
        """Start `work(name)`. Do nothing if this name already has a task, or if the service is stopping."""
        if name not in self._tasks and not self.stopping:
            self._tasks[name] = asyncio.create_task(self._run_guarded(name, work(name)), name=name)

    def store_later(self, name: str, write: Callable[[], Awaitable[None]]) -> None:
        """Call `store` in the background, even while the service is stopping."""
        self._tasks[name] = asyncio.create_task(self._run_guarded(name, self.store(name, write)), name=name)

    def interrupt(self, name: str) -> None:
        inner = self._inner.get(name)
        if inner is not None:
            inner.cancel()

    async def run_interruptible(self, name: str, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` as an inner task, and return its result. `interrupt(name)` cancels the task and stops its threads.

        `work` must first check whether it should stop, because an `interrupt` before its start had no task to cancel.
        Threads stop as described in `tools.support.stopping`.
        """
        context = copy_context()
        stop = context.run(stopping.begin)
        inner: asyncio.Task[T] = asyncio.create_task(work, context=context)
        self._inner[name] = inner
        try:
            if self.stopping:
                inner.cancel()
            return await inner
        except BaseException:
            inner.cancel()
            raise
        finally:
            stop.set()
            # Break a reference cycle: the task refers to its exception, the exception refers to this frame, and the
            # frame refers to the task. The cycle would keep all memory of the work until the next garbage collection.
            del self._inner[name], inner

    def disk_fault_of(self, name: str) -> str | None:
        """Return the disk error that now prevents the service from storing the start or end of the work.

        The error is a clause of a sentence. Return None if no such error exists.
        """
        return self._disk_faults.get(name)

    async def store(self, name: str, write: Callable[[], Awaitable[T]]) -> T | None:
        """Call `write` once a second until it succeeds, and return its result.

        `write` stores the start or end of a run, job or call, or reads its input.

        Repeated calls help, because a full disk may have room again. They are necessary, because a chat stays busy
        until the end of its run is stored. Return None if the service stops first. After the next start, recovery
        continues the work.

        Raises `LostRun`, and `ValueError` and `OverflowError` for values that can never be stored.
        """
        try:
            while True:
                try:
                    return await write()
                except (ValueError, OverflowError, LostRun):
                    raise
                except Exception as error:
                    log.exception(
                        "the start or the end of %s could not be stored or read; the service will try again", name
                    )
                    if fault := disk_fault(error):
                        self._disk_faults[name] = fault
                        self._signals.notify(name)
                if self.stopping:
                    return None
                await asyncio.sleep(STORE_AGAIN_SECONDS)
        finally:
            self._disk_faults.pop(name, None)

    async def wait_ended(self, name: str) -> None:
        """Wait until the work with this name has ended. Return at once if no such work exists."""
        if (task := self._tasks.get(name)) is not None:
            await asyncio.wait([task])

    async def wait_idle(self, seconds: float) -> None:
        """Wait until the current work has ended, but at most `seconds`."""
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=seconds)

    async def stop(self) -> None:
        """Interrupt all work and wait until it has ended."""
        self.stopping = True
        for name in list(self._inner):
            self.interrupt(name)
        await asyncio.gather(*self._tasks.values())

    async def _run_guarded(self, name: str, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception:
            log.exception("work on %s failed", name)
        finally:
            del self._tasks[name]
