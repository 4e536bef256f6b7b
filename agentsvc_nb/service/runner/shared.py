"""Work and signals of processes that share a database (docs/decisions/0057-leases.md): others are told of what changes
here, and this process takes what nobody executes, keeps it, and stops what it has lost."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from agentsvc_nb.service.ports import Channel, DatabaseEngine
from agentsvc_nb.service.runner.signals import LocalSignals, LocalWorkers
from agentsvc_nb.service.runs import leases
from agentsvc_nb.service.runs.lease_records import ProcessRecord
from agentsvc_nb.service.store.migrations import SchemaTooNew
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.wire import ids

log = logging.getLogger(__name__)

SEND_SECONDS: Final = 0.025
"""The least time between two notifications of a process: each is a commit, and commits with one wait for each other."""
LOOK_SECONDS: Final = 2.0
"""How often each wait looks by itself, and a worker for what nobody executes."""
RENEW_SECONDS: Final = 3.0
AWAY_SECONDS: Final = 2 * LOOK_SECONDS
"""A process that has not reached the database for so long lets others, who may not have reached it either, renew their
leases before it takes over what they have."""
RENEWED_SECONDS: Final = RENEW_SECONDS + 1
"""How long it lets them."""
HELP_SECONDS: Final = 0.5
"""How long work is left to the worker that was told to take it: then the others look, too."""

WORK: Final = "work"
READINGS: Final = "readings"
"""Names of what changed besides those of runs and jobs: something is queued, or waits to be read. `work:PROCESS:NAME`
tells that worker alone to take a run or job."""


class SharedSignals(LocalSignals):
    """`ports.Signals` among all processes on a database: the first at once, then at most one in `SEND_SECONDS`."""

    def __init__(self, channel: Channel, process: str) -> None:
        super().__init__()
        self._channel = channel
        self._process = process
        self._thread = ThreadPoolExecutor(1, "postgres-notifier")
        self._names: dict[str, None] = {}
        self._sending: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None

    def listen(self, heard: Callable[[Sequence[str]], None]) -> None:
        """Begin to hear others; `heard` gets the names that they tell, after who waits for them was woken."""
        loop = asyncio.get_running_loop()

        def wake(names: Sequence[str]) -> None:
            for name in names:
                self._wake_here(name)
            heard(names)

        def wake_soon(names: Sequence[str]) -> None:
            loop.call_soon_threadsafe(wake, names)

        self._channel.listen(self._process, wake_soon)
        self._looking = asyncio.create_task(self._look_on(), name="look of all that wait")

    def notify(self, name: str) -> None:
        self._wake_here(name)
        self.tell(name)

    def stop(self) -> None:
        self.stopping = True
        for name in self._watchers:
            self._wake_here(name)

    def tell(self, name: str) -> None:
        """Tell the other processes, and nobody here."""
        self._names[name] = None
        if self._sending is None:
            self._sending = asyncio.get_running_loop().create_task(self._send_on(), name="notify")

    async def close(self) -> None:
        """Tell what is still to be told."""
        if self._looking is not None:
            self._looking.cancel()
        if self._sending is not None:
            await self._sending
        await asyncio.to_thread(self._channel.close)
        self._thread.shutdown()

    def _wake_here(self, name: str) -> None:
        super().notify(name)

    async def _send_on(self) -> None:
        try:
            while self._names:
                names, self._names = list(self._names), {}
                loop = asyncio.get_running_loop()
                await loop.run_in_executor(self._thread, self._channel.send, self._process, names)
                await asyncio.sleep(0 if self.stopping else SEND_SECONDS)
        finally:
            self._sending = None

    async def _look_on(self) -> None:
        """Wake all who wait here: a notification may have been lost."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for name in list(self._watchers):
                self._wake_here(name)


class SharedWorkers(LocalWorkers):
    """`ports.Workers` of all processes: one that `works` takes what was queued there itself."""

    def __init__(self, signals: SharedSignals, works: bool) -> None:
        self._signals = signals
        self.works = works
        self.others: Sequence[ProcessRecord] = ()
        """The workers that live, as far as this process knows."""
        self._turn = 0

    def wake_run(self, run_id: str) -> None:
        if self.works:
            super().wake_run(run_id)
        else:
            self._tell(run_id)

    def wake_job(self, job_id: str) -> None:
        if self.works:
            super().wake_job(job_id)
        else:
            self._tell(job_id)

    def wake_readings(self) -> None:
        if self.works:
            super().wake_readings()
        else:
            self._signals.tell(READINGS)

    def take(self, name: str) -> None:
        """Take a run or job that another process has queued."""
        if self.works and ids.is_run(name):
            super().wake_run(name)
        elif self.works:
            super().wake_job(name)

    def _tell(self, name: str) -> None:
        """Tell one worker, each in its turn, or all of them where they have different models: if all came at once, each
        but one would have written for nothing."""
        if len({worker.models for worker in self.others}) != 1:
            return self._signals.tell(WORK)
        self._turn += 1
        self._signals.tell(f"{WORK}:{self.others[self._turn % len(self.others)].id}:{name}")


class Sharing:
    """What a process does in a database that it shares, from `start` to `close`."""

    def __init__(
        self,
        database: DatabaseEngine,
        use_case: UseCaseContext,
        signals: SharedSignals,
        workers: SharedWorkers,
        process: ProcessRecord,
    ) -> None:
        self._database = database
        self._use_case = use_case
        self.refusal: str | None = None
        """Why this process can't go on, in a sentence: one of a newer version has changed the schema."""
        self._signals = signals
        self._workers = workers
        self._process = process
        self._hint = asyncio.Event()
        self._renewing: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._reached_s = time.monotonic()
        self._back_s = -math.inf
        self._helping: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        await leases.begin(self._use_case, self._process)
        self._reached_s = time.monotonic()
        self._workers.others = await leases.workers(self._use_case)
        self._signals.listen(self._hear)
        self._renewing = asyncio.create_task(self._renew_on(), name="leases")
        if self._process.works:
            self._hint.set()
            self._looking = asyncio.create_task(self._look_on(), name="look for work")

    async def drain(self, seconds: float) -> None:
        """Take nothing more, and let what is under way end, for so many seconds at most."""
        self._workers.works = False
        if self._looking is not None:
            self._looking.cancel()
        await self._workers.runs.supervisor.idle(seconds)

    async def close(self) -> None:
        """To be called when all work has stopped: what is left is for others."""
        tasks = [task for task in (self._renewing, self._looking) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        try:
            await leases.end(self._use_case, self._process)
        except Exception:
            log.exception("the end of this process could not be stored: others see it when its leases end")
        self._signals.tell(WORK)
        await self._signals.close()

    def _in_hand(self) -> leases.InHand:
        runs, jobs = self._workers.runs.supervisor, self._workers.jobs.supervisor
        return leases.InHand(runs.names, jobs.names, runs.interruptible_names | jobs.interruptible_names)

    def _hear(self, names: Sequence[str]) -> None:
        """Take what this process is told to; and look at once if it concerns it: something is queued, or one of its
        runs or jobs is to stop."""
        for worker, name in (_addressed(name) for name in names if name.startswith(f"{WORK}:")):
            if worker == self._process.id:
                self._workers.take(name)
            elif self._helping is None and self._process.works:
                self._helping = asyncio.get_running_loop().call_later(HELP_SECONDS, self._help)
        in_hand = self._in_hand()
        if not names or not {WORK, READINGS, *in_hand.stoppable}.isdisjoint(names):
            self._hint.set()

    def _help(self) -> None:
        self._helping = None
        self._hint.set()

    async def _renew_on(self) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            await self._tried(self._renew)

    async def _renew(self) -> None:
        try:
            await asyncio.to_thread(self._database.open)
        except SchemaTooNew as error:
            self.refusal = str(error)
            return
        lost = await leases.renew(self._use_case, self._process, self._in_hand())
        self._workers.others = await leases.workers(self._use_case)
        for name in lost.intersection(self._in_hand().stoppable):  # others have ended meanwhile
            log.warning("%s was taken over by another process: its work here ends", name)
            self._interrupt(name)

    async def _look_on(self) -> None:
        wait = LOOK_SECONDS
        while True:
            try:
                async with asyncio.timeout(wait):
                    await self._hint.wait()
            except TimeoutError:
                pass
            self._hint.clear()
            wait = LOOK_SECONDS
            found = await self._tried(self._look)
            if found is not None and found.next_end_ms is not None:
                wait = min(wait, max(found.next_end_ms, 0) / 1000 + SEND_SECONDS)

    async def _look(self) -> leases.Look:
        # Who has runs of its own to claim would only get in the way of the others.
        most = 0 if self._workers.runs.claiming else leases.LOOK_MAX
        expired = time.monotonic() > self._back_s + RENEWED_SECONDS
        found = await leases.look(self._use_case, self._process, self._in_hand(), most, expired=expired)
        was_away, self._reached_s = time.monotonic() > self._reached_s + AWAY_SECONDS, time.monotonic()
        if was_away:  # this look found whose leases ran out meanwhile, the next ones do not
            self._back_s = self._reached_s
            self._hint.set()
            return found
        for name in found.stopping:
            self._interrupt(name)
        for run_id in found.runs:
            self._workers.runs.wake(run_id)
        for job_id in found.jobs:
            self._workers.jobs.wake(job_id)
        if found.reads:
            await self._workers.readings.wake()
        if found.full:
            self._hint.set()
        return found

    def _interrupt(self, name: str) -> None:
        self._workers.runs.supervisor.interrupt(name)
        self._workers.jobs.supervisor.interrupt(name)

    async def _tried(self, work: Callable[[], Awaitable[leases.Look | None]]) -> leases.Look | None:
        try:
            return await work()
        except Exception:  # such as a database that is away: the next time decides
            log.warning("the database could not be looked at", exc_info=True)
            return None


def _addressed(name: str) -> tuple[str, str]:
    """The worker that is told, and the run or job that it is to take."""
    _, worker, work = name.split(":", 2)
    return worker, work
