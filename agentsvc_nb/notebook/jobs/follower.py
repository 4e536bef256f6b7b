"""Submit jobs and follow them to their results, in the running cell or in a thread while other cells run."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from agentsvc_nb import clock
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.ask import follower as runs
from agentsvc_nb.notebook.ask.background import BackgroundResult
from agentsvc_nb.notebook.ask.follower import CANCEL_SECONDS, SHUTDOWN_SECONDS
from agentsvc_nb.notebook.display.file_table import files_bundle
from agentsvc_nb.notebook.display.render import Bundle, error_bundle
from agentsvc_nb.notebook.display.results import ResultFiles, WorkResult
from agentsvc_nb.notebook.display.screens import Bar, Output
from agentsvc_nb.notebook.errors import AskError, RunFailed, RunStopped, to_ask_error
from agentsvc_nb.notebook.files.workspace import make_fetcher
from agentsvc_nb.notebook.jobs.output import BARS, job_bundle, jobs_bundle, submitted_bundle
from agentsvc_nb.notebook.state.session import Session, convert_errors, record_job, record_job_state
from agentsvc_nb.wire.text import label
from agentsvc_nb.wire.tools import Job, JobAccepted, ToolError

POLL_SECONDS: Final = 1.0
"""The maximum time between two polls, in seconds. It applies even if the service recommends a longer time, because
polling is free.
"""
PICTURED_BYTES: Final = 1_000_000
"""When the output of several jobs has more characters of HTML than this, the results of further jobs get no
thumbnails.
"""
GONE: Final = ToolError(code="job_not_found", message="This account has no such job on the service.")
"""The error of a job for which the service returns 404."""


class JobResult(WorkResult):
    """The result of a job: its `data` and `files`. `files.df` is a DataFrame of the files."""

    def __init__(
        self, job: Job, notes: Sequence[str] = (), files: Bundle | None = None, *, elapsed: float = 0.0
    ) -> None:
        super().__init__(job_bundle(job, elapsed, notes, files), job.files or [], job.chat)
        self.job = job
        self.data = job.data
        self.status = str(job.status)
        self.without_why = job_bundle(job, elapsed, notes, files, why=False)
        """The output above an exception that says why the job failed."""

    def __repr__(self) -> str:
        return f"<JobResult {self.status}, {len(self.files)} files, job {self.job.job_id}>"


class JobScreen:
    """Displays the progress of jobs. This base class displays nothing."""

    def begin(self, jobs: Sequence[Job], cancel: Callable[[str], object]) -> None:
        """Show background jobs in the running cell. Their Cancel buttons call `cancel(id)`, which must be quick."""

    def draw(self, jobs: Sequence[Job], results: Mapping[str, JobResult], elapsed: float) -> None:
        """Show the current state of the jobs.

        `results` has an entry for each job that has ended. `elapsed` is the time in seconds since following began.
        """

    def finish(self, bundle: Bundle) -> None:
        """Replace everything that is shown with this final output."""


class CellScreen(JobScreen):
    """Shows the jobs of the running cell in one output, which a live host updates while the jobs are active."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar

    def draw(self, jobs: Sequence[Job], results: Mapping[str, JobResult], elapsed: float) -> None:
        self._bar.draw(jobs_bundle([job_bundle(job, elapsed) for job in jobs]))

    def finish(self, bundle: Bundle) -> None:
        self._bar.finish(bundle)


class SubmittedScreen(JobScreen):
    """Shows one line per background job, in hosts that cannot update an output."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def begin(self, jobs: Sequence[Job], cancel: Callable[[str], object]) -> None:
        for job in jobs[:BARS]:
            self._output.show(submitted_bundle(job))


class JobFollower:
    """Polls jobs until all end, draws them, and sends cancellations.

    One thread calls `follow`. Any thread may call `cancel`.

    Args:
        timeout: how many seconds to wait for the jobs; None for no limit. The jobs continue after the timeout.
        whole: whether to read the results and show them, with thumbnails of their files. Otherwise, only the states of
            the jobs are shown.
    """

    def __init__(
        self,
        session: Session,
        jobs: Sequence[Job],
        screen: JobScreen,
        *,
        timeout: float | None = None,
        whole: bool = True,
    ) -> None:
        self.session = session
        self.screen = screen
        self.jobs = {job.job_id: job for job in jobs}
        self.results: dict[str, JobResult] = {}
        only = label(jobs[0].job_id, 64) if len(jobs) == 1 else ""
        self.name = f"job {only}" if only else f"{len(jobs)} jobs"
        self.again = f"%jobs show {only}" if only else "%jobs watch"
        """The magic that shows these jobs again."""
        self._timeout = timeout
        self._whole = whole
        self._late: list[str] = []
        self._notes = session.take_notes() if whole else ()
        self._unwanted: set[str] = set()
        self._wake = threading.Event()
        self._began = clock.monotonic()

    def cancel(self, job_id: str = "") -> None:
        """Cancel this job, or without an id, all jobs. Calling `cancel` twice is safe.

        Returns at once. The thread that calls `follow` sends the cancellation.
        """
        self._unwanted |= {job_id} if job_id else set(self.jobs)
        self._wake.set()

    def follow(self) -> list[JobResult]:
        """Poll and draw the jobs until all end or the timeout elapses. Return the results in the order of the jobs.

        Raises `AskError` when a request fails. If the connection was lost, the output keeps the last known state.
        """
        try:
            if not self._poll(self._timeout):
                self._late = [f"The job is still active after {self._timeout:g} s. Follow it with `{self.again}`."]
            return self.known
        except AskError as error:
            raise self._lost(error) if runs.is_connection_lost(error) else error from None
        except StefanBrainError as error:
            gone = runs.is_connection_lost(error)
            raise (self._lost(error) if gone else to_ask_error(error, self.session.base_url)) from None

    def stop(self) -> list[JobResult]:
        """Unless the kernel restarts or shuts down, cancel the jobs and wait up to 5 s for their end.

        Return the results in the order of the jobs.
        """
        patience = CANCEL_SECONDS
        try:
            # A kernel that is shutting down is also interrupted. Whether it is shutting down is known only a moment
            # later (`SHUTDOWN_SECONDS`).
            clock.sleep(SHUTDOWN_SECONDS)
        except KeyboardInterrupt:  # a second interrupt ends the cell at once
            patience = 0.0
        if not self.session.closing():
            self.cancel()
            with contextlib.suppress(KeyboardInterrupt):
                self._poll(patience)
        return self.known

    @property
    def known(self) -> list[JobResult]:
        """The result of each job. For an active job, the result holds the progress so far."""
        elapsed, lines = clock.monotonic() - self._began, (*self._notes, *self._late)
        return [self.results.get(key) or JobResult(job, lines, elapsed=elapsed) for key, job in self.jobs.items()]

    def shown(self, *below: Bundle) -> Bundle:
        """Return one output with the known states of the jobs, and the outputs `below`."""
        return jobs_bundle([*(result.shown for result in self.known), *below])

    def _poll(self, seconds: float | None) -> bool:
        """Poll the jobs until all have ended or `seconds` have elapsed. Return True if all have ended."""
        end = None if seconds is None else clock.monotonic() + seconds
        while True:
            for job_id in [job_id for job_id in self.jobs if job_id not in self.results]:
                self._poll_job(job_id)
            self.screen.draw([*self.jobs.values()], self.results, clock.monotonic() - self._began)
            active = [job for job_id, job in self.jobs.items() if job_id not in self.results]
            if not active or (end is not None and clock.monotonic() >= end):
                return not active
            hints = [job.recommended_poll_after_ms / 1000 for job in active if job.recommended_poll_after_ms]
            self._wake.wait(min([POLL_SECONDS, *hints]))
            self._wake.clear()

    def _poll_job(self, job_id: str) -> None:
        job = read_job(self.session, self.jobs[job_id].model_dump())
        if job_id in self._unwanted and not job.ended:
            job = self.session.client().jobs.cancel(job_id, chat=job.chat)
            self._unwanted.discard(job_id)
        self.jobs[job_id] = job
        if job.ended:
            self.results[job_id] = self._result(job) if self._whole and job.error != GONE else JobResult(job)

    def _result(self, job: Job) -> JobResult:
        """Request the result of a job that has ended."""
        client = self.session.client()
        with convert_errors(self.session):
            self.jobs[job.job_id] = job = client.jobs.result(job.job_id, chat=job.chat)
        spent = sum(len(one.shown["text/html"]) for one in self.results.values())
        fetch = make_fetcher(client, job.chat) if spent < PICTURED_BYTES else None
        files = files_bundle(job.files, fetch, "Files of this job") if job.files else None
        notes, self._notes = self._notes, ()
        return JobResult(job, notes, files)

    def _lost(self, error: AskError | StefanBrainError) -> AskError:
        """Return the exception for a lost connection. The output keeps the last known progress of the jobs."""
        failure = runs.connection_lost_error(error, self.name, self.again, self.session.base_url)
        self.screen.finish(self.shown(error_bundle(str(failure), failure.hint)))
        if len(self.jobs) == 1:
            self._late = [str(failure), failure.hint]
            (failure.answer,) = self.known
        return failure


def submit(session: Session, tool: str, given: Mapping[str, Any]) -> Job:
    """Submit a job in this notebook's chat, and record it in the journal.

    Raises `AskError` if the service refuses the job or can't be reached.
    """
    client, address = session.client(), session.address()
    try:
        accepted = client.jobs.submit(
            tool,
            dict(given),
            **session.call_target(address),
            # With an idempotency key, the client can repeat the request after a lost response, and no second job is
            # created.
            idempotency_key=secrets.token_urlsafe(24),
        )
    except StefanBrainError as error:
        raise to_refusal_error(session, error, tool, jobs=True) from None
    session.remember_chat(address, accepted.chat)
    return accept(session, accepted)


def accept(session: Session, accepted: JobAccepted) -> Job:
    """Record in the journal a job that the service has accepted. Return the job's state before the first poll."""
    record_job(session, accepted)
    return Job(**accepted.model_dump(include={"tool", "family", "job_id", "chat", "status"}))


def follow(
    session: Session, job: Job, bar: Bar, *, timeout: float | None = None, raise_error: bool = True
) -> JobResult:
    """Follow a job in the running cell until it ends. An interrupt cancels the job.

    Args:
        timeout: how many seconds to wait for the job; None for no limit. The job continues after the timeout.

    Raises:
        AskError: the connection to the service was lost.
        RunFailed: the job failed, was cancelled elsewhere, or did not end in time. Not raised if `raise_error` is
            False.
        RunStopped: the user interrupted the cell.
    """
    follower = JobFollower(session, [job], CellScreen(bar), timeout=timeout)
    stopped = None
    try:
        (result,) = follower.follow()
    except KeyboardInterrupt:
        (result,) = follower.stop()
        stopped = RunStopped(f"The cell was stopped. Job {_job_label(result.job)} is {label(result.status, 30)}.")
        stopped.answer = result
    told_below = raise_error and result.status == "failed" and not stopped
    bar.finish(result.without_why if told_below else result.shown)
    if stopped:
        raise stopped
    return _raise_if_failed(result) if raise_error else result


def work(
    session: Session,
    tool: str,
    given: Mapping[str, Any],
    bar: Bar,
    *,
    timeout: float | None = None,
    raise_error: bool = True,
) -> JobResult:
    """Submit a job in this notebook's chat and follow it. Raises like `submit` and `follow`."""
    return follow(session, submit(session, tool, given), bar, timeout=timeout, raise_error=raise_error)


def _job_label(job: Job) -> str:
    return f"{label(job.job_id, 64)} ({label(job.tool, 60)})"


def _raise_if_failed(result: JobResult) -> JobResult:
    """Return the result if the job succeeded. Otherwise raise `RunFailed` with the result as its `answer`."""
    job = result.job
    if job.status == "succeeded" and not job.is_error:
        return result
    known = {"failed": "failed", "cancelled": "was cancelled", "succeeded": "returned an error"}
    outcome = known.get(job.status, f"is {label(job.status, 30)}")
    why = f": {label(job.error.message or job.error.code, 300)}" if job.error else ""
    failed = RunFailed(f"Job {_job_label(job)} {outcome}{why}", "Add `--no-raise-error` to continue after a failure.")
    failed.answer = result
    raise failed


def read_job(session: Session, row: Mapping[str, Any]) -> Job:
    """Request a job's state from the service, and record it in the journal. `row` has `job_id`, `tool` and `chat`.

    If this account has no such job (404), return it as failed with the error `GONE`. If the request fails otherwise,
    raises `StefanBrainError`.
    """
    try:
        job: Job = session.client().jobs.status(row["job_id"], chat=row["chat"])
    except StefanBrainError as error:
        if error.status != 404:
            raise
        known = {name: row[name] for name in ("job_id", "tool", "chat")}
        job = Job(**known, status="failed", is_error=True, error=GONE)
    record_job_state(session, job)
    return job


def to_refusal_error(session: Session, error: StefanBrainError, tool: str, *, jobs: bool) -> AskError:
    """Convert a refusal of a call or job to an `AskError` that lists the tools or says how to see the tool's input."""
    failure = to_ask_error(error, session.base_url)
    if error.code == "tool_not_found":
        with contextlib.suppress(StefanBrainError):  # without a list of the tools, the error has no hint
            tools = session.client().tools.list()
            names = sorted(label(tool.name, 64) for tool in tools if tool.asynchronous or not jobs)
            what = "tools for jobs" if jobs else "tools"
            failure.hint = f"Use one of the {what}: {', '.join(names)}." if names else f"The service has no {what}."
    elif error.code == "invalid_tool_input":
        failure.hint = f"See the input that it expects with `%tools {label(tool, 64)}`."
    return failure


K = TypeVar("K")


class BackgroundJobs(BackgroundResult[K]):
    """A future for background jobs. `finish` converts their results to the value that `wait` returns.

    Create it in the cell that starts the jobs: this shows the jobs in the cell and starts the thread that follows them.

    `later.wait()` and `await later` wait for the result. `later.done()`, `later.status` and `later.cancel()` return at
    once.
    """

    def __init__(self, follower: JobFollower, finish: Callable[[list[JobResult]], K]) -> None:
        super().__init__()
        self._follower = follower
        self._finish = finish
        self.cancel = follower.cancel
        follower.screen.begin([*follower.jobs.values()], follower.cancel)
        self.start()

    @property
    def status(self) -> str:
        """The last known state of each job. Returns at once."""
        return ", ".join(str(job.status) for job in self._follower.jobs.values())

    @property
    def name(self) -> str:
        return self._follower.name

    def compute(self) -> K:
        results = self._follower.follow()
        self._follower.screen.finish(self._follower.shown())
        return self._finish(results)

    def show_error(self, error: BaseException) -> None:
        """Show the results and progress so far, and the error below them."""
        why = error_bundle(str(error), getattr(error, "hint", "") or "List the jobs with `%jobs`.")
        self._follower.screen.finish(self._follower.shown(why))

    def _mimebundle(self) -> Bundle:
        return self._follower.shown()


class BackgroundJob(BackgroundJobs[JobResult]):
    """A future for one background job. Reading an attribute of the result waits for the end of the job.

    `later.files`, `later.data` and `await later` wait. `later.done()` and `later.cancel()` return at once.
    """

    def __init__(self, follower: JobFollower, *, raise_error: bool = True) -> None:
        (self.job_id,) = follower.jobs
        super().__init__(follower, lambda results: _raise_if_failed(results[0]) if raise_error else results[0])

    @property
    def work_id(self) -> str | None:
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


def start(
    session: Session,
    tool: str,
    given: Mapping[str, Any],
    screen: JobScreen,
    *,
    timeout: float | None = None,
    raise_error: bool = True,
) -> BackgroundJob:
    """Submit a job and return a future at once. The arguments have the same meaning as for `work`.

    Raises `AskError` when the service refuses the job or can't be reached. `wait` raises errors that occur later.
    """
    job = submit(session, tool, given)
    session.unwatched_jobs.add(job.job_id)
    return BackgroundJob(JobFollower(session, [job], screen, timeout=timeout), raise_error=raise_error)
