"""`map`: one question over the rows of a DataFrame, many at once (docs/api/runs.md "Idempotency keys")."""

from __future__ import annotations

import _thread
import copy
import functools
import math
import os
import queue
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, Unpack, cast

from agentsvc_nb.client import batch_rows, models
from agentsvc_nb.client.batch_rows import BatchRow, ResultCache
from agentsvc_nb.client.core import Core
from agentsvc_nb.client.errors import APIConnectionError, JobTimeoutError, StefanBrainError
from agentsvc_nb.client.faces import Resource
from agentsvc_nb.client.files import AsyncFiles
from agentsvc_nb.client.models import Run, Shape
from agentsvc_nb.client.options import RetryNotice, WaitNotice, WaitOptions, hook, pause, wait_seconds, whole
from agentsvc_nb.client.references import ChatRef, IdRef, identifiers, optional
from agentsvc_nb.client.runs import AsyncRuns
from agentsvc_nb.client.transport.io import call_hook, run_sync
from agentsvc_nb.client.uploads import FileInput
from agentsvc_nb.client.waiting import ended
from agentsvc_nb.wire.limits import BUSY_RETRY_AFTER_SECONDS, WAIT_SECONDS
from agentsvc_nb.wire.runs import CENT, Effort

if TYPE_CHECKING:
    import asyncio

Frame = TypeVar("Frame")
CONCURRENCY: Final = 8


class MapStopped(KeyboardInterrupt):
    """A `map` was interrupted. `partial` is the DataFrame with the rows that were answered; asked for again, the same
    `map` goes on from there."""

    def __init__(self, answered: int, total: int, partial: object) -> None:
        super().__init__(f"Stopped: {answered} of {total} rows are answered; the same call goes on from there.")
        self.partial = partial


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


async def map_(
    self: Resource,
    frame: Frame,
    message: str,
    *,
    schema: Shape | None = None,
    key: str | None = None,
    project: IdRef | None = None,
    model: IdRef | None = None,
    effort: Effort | None = None,
    files: Sequence[FileInput] = (),
    file_ids: Sequence[IdRef] = (),
    files_from: ChatRef | None = None,
    max_concurrency: int = CONCURRENCY,
    max_cents: float | None = None,
    tries: int = 1,
    timeout: float | None = WAIT_SECONDS,
    prefix: str = "",
    salt: str = "",
    keep: str | os.PathLike[str] | None = None,
    on_progress: OnRows | None = None,
    **options: Unpack[WaitOptions],
) -> Frame:
    """Ask the same of each row of a DataFrame, and get the DataFrame back with the answers as new columns.

    Each row has a chat of its own. The rows keep their order, and what fails fails in its row: `error` says why. The
    same call goes on where an earlier one was interrupted; no answer is paid for twice on one UTC day, and with `keep`
    on no day.

    Args:
        frame: a DataFrame of pandas; of polars, pyarrow and others with narwhals.
        message: what to ask; `{{column}}` is the row's value, as text.
        schema: what each answer must fit: a pydantic model, a dataclass or a JSON Schema; its fields become the
            columns. Without it there is one column, `answer`.
        key: the column that tells the rows apart; without it rows that ask the same are told apart by their order.
        project: a `proj_...` id or UUID, or a project, for the chats.
        model, effort: as of `runs.start`; what another model answered is asked anew.
        files, file_ids: what each row is judged against, at most 10; as of `runs.start`, and sent once for all rows.
        files_from: a chat whose files each row's chat begins with.
        max_concurrency: how many rows are asked at once; fewer while the service is busy.
        max_cents: what all rows may cost together, earlier calls included. No row is begun that could cost more, going
            by the dearest so far.
        tries: how many runs a row may have, earlier calls of this day included, when they fail.
        timeout: seconds for each row, 20 minutes unless given; None: no limit.
        prefix: what the names of the new columns begin with.
        salt: another text than before asks everything anew.
        keep: a file that keeps the answers, for calls on other days.
        on_progress: is called with a `MapProgress` after each row, and when one takes long, from here.

    Raises:
        StefanBrainError: refused before the first answer: an unknown column, a wrong schema, no money left.
        APIConnectionError: the service cannot be reached.
        MapStopped: a `KeyboardInterrupt`; its `partial` is the DataFrame so far.

    Options: `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

    >>> client.map(df, "Classify: {{text}}", schema=Label, max_concurrency=8, max_cents=50)  # doctest: +SKIP
    """
    adapter = batch_rows.adapt(frame)
    config = models.schema(schema)
    dtypes = batch_rows.answer_dtypes(config)
    batch_rows.check_names(adapter, dtypes, prefix)
    tries, max_concurrency = whole("tries", tries, least=1), whole("max_concurrency", max_concurrency, least=1)
    on_progress = hook("on_progress", on_progress)
    if max_cents is not None and not (isinstance(max_cents, int | float) and max_cents > 0):
        raise StefanBrainError(f"`max_cents` must be a number over 0, not {max_cents!r:.80}; nothing was sent.")
    core, project, model = self._core.scoped(options), optional("project", project), optional("model", model)
    about: dict[str, Any] = {"schema": config, "project": project, "salt": salt}
    about |= {name: value for name, value in (("model", model), ("effort", effort)) if value is not None}
    rows = batch_rows.make_rows(
        adapter, message, key, about
    )  # before a file is sent: this checks the message and the key
    ids = identifiers("file_ids", file_ids)
    staged = await AsyncFiles(core).upload(*files)
    ids += [file.id for file in staged]
    contents: list[Any] = [getattr(each, "sha256", each) for each in file_ids] + [file.sha256 for file in staged]
    if files_from is not None:
        contents += [[file.path, file.id] for file in await AsyncFiles(core).list(files_from).all()]
    if contents:
        rows = batch_rows.make_rows(adapter, message, key, about | {"files": contents})

    async def start(core: Core, row: BatchRow) -> Run[Any]:
        run: Run[Any] = await AsyncRuns(core).start(
            row.message,
            project=project,
            model=model,
            effort=effort,
            file_ids=ids,
            files_from=files_from,
            sync=True,
            output_config=cast(Any, schema),  # of either overload
            idempotency_key=row.idempotency_key,
        )
        return run

    def partial() -> Frame:
        made: Frame = batch_rows.append_answers(adapter, rows, dtypes, schema, prefix)
        return made

    batch = Batch(
        core,
        rows,
        start,
        failure=functools.partial(batch_rows.failure_reason, shape=schema),
        limit=AdaptiveLimit(max_concurrency),
        max_cents=max_cents,
        tries=tries,
        timeout=wait_seconds(timeout),
        cache=None if keep is None else await core.io.call(lambda: ResultCache(keep)),
        on_progress=on_progress,
        partial=partial,
    )
    try:
        await batch.run()
    except KeyboardInterrupt:
        raise MapStopped(batch.answered, len(rows), partial()) from None
    return partial()


Outcome: TypeAlias = "tuple[BatchRow, Run[Any] | None, Exception | None]"  # as text: pydantic would build the model
"""A row that was asked once, its run if one started, and what went wrong."""
LOOK_SECONDS: Final = 0.25
"""How often to look for rows that may begin. On some systems an interrupt does not end a longer wait."""
ESTIMATE_ROWS: Final = 5
"""So many rows must have been answered before cost and time are estimated."""


class Batch:
    """Asks the rows that have no answer yet, many at once, within the limits on concurrency, cost and time.

    Rows are asked in threads, or in tasks of the event loop; their outcomes come to `run`. Only `run`, where the user
    called, changes rows and counters, so there are no locks, and hooks and Ctrl-C arrive there.
    """

    def __init__(
        self,
        core: Core,
        rows: list[BatchRow],
        start: Callable[[Core, BatchRow], Coroutine[Any, Any, Run[Any]]],
        *,
        failure: Callable[[Run[Any]], str | None],
        limit: AdaptiveLimit,
        max_cents: float | None,
        tries: int,
        timeout: float,
        cache: ResultCache | None,
        on_progress: OnRows | None,
        partial: Callable[[], Any],
    ) -> None:
        self._core = core
        self._rows = rows
        self._start = start
        self._failure = failure
        self._limit = limit
        self._max_cents = max_cents
        self._tries = tries
        self._timeout = timeout
        self._cache = cache
        self._on_progress = on_progress
        self._partial = partial
        self._waiting = deque(row for row in rows if not row.ended)  # those to repeat come first
        self._running = self._spent = self._dearest = self._priced = 0
        self._failed = self._done = len(rows) - len(self._waiting)
        self._last_end = core.io.now()
        self._models = dict[str, None]()
        self._going: dict[str, str] = {}  # run ids of long-running rows by the row's key; set by `_ask`
        self._reported = 0  # how many of them the hook has seen
        self._stopped: StefanBrainError | str | None = None
        self._left = False

    @property
    def answered(self) -> int:
        return self._done - self._failed

    async def run(self) -> None:
        """Ask all rows that the cache does not answer. What fails is written into its row.

        Raises `StefanBrainError` only if no row was answered and one failed for a reason that all rows share.
        """
        if self._cache:
            for row in self._waiting:
                if run := self._cache.get(row.key):
                    self._settle(row, run)
            self._waiting = deque(row for row in self._waiting if not row.ended)
        if self._done and not self._waiting:  # no row will be asked, and so nothing else would be reported
            await self._report()
        # The loop below repeats, not the rows, which would all come back together. Hooks must not run in threads.
        core = copy.copy(self._core)
        core.settings = replace(core.settings, max_retries=0, on_retry=None, on_wait=self._stop_waiting)
        workers = _Tasks() if core.io.awaited else _Threads()
        try:
            while self._running or (self._waiting and not self._stopped):
                while not self._stopped and (found := self._next_row()):
                    found.began, found.day = core.io.now(), found.day or core.io.today()
                    self._running += 1
                    workers.start(self._ask(core, found))
                if outcome := await workers.next(LOOK_SECONDS):
                    self._running -= 1
                    await self._take(*outcome)
                elif len(self._going) > self._reported:
                    await self._report()
                if not self._stopped and core.left <= 0:
                    self._stopped = "the deadline passed"
                elif not self._stopped and not self._running and core.io.now() - self._last_end > self._timeout:
                    self._stopped = f"the service was busy for {self._timeout:g} s"
        finally:
            self._left = True
            await workers.leave()
            why = self._stopped.message if isinstance(self._stopped, StefanBrainError) else self._stopped
            for row in self._rows:
                if not row.ended:
                    row.error = f"not asked: {why}" if why else "not answered: the call was interrupted"
        if isinstance(self._stopped, StefanBrainError) and not self.answered:
            raise self._stopped

    def _next_row(self) -> BatchRow | None:
        """Take the next row that may begin now, if any."""
        now = self._core.io.now()
        if self._running >= self._limit.rows or now < self._limit.held_until or not self._affordable():
            return None
        found = next((row for row in self._waiting if row.due <= now), None)
        if found:
            self._waiting.remove(found)
        return found

    def _affordable(self) -> bool:
        """True if one more row fits under `max_cents`, going by the dearest so far.

        The first row's cost is unknown, so it runs alone. If no row fits any more, the batch stops.
        """
        if self._max_cents is None:
            return True
        if not self._priced:
            return not self._running
        fits = self._spent + (self._running + 1) * self._dearest <= self._max_cents * CENT
        if not fits and not self._running:
            self._stopped = f"the next row could cost more than is left of {self._max_cents:g} cents"
        return fits

    # -- in a thread or task of the row's own ----------------------------------------------------------------------

    async def _ask(self, core: Core, row: BatchRow) -> Outcome:
        """Ask one row. Changes no shared state but `_going`."""
        run = None
        try:
            run = await self._start(core, row)
            if not run.ended:
                self._going[row.key] = run.run_id
                run = await ended(core, run.run_id, self._timeout)
        except Exception as error:
            return row, run, error
        return row, run, None

    def _stop_waiting(self, notice: WaitNotice) -> None:
        """End the thread of a row that waits for its run, once nothing reads its outcome any more."""
        if self._left:
            raise StefanBrainError("This batch has ended.")

    # -- outcomes --------------------------------------------------------------------------------------------------

    async def _take(self, row: BatchRow, run: Run[Any] | None, error: Exception | None) -> None:
        if isinstance(error, StefanBrainError):
            await self._take_error(row, run, error)
        elif error is not None:
            raise error
        elif run is not None:
            self._going.pop(row.key, None)
            self._limit.answered(row.began, self._core.io.now())
            if run.status != "completed" and row.tried < self._tries:
                self._pay(row, run)
                row.tried, row.attempt, row.day = row.tried + 1, 1, None
                self._waiting.appendleft(row)
            else:
                self._settle(row, run)
                if run.status == "completed" and self._cache:
                    await self._core.io.call(functools.partial(self._cache.add, row.key, run))
        await self._report()

    def _settle(self, row: BatchRow, run: Run[Any]) -> None:
        """Add the cost of the row's last run, and end the row with its answer or error."""
        self._pay(row, run)
        self._end(row, run, self._failure(run))

    def _pay(self, row: BatchRow, run: Run[Any]) -> None:
        cost = run.usage.cost_microcents
        if run.model:
            self._models[run.model] = None
        row.microcents += cost
        self._spent, self._dearest, self._priced = self._spent + cost, max(self._dearest, cost), self._priced + 1

    def _end(self, row: BatchRow, run: Run[Any] | None, error: str | None) -> None:
        row.run, row.error, row.ended = run, error, True
        self._failed += error is not None
        self._done, self._last_end = self._done + 1, self._core.io.now()

    async def _take_error(self, row: BatchRow, run: Run[Any] | None, error: StefanBrainError) -> None:
        """Schedule the row again after a failed request, or end it; stop the batch if every row would fail alike."""
        core, now = self._core, self._core.io.now()
        if isinstance(error, JobTimeoutError) or error.late:
            wait = None
        elif error.status == 429:
            # Nothing was started: neither the key's day nor the number of attempts counts.
            wait, row.day = pause(error, 1, 1, core.rng), None
            if wait is not None:
                wait = float(BUSY_RETRY_AFTER_SECONDS) if error.retry_after_seconds is None else wait
                self._limit.refused(row.began, now, wait)
        elif row.day == core.io.today():
            wait = pause(error, row.attempt, core.settings.max_retries, core.rng)
            row.attempt += 1
        else:
            wait = None  # the run may have started, and its idempotency key counts no more
        if wait is None:
            self._end(row, run, f"{error.code}: {error.message}" if error.code else error.message)
            if _fails_every_row(error):
                self._stopped = error
            return
        row.due = now + wait
        self._waiting.appendleft(row)
        await core.notify(RetryNotice("runs.start", row.attempt, wait, error))

    async def _report(self) -> None:
        self._reported = len(self._going)  # counted before the call: a row may be added while the hook runs
        total, done, now = len(self._rows), self._done, self._core.io.now()
        known = self._limit.seen >= min(ESTIMATE_ROWS, total)
        progress = MapProgress(
            total,
            done,
            self._failed,
            self._running,
            cents=self._spent / CENT,
            cents_expected=self._spent / done * total / CENT if known and done else None,
            seconds_left=self._limit.seconds_for(total - done, now) if known else None,
            waiting=max(0.0, self._limit.held_until - now),
            going=tuple(self._going.values()),
            partial=self._partial,
            models=tuple(self._models),
        )
        await call_hook(self._on_progress, progress)


# Codes that every row would fail with, though their status does not say so.
_EVERY_ROW: Final = frozenset(
    {"invalid_model", "invalid_output_config", "project_not_found", "too_many_attachments", "upload_not_found"}
)


def _fails_every_row(error: StefanBrainError) -> bool:
    """True if every row would fail for the same reason: a wrong key, no money, an unreachable service."""
    if isinstance(error, APIConnectionError):
        return not error.sent
    return error.status in (401, 403, 429) or error.code in _EVERY_ROW


class AdaptiveLimit:
    """How many `rows` may run at once: at first `most`, half as many after a refusal, then slowly more again.

    No row begins before `held_until`. `seen` counts the answered rows. Times are those of the client's clock.
    """

    GROW_SECONDS: Final = 30.0
    """After so long without a change the limit grows by one row."""

    def __init__(self, most: int) -> None:
        self.rows = self._most = most
        self.held_until = 0.0
        self.seen = 0
        self._changed_at = -math.inf
        self._durations: deque[float] = deque(maxlen=20)

    def refused(self, began: float, now: float, wait: float) -> None:
        """Halve the limit, because the service refused a row: once for all rows that began before."""
        self.held_until = max(self.held_until, now + wait)
        if began > self._changed_at:
            self.rows, self._changed_at = max(1, self.rows // 2), now

    def answered(self, began: float, now: float) -> None:
        self._durations.append(now - began)
        self.seen += 1
        if self.rows < self._most and now - self._changed_at >= self.GROW_SECONDS:
            self.rows, self._changed_at = self.rows + 1, now

    def seconds_for(self, count: int, now: float) -> float:
        """Estimate the seconds for `count` more rows, from the mean of the last 20."""
        mean = sum(self._durations) / max(1, len(self._durations))
        return max(0.0, self.held_until - now) + mean * count / self.rows


# -- many at once ---------------------------------------------------------------------------------------------------


class _Threads:
    """Runs rows in threads, one each. The interpreter does not wait for them at its end."""

    def __init__(self) -> None:
        self._ended: queue.SimpleQueue[Outcome] = queue.SimpleQueue()

    def start(self, work: Coroutine[Any, Any, Outcome]) -> None:
        # `Thread.start` waits on a condition; an interrupt of that wait comes out as a RuntimeError.
        _thread.start_new_thread(lambda: self._ended.put(run_sync(work)), ())

    async def next(self, seconds: float) -> Outcome | None:
        """Return the next outcome, or None if there is none within `seconds`."""
        try:
            return self._ended.get(timeout=seconds)
        except queue.Empty:
            return None

    async def leave(self) -> None:
        """Leave the threads to end by themselves, after their current request."""


class _Tasks:
    """Runs rows in tasks of the event loop. Leaving cancels them."""

    def __init__(self) -> None:
        import asyncio  # here, for blocking clients do without it

        self._asyncio = asyncio
        self._tasks: set[asyncio.Task[Outcome]] = set()

    def start(self, work: Coroutine[Any, Any, Outcome]) -> None:
        self._tasks.add(self._asyncio.create_task(work))

    async def next(self, seconds: float) -> Outcome | None:
        """Return the next outcome, or None if there is none within `seconds`."""
        if not self._tasks:
            await self._asyncio.sleep(seconds)
            return None
        done, _ = await self._asyncio.wait(self._tasks, timeout=seconds, return_when="FIRST_COMPLETED")
        if not done:
            return None
        task = done.pop()
        self._tasks.discard(task)
        return task.result()

    async def leave(self) -> None:
        """Cancel what has not ended."""
        for task in self._tasks:
            task.cancel()
        await self._asyncio.gather(*self._tasks, return_exceptions=True)
