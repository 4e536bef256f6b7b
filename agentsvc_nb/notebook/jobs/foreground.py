"""One tool job in the foreground: submit it, show its progress bar, then its result."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.ask import follower
from agentsvc_nb.notebook.ask.follower import CANCEL_SECONDS, SHUTDOWN_SECONDS
from agentsvc_nb.notebook.display.file_table import files_bundle
from agentsvc_nb.notebook.display.markdown import LINE_CHARS, line_html, to_html
from agentsvc_nb.notebook.display.render import Bundle, mark, percent, seconds_of, status_html
from agentsvc_nb.notebook.display.results import WorkResult
from agentsvc_nb.notebook.display.screens import Bar
from agentsvc_nb.notebook.errors import AskError, RunFailed, RunStopped, to_ask_error
from agentsvc_nb.notebook.files.workspace import fetcher
from agentsvc_nb.notebook.state.session import Session, errors_as_cells, remember_job, seen_job
from agentsvc_nb.wire.limits import JOB_POLL_SECONDS
from agentsvc_nb.wire.text import escape, label, plain
from agentsvc_nb.wire.tools import Job, JobAccepted

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService


class JobResult(WorkResult):
    """The result of a job: `result.files` (as a table: `result.files.df`), or `result.data`."""

    def __init__(self, job: Job, bundle: Bundle) -> None:
        super().__init__(bundle, job.files or [], job.chat)
        self.job = job
        self.data = job.data

    @property
    def status(self) -> str:
        return str(self.job.status)

    def __repr__(self) -> str:
        return f"<JobResult {self.status}, {len(self.files)} files, job {self.job.job_id}>"


LOOK_SECONDS: Final = 1.0
"""The longest interval between two polls, even if the service recommends a longer one: reading a job is free."""


def work(
    session: Session,
    tool: str,
    given: Mapping[str, Any],
    bar: Bar,
    *,
    timeout: float | None = None,
    raise_error: bool = True,
    sleep: Callable[[float], None] = time.sleep,
) -> JobResult:
    """Submit a job in this notebook's chat and follow it until it ends; an interrupt cancels it.

    Args:
        tool: the tool's name.
        given: the tool's input.
        timeout: in seconds; None for no limit. The job goes on after it.

    Raises:
        AskError: the service refused the job, or the connection to it was lost.
        RunFailed: the job failed, was cancelled elsewhere, or has not ended in time (not with `raise_error=False`).
        RunStopped: the cell was interrupted.
    """
    return follow(session, submit(session, tool, given), bar, timeout=timeout, raise_error=raise_error, sleep=sleep)


def submit(session: Session, tool: str, given: Mapping[str, Any]) -> JobAccepted:
    """Submit a job in this notebook's chat and record it in the journal.

    Raises `AskError` when the service refuses the job.
    """
    client, address = session.client(), session.address()
    try:
        accepted = client.jobs.submit(
            tool,
            dict(given),
            **session.target(address),
            # With a key, the client may send the start again after a lost response, and there is still one job.
            idempotency_key=secrets.token_urlsafe(24),
        )
    except StefanBrainError as error:
        raise refusal(session, error, tool, jobs=True) from None
    session.learn(address, accepted.chat)
    remember_job(session, accepted)
    return accepted


def begun(accepted: JobAccepted) -> Job:
    """Return the job as known from the response to its submission, before it is first polled."""
    return Job(**accepted.model_dump(include={"tool", "family", "job_id", "chat", "status"}))


def follow(
    session: Session,
    accepted: JobAccepted,
    bar: Bar,
    *,
    timeout: float | None = None,
    raise_error: bool = True,
    sleep: Callable[[float], None] = time.sleep,
) -> JobResult:
    """Follow an accepted job until it ends. Arguments and errors as in `work`."""
    watch = _JobPoller(session.client(), accepted, bar, sleep, session.closing)
    try:
        job, stopped = watch.follow(timeout)
        seen_job(session, job)
        result = leave(session, job, bar, told_below=raise_error and job.status == "failed" and not stopped)
    except (AskError, StefanBrainError) as error:
        raise _broken(session, error, watch) from None
    judge(result.job, result, stopped, raise_error)
    return result


def lost(session: Session, error: AskError | StefanBrainError, what: str, again: str) -> AskError:
    """Convert an error of the client while jobs were followed; `again` is the magic that follows `what` later."""
    if follower.gone(error):
        return follower.lost(error, what, again, session.base_url)
    return error if isinstance(error, AskError) else to_ask_error(error, session.base_url)


def _broken(session: Session, error: AskError | StefanBrainError, watch: _JobPoller) -> AskError:
    """Return the exception of a cell that followed a job; if the service is gone, the output keeps the progress."""
    job_id = watch.job.job_id
    failure = lost(session, error, f"job {label(job_id, 64)}", f"%jobs show {label(job_id, 64)}")
    if follower.gone(error):
        notes = (*session.take_notes(), str(failure), failure.hint)
        result = JobResult(watch.job, job_bundle(watch.job, watch.elapsed, notes))
        watch.bar.finish(result.shown)
        failure.answer = result
    return failure


def refusal(session: Session, error: StefanBrainError, tool: str, *, jobs: bool) -> AskError:
    """Convert the service's refusal of a tool or job; for an unknown tool, the hint names those that exist, and for a
    wrong input what says the right one."""
    failure = to_ask_error(error, session.base_url)
    if error.code == "tool_not_found":
        with contextlib.suppress(StefanBrainError):  # without the list, the refusal is still reported
            tools = session.client().tools.list()
            names = sorted(label(tool.name, 64) for tool in tools if tool.asynchronous or not jobs)
            what = "tools for jobs" if jobs else "tools"
            failure.hint = f"The {what} are: {', '.join(names)}." if names else f"The service has no {what}."
    elif error.code == "invalid_tool_input":
        failure.hint = f"`%tools {label(tool, 64)}` says what it takes."
    return failure


class _JobPoller:
    """Polls one job, draws its bar, and cancels it on an interrupt. `job` is the job as last read."""

    def __init__(
        self,
        client: AgentService,
        accepted: JobAccepted,
        bar: Bar,
        sleep: Callable[[float], None],
        closing: Callable[[], bool],
    ) -> None:
        self.client = client
        self.accepted = accepted
        self.bar = bar
        self.sleep = sleep
        self.closing = closing
        self.began = time.monotonic()
        self.job = begun(accepted)

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.began

    def follow(self, timeout: float | None) -> tuple[Job, bool]:
        """Poll until the job ends or `timeout` seconds pass; return it as last seen, and whether it was interrupted."""
        try:
            self._until(timeout)
            return self.job, False
        except KeyboardInterrupt:
            self._stop()
            return self.job, True

    def _stop(self) -> None:
        """Cancel the job and wait for its end, unless the kernel is being restarted or closed (docs/decisions/0017)."""
        patience = CANCEL_SECONDS
        try:
            # An interrupt may be the first sign of a restart: only a moment later is it known (`SHUTDOWN_SECONDS`).
            self.sleep(SHUTDOWN_SECONDS)
        except KeyboardInterrupt:  # a second one: the cell ends at once
            patience = 0.0
        if not self.closing():
            with contextlib.suppress(KeyboardInterrupt):
                self.client.jobs.cancel(self.job.job_id, chat=self.accepted.chat)
                self._until(patience)

    def _until(self, seconds: float | None) -> None:
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            self.job = self.client.jobs.status(self.job.job_id, chat=self.accepted.chat)
            self.bar.draw(job_bundle(self.job, self.elapsed))
            if self.job.ended or (end is not None and time.monotonic() >= end):
                return
            hint = self.job.recommended_poll_after_ms
            self.sleep(min(LOOK_SECONDS, hint / 1000 if hint else JOB_POLL_SECONDS))


def leave(session: Session, job: Job, bar: Bar, *, told_below: bool = False) -> JobResult:
    """Write the final output of a job, and return its result.

    With `told_below` the output leaves out why the job failed: the exception below it says that.
    """
    job, files = _looked_up(session, job, pictured=True)
    notes = session.take_notes()
    result = JobResult(job, job_bundle(job, 0.0, notes, files))
    bar.finish(job_bundle(job, 0.0, notes, files, why=False) if told_below else result.shown)
    return result


def made(session: Session, job: Job, notes: tuple[str, ...] = (), *, pictured: bool = True) -> JobResult:
    """Return the result of a job, read from the service once it has ended.

    Its table of files has thumbnails if `pictured`. Raises `AskError` when the service fails.
    """
    job, files = _looked_up(session, job, pictured=pictured)
    return JobResult(job, job_bundle(job, 0.0, notes, files))


def _looked_up(session: Session, job: Job, *, pictured: bool) -> tuple[Job, Bundle | None]:
    client = session.client()
    if job.ended:
        with errors_as_cells(session):
            job = client.jobs.result(job.job_id, chat=job.chat)
    fetch = fetcher(client, job.chat) if pictured else None
    return job, files_bundle(job.files, fetch, "Files of this job") if job.files else None


def judge(job: Job, result: JobResult, stopped: bool, raise_error: bool) -> None:
    """Raise the exception of a cell whose job did not succeed; its `answer` is the result.

    Raises `RunStopped` if the cell was interrupted (`stopped`), else with `raise_error` `RunFailed`.
    """
    name = f"{label(job.job_id, 64)} ({label(job.tool, 60)})"
    if stopped:
        halted = RunStopped(f"The cell was stopped; job {name} is {label(job.status, 30)}.")
        halted.answer = result
        raise halted
    if job.status == "succeeded" and not job.is_error:
        return
    why = f": {label(job.error.message or job.error.code, 300)}" if job.error else ""
    failed = RunFailed(f"Job {name} {_outcome(job)}{why}", "`--no-raise-error` keeps the cell going.")
    failed.answer = result
    if raise_error:
        raise failed


def _outcome(job: Job) -> str:
    """What became of a job that did not succeed, as a sentence about it says it."""
    known = {"failed": "failed", "cancelled": "was cancelled", "succeeded": "answered with an error"}
    return known.get(job.status, f"is {label(job.status, 30)}")


def job_doing(job: Job) -> list[str]:
    """Return a job's state, its tool, and its progress message."""
    pieces = [mark(str(job.status)), label(job.tool, 60)]
    if job.progress is not None and job.progress.message and not job.ended:
        pieces.append(label(job.progress.message, 80))
    return pieces


def job_amounts(job: Job, elapsed: float) -> list[str]:
    """Return a job's progress in percent until it has ended, and its seconds: `elapsed`, or by the service's clock."""
    progress, seconds = job.progress, seconds_of(job)
    amount = percent(progress.done, progress.total) if progress and not job.ended else ""
    return [*([amount] if amount else []), f"{elapsed if seconds is None else seconds:.1f} s"]


def job_bundle(
    job: Job, elapsed: float, notes: Sequence[str] = (), files: Bundle | None = None, *, why: bool = True
) -> Bundle:
    """A job's progress bar, and once it has ended its result; of one that failed it says `why`."""
    state, *now = job_doing(job)
    pieces = [state, *now[:1], *job_amounts(job, elapsed), *now[1:], label(job.job_id, 64)]
    said = [plain(str(block.get("text", ""))) for block in job.content if block.get("type") == "text"]
    if job.error is not None:
        said = [text for text in said if text != plain(job.error.message)]
        said[:0] = [f"{label(job.error.code, 80)}: {plain(job.error.message)}"] * why
    tables, lines = [files] if files else [], [label(note, LINE_CHARS) for note in notes]
    html_parts = [
        bar_html(job),
        status_html(pieces),
        *map(line_html, lines),
        *(to_html(text) for text in said),
        *(table["text/html"] for table in tables),
    ]
    text = [*said, *(table["text/plain"] for table in tables), *lines, " · ".join(pieces)]
    return {"text/plain": "\n\n".join(text), "text/html": "".join(html_parts)}


def bar_html(job: Job) -> str:
    """Return a job's progress bar, named for screen readers: indeterminate without a total, empty once it has ended."""
    if job.ended:
        return ""
    done, total = (job.progress.done, job.progress.total) if job.progress else (0, None)
    amount = percent(done, total)
    value = f' value="{amount[:-2]}"' if amount else ""
    return f'<progress max="100"{value} aria-label="{escape(job.tool, 60)}">{amount}</progress>'
