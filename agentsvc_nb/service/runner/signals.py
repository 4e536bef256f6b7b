"""The ports by which use cases wake the work of this process, and by which its watchers hear of it."""

from __future__ import annotations

import asyncio
from typing import Final, Self

from agentsvc_nb.service.runner.jobs import JobRunner
from agentsvc_nb.service.runner.runs import RunRunner
from agentsvc_nb.service.runner.storage import Readings

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

    @property
    def watched(self) -> set[str]:
        """The runs and jobs that somebody watches."""
        return set(self._watchers)


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
