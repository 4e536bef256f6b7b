"""Jobs in the background: a thread polls them, each has a progress bar, and their result is a future."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.ask.background import BackgroundResult
from agentsvc_nb.notebook.display.render import Bundle, error_bundle, stacked
from agentsvc_nb.notebook.display.results import ResultFiles
from agentsvc_nb.notebook.display.screens import Output
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.jobs.foreground import LOOK_SECONDS, JobResult, begun, job_bundle, judge, lost, made, submit
from agentsvc_nb.notebook.state.session import Session, seen_job
from agentsvc_nb.wire.text import label
from agentsvc_nb.wire.tools import Job, ToolError

BARS: Final = 20
"""The most bars in one output. Further jobs are polled as well, but only counted below the bars."""


class Bars(Protocol):
    """The output of several jobs: a progress bar for each."""

    def show(self, jobs: Sequence[Job], cancel: Callable[[str], object]) -> None:
        """Display the bars in the running cell. A bar's button calls `cancel` with its job's id; it must not block."""
        ...

    def draw(self, jobs: Sequence[Job], elapsed: float) -> None:
        """Update the bars of the same jobs, `elapsed` seconds after polling began."""
        ...

    def leave(self, job_id: str, bundle: Bundle) -> None:
        """Replace the bar of a job that has ended by its result; other jobs go on."""
        ...

    def finish(self, bundle: Bundle) -> None:
        """Replace all bars by this final output."""
        ...


class StaticBars:
    """For hosts that cannot update an output: one line for each job when it is submitted, and no more."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def show(self, jobs: Sequence[Job], cancel: Callable[[str], object]) -> None:
        for job in jobs[:BARS]:
            self._output.show(_submitted(job))

    def draw(self, jobs: Sequence[Job], elapsed: float) -> None:
        pass

    def leave(self, job_id: str, bundle: Bundle) -> None:
        pass

    def finish(self, bundle: Bundle) -> None:
        pass


def _submitted(job: Job) -> Bundle:
    """The line of a job that was submitted and is not followed here; without a bar, which would never move."""
    bundle = job_bundle(job, 0.0, ("`%jobs watch` follows it, `%jobs cancel` stops it.",))
    bundle["text/html"] = bundle["text/html"].partition("</progress>")[2] or bundle["text/html"]
    return bundle


K = TypeVar("K")

PICTURED_BYTES: Final = 1_000_000
"""Once the output of several jobs has this many characters of HTML, further jobs are shown without thumbnails."""

GONE: Final = ToolError(code="job_not_found", message="The service has no such job of this account.")
"""The error of a job that the service answers 404 for."""


class BackgroundJobs(BackgroundResult[K]):
    """Several jobs in the background; `finish` turns their results into the value that `wait` returns.

    Example: `later.wait()`, `await later`; without waiting `later.done()`, `later.status`, `later.cancel()`
    """

    def __init__(
        self,
        session: Session,
        jobs: Sequence[Job],
        bars: Bars,
        finish: Callable[[list[JobResult]], K],
        *,
        timeout: float | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self._session = session
        self._bars = bars
        self._finish = finish
        self._jobs = {job.job_id: job for job in jobs}
        self._results: dict[str, JobResult] = {}
        self._began = time.monotonic()
        self._timeout = timeout
        self._notes = notes
        self._unwanted: set[str] = set()
        self._wake = threading.Event()
        super().__init__()

    def begin(self) -> None:
        """Display the bars in the running cell and start the thread."""
        self._bars.show([*self._jobs.values()], self.cancel)
        self.start()

    def cancel(self, job_id: str = "") -> None:
        """Have the thread cancel one of the jobs, or all of them, on the service. Safe to repeat; returns at once."""
        self._unwanted |= {job_id} if job_id else set(self._jobs)
        self._wake.set()

    @property
    def status(self) -> str:
        """The state of each job as it was last seen; does not wait."""
        return ", ".join(str(job.status) for job in self._jobs.values())

    @property
    def name(self) -> str:
        return f"{len(self._jobs)} jobs" if len(self._jobs) != 1 else f"job {next(iter(self._jobs))}"

    @property
    def again(self) -> str:
        """The magic that shows these jobs again, for error messages."""
        return "%jobs watch" if len(self._jobs) != 1 else f"%jobs show {next(iter(self._jobs))}"

    def make(self) -> K:
        try:
            while self._look() and not self._late():
                self._wake.wait(LOOK_SECONDS)
                self._wake.clear()
        except (AskError, StefanBrainError) as error:
            raise lost(self._session, error, self.name, self.again) from None
        left = [self._results.get(job_id) or self._unfinished(job) for job_id, job in self._jobs.items()]
        more = {"text/plain": f"… {len(left) - BARS} more: `%jobs`", "text/html": f"… {len(left) - BARS} more"}
        self._bars.finish(stacked([*(one.shown for one in left[:BARS]), *[more] * (len(left) > BARS)]))
        return self._finish(left)

    def left_alone(self, error: BaseException) -> None:
        """Keep the results and progress so far in the output, with the error below."""
        why = error_bundle(str(error), getattr(error, "hint", "") or "`%jobs` lists them.")
        self._bars.finish(stacked([*self._known(), why]))

    def _mimebundle(self) -> Bundle:
        return stacked(self._known())

    def _known(self) -> list[Bundle]:
        elapsed = time.monotonic() - self._began
        shown = {job_id: job_bundle(job, elapsed) for job_id, job in self._jobs.items()}
        return [*(shown | {job_id: one.shown for job_id, one in self._results.items()}).values()][:BARS]

    def _look(self) -> bool:
        """Poll each active job once, send requested cancellations, and draw; return whether any job goes on."""
        for job_id in [job_id for job_id in self._jobs if job_id not in self._results]:
            self._jobs[job_id] = job = look(self._session, self._jobs[job_id].model_dump())
            if job.ended:
                self._results[job_id] = self._made(job)
                self._bars.leave(job_id, self._results[job_id].shown)
            elif job_id in self._unwanted:
                self._unwanted.discard(job_id)
                self._session.client().jobs.cancel(job_id, chat=job.chat)
        self._bars.draw([*self._jobs.values()], time.monotonic() - self._began)
        return len(self._results) < len(self._jobs)

    def _made(self, job: Job) -> JobResult:
        if job.error == GONE:
            return JobResult(job, job_bundle(job, 0.0))
        spent = sum(len(one.shown["text/html"]) for one in self._results.values())
        notes = () if self._results else self._notes
        return made(self._session, job, notes, pictured=spent < PICTURED_BYTES)

    def _late(self) -> bool:
        return self._timeout is not None and time.monotonic() - self._began >= self._timeout

    def _unfinished(self, job: Job) -> JobResult:
        line = f"It has not ended within {self._timeout:g} s and goes on: `%jobs show {label(job.job_id, 64)}`"
        return made(self._session, job, (*self._notes, line))


class BackgroundJob(BackgroundJobs[JobResult]):
    """A job in the background. Attributes of its result wait for the job's end; can be awaited.

    Example: `later.files`, `later.data`, `await later`; without waiting `later.done()`, `later.cancel()`
    """

    def __init__(
        self,
        session: Session,
        job: Job,
        bars: Bars,
        *,
        timeout: float | None = None,
        raise_error: bool = True,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.job_id = job.job_id

        def judged(left: list[JobResult]) -> JobResult:
            judge(left[0].job, left[0], False, raise_error)
            return left[0]

        super().__init__(session, [job], bars, judged, timeout=timeout, notes=notes)

    @property
    def waited_for(self) -> str | None:
        return self.job_id

    @property
    def job(self) -> Job:
        return self.wait().job

    @property
    def data(self) -> dict[str, Any] | None:
        return self.wait().data

    @property
    def files(self) -> ResultFiles:
        return self.wait().files


def look(session: Session, row: Mapping[str, Any]) -> Job:
    """Read a job's state from the service, and record it in the journal.

    A job that this account does not have (404) is returned as failed with `GONE`. Raises the client's other errors.
    """
    try:
        job: Job = session.client().jobs.status(row["job_id"], chat=row["chat"])
    except StefanBrainError as error:
        if error.status != 404:
            raise
        known = {name: row[name] for name in ("job_id", "tool", "chat")}
        job = Job(**known, status="failed", is_error=True, error=GONE)
    seen_job(session, job)
    return job


def start(
    session: Session,
    tool: str,
    given: Mapping[str, Any],
    bars: Bars,
    *,
    timeout: float | None = None,
    raise_error: bool = True,
) -> BackgroundJob:
    """Submit a job and return at once; `wait` of the returned future gives its result. Arguments as `foreground.work`.

    Raises `AskError` when the service refuses the job; later errors are raised by `wait`.
    """
    accepted = submit(session, tool, given)
    later = BackgroundJob(
        session, begun(accepted), bars, timeout=timeout, raise_error=raise_error, notes=session.take_notes()
    )
    session.apart.add(accepted.job_id)
    later.begin()
    return later
