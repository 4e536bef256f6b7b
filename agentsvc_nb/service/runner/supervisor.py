"""Supervise the background tasks of this process."""

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
    """Executes work in the background, at most one task of each name at a time.

    Each run or job has one outer task, and an inner task for the agent's or tool's own work. Only the inner task is
    ever cancelled. The outer task continues and ends the run or job that it claimed, so a chat stays busy until its run
    has really stopped.

    If a disk error prevents storing the start or end, watchers of the name are woken.
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
        """The names of all current work of this process."""
        return set(self._tasks)

    @property
    def interruptible_names(self) -> set[str]:
        """The part of `names` that `interrupt` stops."""
        return set(self._inner)

    def start(self, name: str, work: Callable[[str], Awaitable[None]]) -> None:
        """Start `work(name)`, unless work of this name is already running or the service is stopping."""
        if name not in self._tasks and not self.stopping:
            self._tasks[name] = asyncio.create_task(self._guarded(name, work(name)), name=name)

    def store_later(self, name: str, write: Callable[[], Awaitable[None]]) -> None:
        """Run `store` in the background, even while the service is stopping."""
        self._tasks[name] = asyncio.create_task(self._guarded(name, self.store(name, write)), name=name)

    def interrupt(self, name: str) -> None:
        inner = self._inner.get(name)
        if inner is not None:
            inner.cancel()

    async def interruptible(self, name: str, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` as a task that `interrupt(name)` cancels, with the threads of the work (`tools.support.stopping`).

        `work` must first check whether it should stop, because an earlier interrupt found no task to cancel.
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
            # The task refers to its exception, which refers to this frame. Until a garbage collection, this cycle keeps
            # all memory of the work.
            del self._inner[name], inner

    def disk_fault_of(self, name: str) -> str | None:
        """Return the disk error of the last attempt to store the work's start or end, as a clause, or None."""
        return self._disk_faults.get(name)

    async def store(self, name: str, write: Callable[[], Awaitable[T]]) -> T | None:
        """Store the start or end of a run, job or call, or read its inputs. Retry every second.

        A full disk may have room again, and a run without an end keeps its chat busy. Return None if the service stops
        first; recovery then continues the work.

        Raises `ValueError` and `OverflowError` for values that can never be stored, and `LostRun`.
        """
        try:
            while True:
                try:
                    return await write()
                except (ValueError, OverflowError, LostRun):
                    raise
                except Exception as error:
                    log.exception(
                        "the start or the end of some work could not be read or stored; the service tries again"
                    )
                    if fault := disk_fault(error):
                        self._disk_faults[name] = fault
                        self._signals.notify(name)
                if self.stopping:
                    return None
                await asyncio.sleep(STORE_AGAIN_SECONDS)
        finally:
            self._disk_faults.pop(name, None)

    async def ended(self, name: str) -> None:
        """Wait until the work of this name is done, if the work has begun."""
        if (task := self._tasks.get(name)) is not None:
            await asyncio.wait([task])

    async def idle(self, seconds: float) -> None:
        """Wait at most `seconds` until the current work is done."""
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=seconds)

    async def stop(self) -> None:
        """Interrupt all work and wait until it has stopped."""
        self.stopping = True
        for name in list(self._inner):
            self.interrupt(name)
        await asyncio.gather(*self._tasks.values())

    async def _guarded(self, name: str, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception:
            log.exception("work on %s failed", name)
        finally:
            del self._tasks[name]
