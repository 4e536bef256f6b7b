"""Coordinate processes that share a PostgreSQL database (docs/decisions/14).

A worker is a process that executes runs and jobs, which the database's queue dispatches to it. Each process polls the
database for changes by other processes: changes of the runs and jobs that it executes, and of those that its clients
follow.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from agentsvc_nb import clock
from agentsvc_nb.service.ports import DatabaseEngine, Queue
from agentsvc_nb.service.runner.signals import LocalSignals, LocalWorkers
from agentsvc_nb.service.runs import processes
from agentsvc_nb.service.runs.process_records import ProcessRecord, State
from agentsvc_nb.service.store.migrations import SchemaTooNew
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.wire import ids

log = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.1
"""How often a process polls the runs and jobs that its clients follow. One read covers all of them."""
HELD_SECONDS: Final = 0.5
"""How often a process polls the runs and jobs that it executes while its clients follow none."""
SWEEP_SECONDS: Final = 1.0
"""How often a worker looks for stray runs and jobs, which no living process will execute."""
LIVE_SECONDS: Final = 3.0
AWAY_SECONDS: Final = 4.0
"""If a process could not reach the database for this time, it waits before it takes over work of other processes.

The other processes may not have reached the database either. They get the chance to send a heartbeat first.
"""
GRACE_SECONDS: Final = LIVE_SECONDS + 1
"""How long the process waits for heartbeats of the other processes."""
END_SECONDS: Final = 3.0
"""How long a stopping process waits while the queue records the end of its jobs."""


class SharedWorkers(LocalWorkers):
    """Implements `ports.Workers` for a shared database, whose queue wakes the workers."""

    def __init__(self, works: bool) -> None:
        self.works = works

    def wake_run(self, run_id: str) -> None:
        """Do nothing, because the queue dispatches the run."""

    def wake_job(self, job_id: str) -> None:
        """Do nothing, because the queue dispatches the job."""

    def wake_readings(self) -> None:
        """Read the waiting documents if this process is a worker. Otherwise a worker finds them at its next poll."""
        if self.works:
            super().wake_readings()


class SharedProcess:
    """Coordinates this process with the others that share the database, from `start` to `close`."""

    def __init__(
        self,
        database: DatabaseEngine,
        queue: Queue,
        use_case: UseCaseContext,
        signals: LocalSignals,
        workers: SharedWorkers,
        process: ProcessRecord,
    ) -> None:
        self._database = database
        self._queue = queue
        self._use_case = use_case
        self._signals = signals
        self._workers = workers
        self._process = process
        self.refusal: str | None = None
        """Why this process must stop, as a sentence. It must stop when a newer version has changed the schema."""
        self._registrations: dict[int, int] = {}
        """By queue job, the id of the queue worker in this process that has taken it."""
        self._seen: dict[str, object] = {}
        """The state of each polled run and job at the last poll, by its id."""
        self._interrupted: set[str] = set()
        self._reached_s = self._back_s = clock.monotonic()
        self._tasks: list[asyncio.Task[None]] = []
        self._working: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await processes.record_start(self._use_case, self._process)
        self._reached_s = self._back_s = clock.monotonic()
        self._tasks = [
            asyncio.create_task(self._repeat(self._send_heartbeat, LIVE_SECONDS), name="process lives"),
            asyncio.create_task(self._poll_forever(), name="look at what others change"),
        ]
        if self._process.works:
            self._tasks.append(asyncio.create_task(self._repeat(self._sweep, SWEEP_SECONDS), name="sweep"))
            models = self._process.models.splitlines()
            self._working = asyncio.create_task(self._queue.work(models, self._execute), name="queue")

    async def drain(self, seconds: float) -> None:
        """Accept no more work, and wait at most `seconds` until the current runs have ended."""
        self._workers.works = False
        if self._working is not None:
            self._working.cancel()
        await self._workers.runs.supervisor.wait_idle(seconds)

    async def close(self) -> None:
        """Record that this process has ended, so that others continue its work. Call this after all work stopped."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._working is not None:
            await asyncio.wait([self._working], timeout=END_SECONDS)
        try:
            await processes.record_end(self._use_case, self._process)
        except Exception:
            log.exception("the end of this process could not be stored; other processes notice it in a few seconds")

    async def _execute(self, name: str, queue_job: int, registration: int) -> None:
        """Execute a run or job and wait until it ends.

        If this process already executes it, only record the new queue job.
        """
        self._registrations[queue_job] = registration
        try:
            if ids.is_run(name):
                self._workers.runs.wake(name, queue_job)
                await self._workers.runs.supervisor.wait_ended(name)
            else:
                self._workers.jobs.wake(name, queue_job)
                await self._workers.jobs.supervisor.wait_ended(name)
        finally:
            del self._registrations[queue_job]

    @property
    def _own_work(self) -> set[str]:
        return self._workers.runs.supervisor.names | self._workers.jobs.supervisor.names

    async def _repeat(self, work: Callable[[], Awaitable[None]], seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await work()
            except Exception:  # for example, because the database is unavailable: try again next time
                log.warning(
                    "this process could not exchange its state with other processes; it will try again", exc_info=True
                )

    async def _send_heartbeat(self) -> None:
        try:
            await asyncio.to_thread(self._database.open)
        except SchemaTooNew as error:
            self.refusal = str(error)
            return
        await processes.record_heartbeat(self._use_case, self._process, set(self._registrations.values()))

    async def _sweep(self) -> None:
        found = await processes.check_sweep(self._use_case, self._process, self._own_work)
        now = clock.monotonic()
        if now > self._reached_s + AWAY_SECONDS:
            self._back_s = now
        self._reached_s = now
        if found.strays and now > self._back_s + GRACE_SECONDS:
            await processes.sweep(self._use_case, self._own_work)
        if found.reads:
            await self._workers.readings.wake()

    async def _poll_forever(self) -> None:
        """Poll the runs and jobs that this process executes or that its clients follow."""
        looked_s = 0.0
        while True:
            await asyncio.sleep(POLL_SECONDS)
            watched, held = self._signals.watched, self._own_work
            if not watched and (not held or clock.monotonic() < looked_s + HELD_SECONDS):
                continue
            looked_s = clock.monotonic()
            try:
                states = await processes.read_states(self._use_case, watched | held)
            except Exception:
                log.warning(
                    "changes by other processes could not be read from the database; this process will try again",
                    exc_info=True,
                )
                await asyncio.sleep(AWAY_SECONDS)
                continue
            self._wake({state.name: state for state in states}, watched, held)

    def _wake(self, states: dict[str, State], watched: set[str], held: set[str]) -> None:
        """Notify the followers of each run or job that has changed.

        Stop this process's work on runs and jobs that other processes have cancelled or taken over.
        """
        seen: dict[str, object] = {}
        for name in watched | held:
            state = states.get(name)
            # Ignore the events of this process's own work, because this process signals them itself.
            seen[name] = state.calls if name in held and state else state
            if name in watched and (name not in self._seen or seen[name] != self._seen[name]):
                self._signals.notify(name)
        self._seen = seen
        self._interrupted &= held
        runs, jobs = self._workers.runs.supervisor, self._workers.jobs.supervisor
        for name in (runs.interruptible_names | jobs.interruptible_names) - self._interrupted:
            state = states.get(name)
            if state is None:
                continue
            if lost := state.worker_id != self._process.id:
                log.warning("another process took over %s; this process stops its work on it", name)
            if lost or state.status not in ("queued", "running"):
                self._interrupted.add(name)
                runs.interrupt(name)
                jobs.interrupt(name)
