"""Runs a batch: asks many rows at once, adapts to how busy the service is, reports progress, stops at its limits."""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from agentsvc_nb.client.batch_rows import BatchRow, ResultCache, each_alike, error_text, fault, retry_wait
from agentsvc_nb.client.core import Core
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.models import Run, Shape
from agentsvc_nb.client.options import RetryNotice
from agentsvc_nb.client.runs import AsyncRuns
from agentsvc_nb.client.transport.io import IO, WorkerPool, call_hook
from agentsvc_nb.client.waiting import ended
from agentsvc_nb.wire.runs import CENT, Effort


@dataclass(frozen=True, slots=True)
class MapProgress:
    """How far a `map` has come.

    `cents` is what the rows cost so far, `cents_expected` what all will; that and `seconds_left` are known when five
    rows have been answered. `waiting`: the service is busy, and no row begins for so many seconds. `going` are runs of
    rows that take long, or longer than they may: the service answered before they had ended. `partial()` gives the
    DataFrame so far. `models` are those that answered.
    """

    total: int
    done: int
    failed: int
    running: int
    cents: float
    cents_expected: float | None
    seconds_left: float | None
    waiting: float
    going: tuple[str, ...]
    partial: Callable[[], Any] = field(repr=False)
    models: tuple[str, ...] = ()


OnRows = Callable[[MapProgress], Any]


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """How rows are asked; see `mapping.map_`."""

    schema: Shape | None
    project: str | None
    model: str | None
    effort: Effort | None
    max_concurrency: int
    max_cents: float | None
    tries: int
    timeout: float
    file_ids: Sequence[str] = ()
    files_from: str | None = None


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The result of asking one row once: an ended run, or an error (and the run, if it had started)."""

    row: BatchRow
    run: Run | None = None
    error: StefanBrainError | None = None


class BatchRunner:
    """One execution of `map`: asks the rows of a batch concurrently, within its limits on cost, time and concurrency.

    Only `all`, in the caller's thread, changes rows and counters; the concurrent work returns an `_Outcome`.
    """

    def __init__(
        self,
        core: Core,
        rows: list[BatchRow],
        options: BatchOptions,
        cache: ResultCache,
        hook: OnRows | None,
        so_far: Callable[[], Any],
    ) -> None:
        self._core = core
        self._rows = rows
        self._options = options
        self._cache = cache
        self._hook = hook
        self._so_far = so_far
        self._limiter = AdaptiveLimit(options.max_concurrency)
        self._fresh = deque(row for row in rows if not row.ended)
        self._later: list[BatchRow] = []
        self._running = self._spent = self._dearest = self._priced = 0
        self._failed = self._done = len(rows) - len(self._fresh)
        self._stopped: StefanBrainError | str | None = None
        self._last_end = core.io.now()
        self._models = dict[str, None]()
        self._going: dict[str, str] = {}  # run ids of long-running rows, by the row's key; set by `_asked`
        self._reported = 0  # how many of them the hook was told of

    @property
    def answered(self) -> int:
        return self._done - self._failed

    async def all(self) -> None:
        """Ask all rows that the cache does not answer. What fails is written into its row.

        Raises `StefanBrainError` only if no row was answered and one failed for a reason that all rows share.
        """
        for row in self._fresh:
            if run := self._cache.get(row.key):
                self._settle(row, run)
        self._fresh = deque(row for row in self._fresh if not row.ended)
        if self._models and not self._fresh:  # no row will be asked, and so nothing else would be reported
            await self._report()
        pool: WorkerPool[_Outcome] = self._core.io.worker_pool()
        beside = _beside(self._core, pool.io)
        try:
            while self._running or (self._waiting and not self._stopped):
                self._start(pool, beside)
                if outcome := await pool.next(self._patience()):
                    self._running -= 1
                    await self._take(outcome)
                elif len(self._going) > self._reported:
                    await self._report()
                self._look_at_the_clock()
        finally:
            await pool.leave()
            self._leave_rest()
        if isinstance(self._stopped, StefanBrainError) and not self.answered:
            raise self._stopped

    # -- starting ------------------------------------------------------------------------------------------------

    @property
    def _waiting(self) -> int:
        return len(self._fresh) + len(self._later)

    def _start(self, pool: WorkerPool[_Outcome], beside: Core) -> None:
        """Start as many rows as the limits on concurrency, cost and time allow now."""
        while not self._stopped and self._running < self._limiter.limit and self._affordable():
            now = self._core.io.now()
            if now < self._limiter.held_until or (row := self._due(now)) is None:
                return
            row.began, row.day = now, row.day or self._core.io.today()
            self._running += 1
            pool.start(self._asked(beside, row))

    def _due(self, now: float) -> BatchRow | None:
        """Take the next row to ask: a postponed one whose time has come, else a fresh one; None if there is none."""
        for row in self._later:
            if row.due <= now:
                self._later.remove(row)
                return row
        return self._fresh.popleft() if self._fresh else None

    def _affordable(self) -> bool:
        """True if one more row fits under `max_cents`, going by the dearest so far.

        The first row's cost is unknown, so it runs alone. If no row fits any more, the batch stops.
        """
        most = self._options.max_cents
        if most is None:
            return True
        if not self._priced:
            return not self._running
        fits = self._spent + (self._running + 1) * self._dearest <= most * CENT
        if not fits and not self._running:
            self._stopped = f"the next row could cost more than is left of {most:g} cents"
        return fits

    def _patience(self) -> float:
        """Seconds to wait for an outcome before looking for rows to start: until the next is due, 1 at most."""
        now = self._core.io.now()
        waits = [row.due - now for row in self._later] + [self._limiter.held_until - now]
        return min([1.0, *(wait for wait in waits if wait > 0)])

    async def _asked(self, core: Core, row: BatchRow) -> _Outcome:
        """Ask one row. Runs concurrently with others, so it changes no shared state but `_going`."""
        options, run = self._options, None
        try:
            run = await AsyncRuns(core).start(
                row.message,
                project=options.project,
                model=options.model,
                effort=options.effort,
                file_ids=options.file_ids,
                files_from=options.files_from,
                sync=True,
                output_config=cast(Any, options.schema),  # of either overload
                idempotency_key=row.idempotency_key,
            )
            if not run.ended:
                self._going[row.key] = run.run_id
                run = await ended(core, run.run_id, options.timeout)
        except StefanBrainError as error:
            return _Outcome(row, run, error)
        return _Outcome(row, run)

    # -- what came back ------------------------------------------------------------------------------------------

    async def _take(self, outcome: _Outcome) -> None:
        row, run, error = outcome.row, outcome.run, outcome.error
        if error is not None:
            await self._refused(row, run, error)
        elif run is not None:
            self._going.pop(row.key, None)
            self._limiter.ended(row.began, self._core.io.now())
            await self._ended(row, run)
        await self._report()

    async def _report(self) -> None:
        self._reported = len(self._going)  # counted before the call: a row may be added while the hook runs
        await call_hook(self._hook, self._progress())

    async def _ended(self, row: BatchRow, run: Run) -> None:
        """Settle a row whose run has ended, or queue it again if the run failed and another try is allowed."""
        if run.status != "completed" and row.tried < self._options.tries:
            self._pay(row, run)
            row.tried, row.attempt, row.day = row.tried + 1, 1, None
            self._fresh.appendleft(row)
            return
        self._settle(row, run)
        if run.status == "completed":
            await self._core.io.call(lambda: self._cache.add(row.key, run))

    def _settle(self, row: BatchRow, run: Run) -> None:
        """Add the cost of the row's last run, and end the row with its answer or error."""
        self._pay(row, run)
        self._end(row, run, fault(run, self._options.schema))

    def _end(self, row: BatchRow, run: Run | None, error: str | None) -> None:
        row.run, row.error, row.ended = run, error, True
        self._failed += error is not None
        self._done, self._last_end = self._done + 1, self._core.io.now()

    def _pay(self, row: BatchRow, run: Run) -> None:
        cost = run.usage.cost_microcents
        if run.model:
            self._models[run.model] = None
        row.microcents += cost
        self._spent, self._dearest, self._priced = self._spent + cost, max(self._dearest, cost), self._priced + 1

    async def _refused(self, row: BatchRow, run: Run | None, error: StefanBrainError) -> None:
        """Schedule the row again after a failed request, or end it; stop the batch if every row would fail alike."""
        now, core = self._core.io.now(), self._core
        same_day = row.day == core.io.today()
        wait = retry_wait(error, row.attempt, core.settings.max_retries, core.rng, same_day)
        if wait is None:
            self._end(row, run, error_text(error))
            if each_alike(error):
                self._stopped = error
            return
        if error.status == 429:  # nothing was started, so neither the key's day nor the number of attempts counts
            self._limiter.refused(row.began, now, wait)
            row.day = None
            self._fresh.appendleft(row)
        else:
            row.due, row.attempt = now + wait, row.attempt + 1
            self._later.append(row)
        await self._core.notify(RetryNotice("runs.start", row.attempt, wait, error))

    # -- the end -------------------------------------------------------------------------------------------------

    def _look_at_the_clock(self) -> None:
        """Stop the batch at the deadline, or if the service has been full for `timeout` seconds."""
        if self._stopped:
            return
        if self._core.left <= 0:
            self._stopped = "the deadline passed"
        elif not self._running and self._core.io.now() - self._last_end > self._options.timeout:
            self._stopped = f"the service was busy for {self._options.timeout:g} s"

    def _leave_rest(self) -> None:
        """Write into each row that has not ended why it was not asked or answered."""
        why = self._stopped.message if isinstance(self._stopped, StefanBrainError) else self._stopped
        for row in self._rows:
            if not row.ended:
                row.error = f"not asked: {why}" if why else "not answered: the call was interrupted"

    def _progress(self) -> MapProgress:
        total, done, now = len(self._rows), self._done, self._core.io.now()
        known = self._limiter.seen >= min(ESTIMATE_ROWS, total)
        return MapProgress(
            total,
            done,
            self._failed,
            self._running,
            cents=self._spent / CENT,
            cents_expected=self._spent / done * total / CENT if known and done else None,
            seconds_left=self._limiter.seconds_for(total - done, now) if known else None,
            waiting=max(0.0, self._limiter.held_until - now),
            going=tuple(self._going.values()),
            partial=self._so_far,
            models=tuple(self._models),
        )


def _beside(core: Core, io: IO) -> Core:
    """The core for requests of single rows, on the I/O of the pool.

    It does not retry, because the runner does, and it has no hooks, because those must not run in threads.
    """
    other = copy.copy(core)
    other.io, other.settings = io, replace(core.settings, max_retries=0, on_retry=None, on_wait=None)
    return other


PROBE_SECONDS: Final = 30.0
"""After so long without a refusal the limit grows by one row; each further refusal doubles this time."""
PROBE_SECONDS_MAX: Final = 600.0
ESTIMATE_ROWS: Final = 5
"""So many rows must have been answered before cost and time are estimated."""
_RECENT_ROWS: Final = 20
"""The estimate of the time left uses the durations of so many rows."""


class AdaptiveLimit:
    """How many rows may be asked at once: at first `most`, half as many after a refusal, then slowly more again.

    Refusals of rows that began before the last halving do not halve it again: they report the same overload. No row
    begins before `held_until`, a time; `seen` counts the answered rows. Times are arguments, for the tests.
    """

    def __init__(self, most: int) -> None:
        self.limit = most
        self.held_until = 0.0
        self.seen = 0
        self._most = most
        self._probe = PROBE_SECONDS
        self._cut_at = self._changed_at = -math.inf
        self._lasted: deque[float] = deque(maxlen=_RECENT_ROWS)

    def refused(self, started: float, now: float, wait: float) -> None:
        """Note that the service refused a row begun at `started` because it is full; it asks to wait `wait` seconds."""
        self.held_until = max(self.held_until, now + wait)
        if started <= self._cut_at:
            return
        if self._cut_at > -math.inf:
            self._probe = min(2 * self._probe, PROBE_SECONDS_MAX)
        self.limit = max(1, self.limit // 2)
        self._cut_at = self._changed_at = now

    def ended(self, started: float, now: float) -> None:
        """Note that a row begun at `started` was answered."""
        self._lasted.append(now - started)
        self.seen += 1
        if self.limit < self._most and now - self._changed_at >= self._probe:
            self.limit, self._changed_at = self.limit + 1, now

    def seconds_for(self, rows: int, now: float) -> float:
        """Estimated seconds for `rows` more rows, from the mean of the last 20."""
        mean = sum(self._lasted) / max(1, len(self._lasted))
        return max(0.0, self.held_until - now) + mean * rows / self.limit
