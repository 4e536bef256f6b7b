"""The jobs of the notebook: list them, watch several at once, show and cancel them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from agentsvc_nb.client.models import frame
from agentsvc_nb.notebook.display import results
from agentsvc_nb.notebook.display.render import format_time, status_label
from agentsvc_nb.notebook.display.results import PrintedText, ResultTable, Row, code, grid
from agentsvc_nb.notebook.display.screens import Bar
from agentsvc_nb.notebook.errors import AskError, RunFailed, RunStopped
from agentsvc_nb.notebook.jobs.follower import (
    BackgroundJobs,
    CellScreen,
    JobFollower,
    JobResult,
    JobScreen,
    follow,
    read_job,
)
from agentsvc_nb.notebook.state.session import Session, convert_errors, record_job_state, recorded_jobs
from agentsvc_nb.wire.tools import JOB_TERMINAL, Job

_ID_CHARS: Final = 8


def jobs(session: Session) -> ResultTable:
    """List this notebook's jobs, oldest first, with current states. Raises `AskError` if the service is unreachable."""
    for row in recorded_jobs(session):
        if _active(session, row):
            with convert_errors(session):
                read_job(session, row)
    return _table(session, recorded_jobs(session))


def watch_in_background(
    session: Session, screen: JobScreen, wanted: Iterable[str] = (), *, timeout: float | None = None
) -> BackgroundJobs[ResultTable] | ResultTable:
    """Watch jobs in the background. Return a future whose result is the table that `jobs_watch` would return.

    Without jobs to watch, return an empty table. Raises `AskError` when a job is unknown.
    """
    jobs = _resolve_jobs(session, wanted)
    if not jobs:
        return _table(session, [])
    follower = JobFollower(session, jobs, screen, timeout=timeout)
    return BackgroundJobs(follower, lambda results: _finish_watch(session, results, timeout))


def jobs_watch(session: Session, bar: Bar, wanted: Iterable[str] = (), *, timeout: float | None = None) -> ResultTable:
    """Show a progress bar for each of these jobs until all have ended, and return a table of the jobs.

    Without `wanted`, watch all active jobs, and background jobs that were not watched since they started.

    Raises:
        AskError: a job is unknown, or the connection to the service was lost. The output keeps the progress so far.
        RunFailed: the jobs did not end within `timeout` seconds. The exception's `answer` is the table so far. The jobs
            continue.
        RunStopped: the user interrupted the cell. The jobs continue.
    """
    follower = JobFollower(session, _resolve_jobs(session, wanted), CellScreen(bar), timeout=timeout, whole=False)
    try:
        results = follower.follow()
    except KeyboardInterrupt:
        bar.clear()
        raise RunStopped(
            "You stopped watching, but the jobs are still active.", "Stop a job with `%jobs cancel JOB`."
        ) from None
    bar.clear()
    return _finish_watch(session, results, timeout)


def _resolve_jobs(session: Session, wanted: Iterable[str]) -> list[Job]:
    """Return the jobs that the user named. Without names, return active jobs, and background jobs not yet watched."""
    rows = [_resolve_job(session, given) for given in wanted]
    if not rows:
        # a background job that has ended is shown once, not by every later watch
        unwatched, session.unwatched_jobs = session.unwatched_jobs, set()
        rows = [row for row in recorded_jobs(session) if _active(session, row) or row["job_id"] in unwatched]
    return [Job(**{name: row[name] for name in ("job_id", "tool", "chat", "status")}) for row in rows]


def _finish_watch(session: Session, results: Sequence[JobResult], timeout: float | None) -> ResultTable:
    chosen = {result.job.job_id for result in results}
    rows = [row for row in recorded_jobs(session) if row["job_id"] in chosen]
    table, late = _table(session, rows), sum(_active(session, row) for row in rows)
    if late:
        failure = RunFailed(
            f"{late} of {len(rows)} jobs did not end within {timeout:g} s and are still active.",
            "Wait again with `%jobs watch`, or stop a job with `%jobs cancel JOB`.",
        )
        failure.answer = table
        raise failure
    return table


def jobs_show(session: Session, given: str, bar: Bar) -> JobResult:
    """Follow an active job, or show the result of a job that has ended. Raises like `follower.follow`."""
    (job,) = _resolve_jobs(session, [given])
    return follow(session, job, bar)


def jobs_cancel(session: Session, *wanted: str) -> PrintedText:
    """Cancel jobs. It is safe to cancel a job twice. Raises `AskError` when a job is unknown, or a request fails."""
    lines = []
    for known in _resolve_jobs(session, wanted):
        with convert_errors(session):
            job = session.client().jobs.cancel(known.job_id, chat=known.chat)
        record_job_state(session, job)
        lines.append(f"Job {job.job_id} is {job.status}.")
    return PrintedText("\n".join(lines))


def _resolve_job(session: Session, given: str) -> dict[str, Any]:
    known = recorded_jobs(session)
    if given == "last" and known:
        return known[-1]
    found = [row for row in known if len(given) >= _ID_CHARS and row["job_id"].startswith(given)]
    if len(found) != 1:
        raise AskError(f"{given!r} matches no job of this notebook, or more than one.", "List the jobs with `%jobs`.")
    return found[0]


def _active(session: Session, row: Mapping[str, Any]) -> bool:
    return row["status"] not in JOB_TERMINAL and row["base_url"] == session.base_url


def _table(session: Session, rows: Sequence[Mapping[str, Any]]) -> ResultTable:
    note = f"{len(rows):,} job{'s' * (len(rows) != 1)}"
    bundle = grid("Jobs", ("job", "tool", "state", "submitted", "ended"), [*map(_row, rows)], [note])
    wanted = [{name: row[name] for name in results.JOBS} for row in rows]
    return ResultTable(bundle, lambda: frame(wanted, results.JOBS, notebook=session.notebook))


def _row(row: Mapping[str, Any]) -> Row:
    return (
        code(row["job_id"], 64),
        row["tool"],
        status_label(row["status"]),
        format_time(row["created_at"]),
        format_time(row["ended_at"]),
    )
