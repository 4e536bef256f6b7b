"""Implement the ports through which use cases start work in this process and notify those who wait for its events."""

from __future__ import annotations

import asyncio
from typing import Final, Self

from agentsvc_nb.service.runner.jobs import JobRunner
from agentsvc_nb.service.runner.runs import RunRunner
from agentsvc_nb.service.runner.storage import BackgroundReader

WOKEN_AT_ONCE: Final = 64
"""The maximum number of watches to wake in one turn of the event loop. Woken watches act in the next turn."""


class LocalSignals:
    """Implements `ports.Signals` within one process. A commit that changes a run or job notifies its watches.

    A signal contains no data, so its receiver must read the database. Subscribe first, then read, then wait. Otherwise
    you miss an event that is written between the read and the wait.
    """

    def __init__(self) -> None:
        self._watchers: dict[str, set[LocalWatch]] = {}
        self.sent = 0
        """The number of signals so far. While it does not change, data that was read from the database is current."""
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
        """The ids of the runs and jobs that have watches."""
        return set(self._watchers)


def _wake(watches: tuple[LocalWatch, ...]) -> None:
    for watch in watches[:WOKEN_AT_ONCE]:
        watch.notify()
    if left := watches[WOKEN_AT_ONCE:]:
        asyncio.get_running_loop().call_soon(_wake, left)


class LocalWatch:
    """Subscribes to the signals of a run or job.

    A thousand followers of a run wait 20,000 times a second. With a future and a timer, a wait takes 6 µs. With
    `asyncio.Event` and `asyncio.timeout`, a wait would take 10 µs and 1.4 kB more memory.
    """

    __slots__ = ("_happened", "_name", "_waiting", "_watchers")

    def __init__(self, watchers: dict[str, set[LocalWatch]], name: str) -> None:
        self._watchers = watchers
        self._name = name
        self._happened = False
        self._waiting: asyncio.Future[None] | None = None

    def notify(self) -> None:
        self._happened = True
        self._wake()

    async def wait(self, seconds: float) -> bool:
        """Wait at most `seconds` for a signal.

        Return True if a signal has come since the last call of `wait`, otherwise False.
        """
        if not self._happened:
            loop = asyncio.get_running_loop()
            self._waiting = loop.create_future()
            timer = loop.call_later(seconds, self._wake)
            try:
                await self._waiting
            finally:
                timer.cancel()
        happened, self._happened = self._happened, False
        return happened

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def __enter__(self) -> Self:
        self._watchers.setdefault(self._name, set()).add(self)
        return self

    def __exit__(self, *failure: object) -> None:
        watches = self._watchers[self._name]
        watches.discard(self)
        if not watches:
            del self._watchers[self._name]


class LocalWorkers:
    """Implements `ports.Workers` with the runners of this process.

    The runners are set after the creation of this object, because they need it.
    """

    readings: BackgroundReader
    runs: RunRunner
    jobs: JobRunner

    def wake_run(self, run_id: str) -> None:
        self.runs.wake(run_id)

    def wake_job(self, job_id: str) -> None:
        self.jobs.wake(job_id)

    def wake_readings(self) -> None:
        # Keep a reference, because the event loop keeps only weak references to its tasks.
        self._waking = asyncio.ensure_future(self.readings.wake())

    def disk_fault_of_run(self, run_id: str) -> str | None:
        return self.runs.supervisor.disk_fault_of(run_id) or self.jobs.supervisor.disk_fault_of(run_id)

    def interrupt_run(self, run_id: str) -> None:
        self.runs.interrupt(run_id)

    def interrupt_job(self, job_id: str) -> None:
        self.jobs.interrupt(job_id)
