"""The work of this process: the supervisor of background tasks, and the ports by which use cases wake it and by which
watchers hear of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from agentsvc_nb.service.folder import disk_fault
from agentsvc_nb.service.usecases.attempts import LostRun
from agentsvc_nb.tools.support import stopping

if TYPE_CHECKING:  # they are run by this module's supervisor
    from agentsvc_nb.service.runner.jobs import JobRunner
    from agentsvc_nb.service.runner.runs import RunRunner
    from agentsvc_nb.service.runner.storage import Readings

T = TypeVar("T")
STORE_AGAIN_SECONDS = 1.0
log = logging.getLogger(__name__)


class TaskSupervisor:
    """Starts `work(name)` in the background, at most once per name at a time. `notify(name)` is called when a disk
    keeps the work's beginning or end from being stored.

    Each run or job has one task, with an inner one for the agent's or tool's own work. Only the inner task is ever
    cancelled: the outer one goes on to end the run or job that it claimed, so a chat stays busy until its run has
    really stopped.
    """

    def __init__(self, work: Callable[[str], Awaitable[None]], notify: Callable[[str], None]) -> None:
        self._work = work
        self._notify = notify
        self._disk_faults: dict[str, str] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._inner: dict[str, asyncio.Task[Any]] = {}
        self.stopping = False

    @property
    def busy(self) -> bool:
        return bool(self._tasks)

    def start(self, name: str) -> None:
        if name not in self._tasks and not self.stopping:
            self._begin(name, self._work(name))

    def store_later(self, name: str, write: Callable[[], Awaitable[None]]) -> None:
        """`store` in the background."""
        self._begin(name, self.store(name, write))

    def _begin(self, name: str, work: Awaitable[None]) -> None:
        self._tasks[name] = asyncio.create_task(self._guarded(name, work), name=name)

    def interrupt(self, name: str) -> None:
        inner = self._inner.get(name)
        if inner is not None:
            inner.cancel()

    async def interruptible(
        self, name: str, work: Coroutine[Any, Any, T], asked_to_stop: Callable[[], Awaitable[bool]]
    ) -> T:
        """Run `work` as a task that `interrupt(name)` cancels, with its threads (`tools.stopping`). It is cancelled at
        once if `asked_to_stop` returns True, because an interrupt from before found no task to cancel."""
        context = copy_context()
        stop = context.run(stopping.begin)
        inner: asyncio.Task[T] = asyncio.create_task(work, context=context)
        self._inner[name] = inner
        try:
            if self.stopping or await asked_to_stop():  # only now: from here on `interrupt` finds the task
                inner.cancel()
            return await inner
        except BaseException:
            inner.cancel()
            raise
        finally:
            stop.set()
            # The task holds its exception, and that this frame: until the garbage collector comes by, with all that the
            # work has in memory.
            del self._inner[name], inner

    def disk_fault_of(self, name: str) -> str | None:
        """What a disk did not do when the work's beginning or end was last stored, as a clause; None if it did."""
        return self._disk_faults.get(name)

    async def store(self, name: str, write: Callable[[], Awaitable[T]]) -> T | None:
        """Store the claim or the end of a run, job or call, or read what it needs, retrying every second while that
        fails. A full disk may have room again, and a run that is not ended keeps its chat busy. None when the service
        stops first; recovery goes on.

        Raises `ValueError` and `OverflowError`, for values that can never be stored, and `LostRun`.
        """
        try:
            while True:
                try:
                    return await write()
                except (ValueError, OverflowError, LostRun):
                    raise
                except Exception as error:
                    log.exception("a beginning or an end could not be read or stored; trying again")
                    if fault := disk_fault(error):
                        self._disk_faults[name] = fault
                        self._notify(name)
                if self.stopping:
                    return None
                await asyncio.sleep(STORE_AGAIN_SECONDS)
        finally:
            self._disk_faults.pop(name, None)

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


WOKEN_AT_ONCE: Final = 64
"""In one turn of the event loop: each of them reads and sends in the next."""


class LocalSignals:
    """`ports.Signals` within this process: watchers of a run or job are woken after each commit that changes it.

    A signal is a hint, the database is the truth. Subscribe, then read, then wait: an event that is written between the
    read and the wait is then never missed.
    """

    def __init__(self) -> None:
        self._watchers: dict[str, set[LocalWatch]] = {}
        self.sent = 0
        """The number of signals so far. While it stays the same, what was read from the database is current."""
        self.stopping = False

    def notify(self, name: str) -> None:
        self.sent += 1
        _wake(tuple(self._watchers.get(name, ())))

    def stop(self) -> None:
        self.stopping = True
        for name in self._watchers:
            self.notify(name)

    def watch(self, name: str) -> LocalWatch:
        return LocalWatch(self._watchers, name)


def _wake(watches: tuple[LocalWatch, ...]) -> None:
    for watch in watches[:WOKEN_AT_ONCE]:
        watch.notify()
    if left := watches[WOKEN_AT_ONCE:]:
        asyncio.get_running_loop().call_soon(_wake, left)


class LocalWatch:
    """One subscription to a run or job.

    One timer serves many waits: when it fires too early for the present wait, it is set again. A new timer for each
    wait would cost a stream more than all its events.
    """

    __slots__ = ("_happened", "_name", "_timer", "_until", "_waiting", "_watchers")

    def __init__(self, watchers: dict[str, set[LocalWatch]], name: str) -> None:
        self._watchers = watchers
        self._name = name
        self._happened = False
        self._waiting: asyncio.Future[None] | None = None
        self._until = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def notify(self) -> None:
        self._happened = True
        self._wake()

    async def wait(self, seconds: float) -> bool:
        """True when something happened since the last call, False after `seconds` without."""
        if not self._happened:
            loop = asyncio.get_running_loop()
            self._until = loop.time() + seconds
            self._set_timer(loop)
            self._waiting = loop.create_future()
            await self._waiting
        happened, self._happened = self._happened, False
        return happened

    def __enter__(self) -> Self:
        self._watchers.setdefault(self._name, set()).add(self)
        return self

    def __exit__(self, *failure: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        watches = self._watchers[self._name]
        watches.discard(self)
        if not watches:
            del self._watchers[self._name]

    def _set_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is not None and self._timer.when() > self._until:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = loop.call_at(self._until, self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        if loop.time() < self._until:
            self._set_timer(loop)
        else:
            self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


class LocalWorkers:
    """Passes wake-ups and interrupts to the runners of this process.

    The runners are set after they are created, because they need the use case context, which holds this object.
    """

    readings: Readings
    runs: RunRunner
    jobs: JobRunner

    def wake_run(self, run_id: str) -> None:
        self.runs.wake(run_id)

    def wake_job(self, job_id: str) -> None:
        self.jobs.wake(job_id)

    def wake_readings(self) -> None:
        # Kept: the event loop refers to its tasks only weakly.
        self._waking = asyncio.ensure_future(self.readings.wake())

    def disk_fault_of_run(self, run_id: str) -> str | None:
        return self.runs.supervisor.disk_fault_of(run_id) or self.jobs.supervisor.disk_fault_of(run_id)

    def interrupt_run(self, run_id: str) -> None:
        self.runs.interrupt(run_id)

    def interrupt_job(self, job_id: str) -> None:
        self.jobs.interrupt(job_id)
