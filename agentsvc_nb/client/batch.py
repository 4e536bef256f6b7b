"""`client.map`: ask one question for each row of a DataFrame, many rows at the same time.

A row's run has an idempotency key, so that a repeated `map` does not pay for the same answer twice on one UTC day
(docs/api/runs.md "Idempotency keys").
"""

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
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, Unpack

from agentsvc_nb.client import batch_rows, models
from agentsvc_nb.client.batch_rows import BatchRow, ResultCache
from agentsvc_nb.client.core import Core
from agentsvc_nb.client.errors import APIConnectionError, JobTimeoutError, StefanBrainError
from agentsvc_nb.client.faces import Resource
from agentsvc_nb.client.files import AsyncFiles
from agentsvc_nb.client.models import Run, Shape
from agentsvc_nb.client.options import (
    RetryNotice,
    WaitNotice,
    WaitOptions,
    check_hook,
    check_integer,
    check_timeout,
    retry_delay,
)
from agentsvc_nb.client.references import ChatRef, IdRef, identifiers, optional
from agentsvc_nb.client.runs import AsyncRuns
from agentsvc_nb.client.transport.io import call_hook, run_sync
from agentsvc_nb.client.uploads import FileInput
from agentsvc_nb.client.waiting import wait_for_run
from agentsvc_nb.wire.limits import BUSY_RETRY_AFTER_SECONDS, CENTS_MAX, WAIT_SECONDS
from agentsvc_nb.wire.runs import CENT, Effort

if TYPE_CHECKING:
    import asyncio

Frame = TypeVar("Frame")
CONCURRENCY: Final = 8


class MapStopped(KeyboardInterrupt):
    """Ctrl-C interrupted a `map`. `partial` is the DataFrame with the answers so far.

    Call `map` again with the same arguments to continue.
    """

    def __init__(self, answered: int, total: int, partial: object) -> None:
        super().__init__(f"Stopped: {answered} of {total} rows are answered; repeat the call to continue.")
        self.partial = partial


@dataclass(frozen=True, slots=True)
class MapProgress:
    """The progress of a `map`, which the hook `on_progress` receives.

    - `total`, `done`, `failed`, `running`: numbers of rows. `done` includes the failed rows.
    - `cents`: the cost so far.
    - `cents_expected`: the estimated cost of all rows, or None until five rows are answered.
    - `seconds_left`: the estimated seconds until the end, or None until five rows are answered.
    - `waiting`: the seconds until the next row may start, because the service is busy, or 0.
    - `going`: the ids of the runs that take longer than one request.
    - `models`: the models that have answered.
    - `partial()` returns the DataFrame with the answers so far.
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
    files_version: str | None = None,
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
    """Ask one question for each row of a DataFrame, and return the DataFrame with the answers as new columns.

    The service creates a chat for each row. If a row fails, the column `error` contains the reason, and the other rows
    continue. To continue after an interruption, call `map` again with the same arguments: you pay for an answer only
    once per UTC day. With `keep`, you pay for it only once.

    Args:
        frame: a pandas DataFrame. If narwhals is installed, you can also pass a DataFrame of polars, pyarrow or another
            library.
        message: the question. The client replaces `{{column}}` with the row's value of that column.
        schema: the shape of each answer: a pydantic model, a dataclass or a JSON Schema. Each field becomes a column.
            Without `schema`, the answers are in one column, `answer`.
        key: the column whose values identify the rows. Without `key`, the client identifies a row by its question, and
            rows with the same question by their order.
        project: the project of the rows' chats: a `proj_...` id, a UUID or a project.
        model, effort: as in `runs.start`. If you change one of them, a repeated call asks all rows again.
        files, file_ids: at most 10 attachments for each row, as in `runs.start`. The client uploads `files` only once
            for all rows.
        files_from: a chat whose files the service copies into each row's chat. If one of these files changes, a
            repeated call asks all rows again.
        files_version: your version of the attached files. If you set it, a repeated call asks rows again only when this
            text changes, and ignores changes of `file_ids` and `files_from`.
        max_concurrency: the maximum number of rows that run at the same time. The client reduces the number while the
            service is busy.
        max_cents: the maximum cost of all rows in cents, including earlier calls. The client does not start a row
            that could exceed the limit if it cost as much as the most expensive row so far.
        tries: the maximum number of runs for a row that fails, including runs of earlier calls on the same UTC day.
        timeout: seconds for each row, 20 minutes by default; None for no limit.
        prefix: a prefix for the names of the new columns.
        salt: any text. If you change it, a repeated call asks all rows again.
        keep: a local file in which the client stores the answers, so that calls on later days can reuse them.
        on_progress: the client calls this function with a `MapProgress` after each row, and when a row takes long.

    Raises:
        StefanBrainError: no row can be answered, for example because a column is unknown, the schema is invalid or no
            money is left.
        APIConnectionError: the client cannot reach the service.
        MapStopped: Ctrl-C interrupted the call; `partial` is the DataFrame with the answers so far.

    Options: `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

    >>> client.map(df, "Classify: {{text}}", schema=Label, max_concurrency=8, max_cents=50)  # doctest: +SKIP
    """
    adapter, config = batch_rows.adapt(frame), models.schema(schema)
    dtypes = batch_rows.answer_dtypes(config)
    batch_rows.check_names(adapter, dtypes, prefix)
    tries, max_concurrency = (
        check_integer("tries", tries, least=1),
        check_integer("max_concurrency", max_concurrency, least=1),
    )
    on_progress = check_hook("on_progress", on_progress)
    if max_cents is not None and not (isinstance(max_cents, int | float) and 0 < max_cents <= CENTS_MAX):
        wanted = f"a number over 0 and at most {CENTS_MAX:,}"
        raise StefanBrainError(f"`max_cents` must be {wanted}, not {max_cents!r:.80}; nothing was sent.")
    core, project, model = self._core.scoped(options), optional("project", project), optional("model", model)
    about: dict[str, Any] = {"schema": config, "project": project, "salt": salt}
    about |= {name: value for name, value in (("model", model), ("effort", effort)) if value is not None}
    # Create the rows before the upload, because `make_rows` checks the message and the key.
    rows = batch_rows.make_rows(adapter, message, key, about)
    ids = identifiers("file_ids", file_ids)
    staged = await AsyncFiles(core).upload(*files)
    contents: list[Any] = [] if files_version is None else [files_version]
    if files_version is None:
        contents += [getattr(each, "sha256", each) for each in file_ids]
    contents += [file.sha256 for file in staged]
    if files_from is not None and files_version is None:
        contents += [[file.path, file.id] for file in await AsyncFiles(core).list(files_from).all()]
    if contents:
        rows = batch_rows.make_rows(adapter, message, key, about | {"files": contents})
    batch = Batch(
        core,
        rows,
        arguments={
            "project": project,
            "model": model,
            "effort": effort,
            "file_ids": [*ids, *(file.id for file in staged)],
            "files_from": files_from,
            "output_config": schema,
        },
        shape=schema,
        limit=AdaptiveLimit(max_concurrency),
        max_cents=max_cents,
        tries=tries,
        timeout=check_timeout(timeout),
        cache=None if keep is None else await core.io.run_blocking(lambda: ResultCache(keep)),
        on_progress=on_progress,
        partial=functools.partial(batch_rows.append_answers, adapter, rows, dtypes, schema, prefix),
    )
    try:
        await batch.run()
    except KeyboardInterrupt:
        raise MapStopped(batch.answered, len(rows), batch.partial()) from None
    answered: Frame = batch.partial()
    return answered


Outcome: TypeAlias = "tuple[BatchRow, Run[Any] | None, Exception | None]"  # text: pydantic must not build Run[Any]
"""A row, its run (None if no run started), and its exception (None if the row did not fail)."""
LOOK_SECONDS: Final = 0.25
"""The seconds between two checks for rows that may start. On some systems, Ctrl-C cannot interrupt a longer wait."""
ESTIMATE_ROWS: Final = 5
"""The number of answers that an estimate of cost and time needs."""


@dataclass
class Batch:
    """Ask the rows that have no answer yet, several at the same time, within the limits for concurrency, cost and time.

    Worker threads (with asyncio, tasks) ask the rows and return the outcomes to `run`. Only `run` changes rows and
    counters and calls hooks. So the code needs no locks, and Ctrl-C arrives in the caller's thread.
    """

    core: Core
    rows: list[BatchRow]
    arguments: dict[str, Any]
    """The arguments of `runs.start` that are the same for all rows."""
    shape: Shape | None
    limit: AdaptiveLimit
    max_cents: float | None
    tries: int
    timeout: float
    cache: ResultCache | None
    on_progress: OnRows | None
    partial: Callable[[], Any]

    def __post_init__(self) -> None:
        self._waiting = deque(row for row in self.rows if not row.ended)  # rows to retry come first
        self._running = self._spent = self._dearest = self._priced = 0
        self._failed = self._done = len(self.rows) - len(self._waiting)
        self._last_end = self.core.io.now()
        self._models = dict[str, None]()
        self._going: dict[str, str] = {}  # the run ids of long-running rows, by row key; `_ask` sets them
        self._reported = 0  # how many long-running rows `on_progress` has seen
        self._stopped: StefanBrainError | str | None = None
        self._left = False

    @property
    def answered(self) -> int:
        return self._done - self._failed

    async def run(self) -> None:
        """Ask all rows whose answer is not in the cache. Store the error of a failed row in `row.error`.

        Raises `StefanBrainError` only if no row was answered, and a row failed for a reason that affects every row.
        """
        if self.cache:
            for row in self._waiting:
                if run := self.cache.get(row.key):
                    self._settle(row, run)
            self._waiting = deque(row for row in self._waiting if not row.ended)
        if self._done and not self._waiting:  # no row is left to ask, so the loop below reports nothing
            await self._report()
        # Retry here instead of in each row's core: otherwise all rows would retry at once, and call hooks in threads.
        core = copy.copy(self.core)
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
                elif not self._stopped and not self._running and core.io.now() - self._last_end > self.timeout:
                    self._stopped = f"the service was busy for {self.timeout:g} s"
        finally:
            self._left = True
            await workers.stop()
            why = self._stopped.message if isinstance(self._stopped, StefanBrainError) else self._stopped
            for row in self.rows:
                if not row.ended:
                    row.error = f"not asked: {why}" if why else "not answered: the call was interrupted"
        if isinstance(self._stopped, StefanBrainError) and not self.answered:
            raise self._stopped

    def _next_row(self) -> BatchRow | None:
        """Remove and return the next row that may start now, or return None."""
        now = self.core.io.now()
        if self._running >= self.limit.rows or now < self.limit.held_until or not self._affordable():
            return None
        found = next((row for row in self._waiting if row.due <= now), None)
        if found:
            self._waiting.remove(found)
        return found

    def _affordable(self) -> bool:
        """Return True if one more row as expensive as the most expensive row so far would not exceed `max_cents`.

        The first row runs alone, because the cost of a row is not known yet. If no further row fits, stop the batch.
        """
        if self.max_cents is None:
            return True
        if not self._priced:
            return not self._running
        fits = self._spent + (self._running + 1) * self._dearest <= self.max_cents * CENT
        if not fits and not self._running:
            self._stopped = f"the next row could exceed the limit of {self.max_cents:g} cents"
        return fits

    # -- in the row's own thread or task -------------------------------------------------------------------------------

    async def _ask(self, core: Core, row: BatchRow) -> Outcome:
        """Ask one row. This runs in the row's thread or task, so `_going` is the only shared state that it changes."""
        run: Run[Any] | None = None
        try:
            runs, key = AsyncRuns(core), row.idempotency_key
            run = await runs.start(row.message, sync=True, idempotency_key=key, **self.arguments)
            if not run.ended:
                self._going[row.key] = run.run_id
                run = await wait_for_run(core, run.run_id, self.timeout)
        except Exception as error:
            return row, run, error
        return row, run, None

    def _stop_waiting(self, notice: WaitNotice) -> None:
        """Raise an error if the batch has ended, so that the thread of a row does not wait for its run any longer."""
        if self._left:
            raise StefanBrainError("`map` has ended, so the client no longer waits for the run of this row.")

    # -- outcomes --------------------------------------------------------------------------------------------------

    async def _take(self, row: BatchRow, run: Run[Any] | None, error: Exception | None) -> None:
        if isinstance(error, StefanBrainError):
            await self._take_error(row, run, error)
        elif error is not None:
            raise error
        elif run is not None:
            self._going.pop(row.key, None)
            self.limit.record_answer(row.began, self.core.io.now())
            if run.status != "completed" and row.tried < self.tries:
                self._pay(row, run)
                row.tried, row.attempt, row.day = row.tried + 1, 1, None
                self._waiting.appendleft(row)
            else:
                self._settle(row, run)
                if run.status == "completed" and self.cache:
                    await self.core.io.run_blocking(functools.partial(self.cache.add, row.key, run))
        await self._report()

    def _settle(self, row: BatchRow, run: Run[Any]) -> None:
        """Add the cost of the row's last run, and end the row with the run's answer or an error."""
        self._pay(row, run)
        self._end(row, run, batch_rows.failure_reason(run, self.shape))

    def _pay(self, row: BatchRow, run: Run[Any]) -> None:
        cost = run.usage.cost_microcents
        if run.model:
            self._models[run.model] = None
        row.microcents += cost
        self._spent, self._dearest, self._priced = self._spent + cost, max(self._dearest, cost), self._priced + 1

    def _end(self, row: BatchRow, run: Run[Any] | None, error: str | None) -> None:
        row.run, row.error, row.ended = run, error, True
        self._failed += error is not None
        self._done, self._last_end = self._done + 1, self.core.io.now()

    async def _take_error(self, row: BatchRow, run: Run[Any] | None, error: StefanBrainError) -> None:
        """After a failed request, schedule the row again or end it. Stop the batch if the error affects every row."""
        core, now = self.core, self.core.io.now()
        if isinstance(error, JobTimeoutError) or error.late:
            wait = None
        elif error.status == 429:
            # No run started. So this attempt does not count, and the key's UTC day is not fixed yet.
            wait, row.day = retry_delay(error, 1, 1, core.rng), None
            if wait is not None:
                wait = float(BUSY_RETRY_AFTER_SECONDS) if error.retry_after_seconds is None else wait
                self.limit.record_refusal(row.began, now, wait)
        elif row.day == core.io.today():
            wait = retry_delay(error, row.attempt, core.settings.max_retries, core.rng)
            row.attempt += 1
        else:
            wait = None  # the run may have started, but its idempotency key is no longer valid
        if wait is None:
            self._end(row, run, f"{error.code}: {error.message}" if error.code else error.message)
            if _fails_every_row(error):
                self._stopped = error
            return
        row.due = now + wait
        self._waiting.appendleft(row)
        await core.notify(RetryNotice("runs.start", row.attempt, wait, error))

    async def _report(self) -> None:
        self._reported = len(self._going)  # count first, because another row may be added while the hook runs
        total, done, now = len(self.rows), self._done, self.core.io.now()
        known = self.limit.seen >= min(ESTIMATE_ROWS, total)
        progress = MapProgress(
            total,
            done,
            self._failed,
            self._running,
            cents=self._spent / CENT,
            cents_expected=self._spent / done * total / CENT if known and done else None,
            seconds_left=self.limit.seconds_for(total - done, now) if known else None,
            waiting=max(0.0, self.limit.held_until - now),
            going=tuple(self._going.values()),
            partial=self.partial,
            models=tuple(self._models),
        )
        await call_hook(self.on_progress, progress)


# Error codes that affect every row, although their HTTP status does not show this.
_EVERY_ROW: Final = frozenset(
    {"invalid_model", "invalid_output_config", "project_not_found", "too_many_attachments", "upload_not_found"}
)


def _fails_every_row(error: StefanBrainError) -> bool:
    """Return True if every row would fail for the same reason, such as a wrong key or an unreachable service."""
    if isinstance(error, APIConnectionError):
        return not error.sent
    return error.status in (401, 403, 429) or error.code in _EVERY_ROW


class AdaptiveLimit:
    """Limit how many rows run at the same time.

    - `rows`: the limit. It starts at `most`, halves when the service refuses a row, and then grows by one every 30
      seconds.
    - `held_until`: the time before which no row starts, in seconds of a monotonic clock.
    - `seen`: the number of answered rows.
    """

    GROW_SECONDS: Final = 30.0

    def __init__(self, most: int) -> None:
        self.rows = self._most = most
        self.held_until = 0.0
        self.seen = 0
        self._changed_at = -math.inf
        self._durations: deque[float] = deque(maxlen=20)

    def record_refusal(self, began: float, now: float, wait: float) -> None:
        """Halve the limit after a refusal, unless the row started before the limit was last changed."""
        self.held_until = max(self.held_until, now + wait)
        if began > self._changed_at:
            self.rows, self._changed_at = max(1, self.rows // 2), now

    def record_answer(self, began: float, now: float) -> None:
        self._durations.append(now - began)
        self.seen += 1
        if self.rows < self._most and now - self._changed_at >= self.GROW_SECONDS:
            self.rows, self._changed_at = self.rows + 1, now

    def seconds_for(self, count: int, now: float) -> float:
        """Estimate the seconds for `count` more rows from the mean duration of the last 20 rows."""
        mean = sum(self._durations) / max(1, len(self._durations))
        return max(0.0, self.held_until - now) + mean * count / self.rows


class _Threads:
    """Run each row in a thread. Python does not wait for these threads when it exits."""

    def __init__(self) -> None:
        self._ended: queue.SimpleQueue[Outcome] = queue.SimpleQueue()

    def start(self, work: Coroutine[Any, Any, Outcome]) -> None:
        # `threading.Thread.start` waits on a condition. Ctrl-C during this wait would become a RuntimeError.
        _thread.start_new_thread(lambda: self._ended.put(run_sync(work)), ())

    async def next(self, seconds: float) -> Outcome | None:
        """Return the next outcome, or None if no row ends within `seconds`."""
        try:
            return self._ended.get(timeout=seconds)
        except queue.Empty:
            return None

    async def stop(self) -> None:
        """Do nothing: each thread ends after its current request."""


class _Tasks:
    """Run each row in a task of the event loop. `stop` cancels the tasks."""

    def __init__(self) -> None:
        import asyncio  # here, because blocking clients do not need it

        self._asyncio = asyncio
        self._tasks: set[asyncio.Task[Outcome]] = set()

    def start(self, work: Coroutine[Any, Any, Outcome]) -> None:
        self._tasks.add(self._asyncio.create_task(work))

    async def next(self, seconds: float) -> Outcome | None:
        """Return the next outcome, or None if no row ends within `seconds`."""
        if not self._tasks:
            await self._asyncio.sleep(seconds)
            return None
        done, _ = await self._asyncio.wait(self._tasks, timeout=seconds, return_when="FIRST_COMPLETED")
        for task in done:
            self._tasks.discard(task)
            return task.result()
        return None

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await self._asyncio.gather(*self._tasks, return_exceptions=True)
