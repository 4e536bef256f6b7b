"""The notebook's jobs: list them, watch several at once, cancel them, download their files."""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, Final

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.models import frame
from agentsvc_nb.notebook.display import results
from agentsvc_nb.notebook.display.render import Bundle, mark, moment, stacked
from agentsvc_nb.notebook.display.results import PrintedText, ResultTable, Row, code, grid
from agentsvc_nb.notebook.display.screens import Bar
from agentsvc_nb.notebook.errors import AskError, RunFailed, RunStopped
from agentsvc_nb.notebook.jobs.background import BARS, BackgroundJobs, Bars, look
from agentsvc_nb.notebook.jobs.foreground import LOOK_SECONDS, JobResult, follow, job_bundle, lost
from agentsvc_nb.notebook.state.session import Session, errors_as_cells, remembered_jobs, seen_job
from agentsvc_nb.wire.tools import JOB_TERMINAL, Job, JobAccepted

_ID_CHARS: Final = 8


def jobs(session: Session) -> ResultTable:
    """List this notebook's jobs, oldest first; the state of active ones is read from the service.

    Raises `AskError` when the service cannot be asked.
    """
    for row in remembered_jobs(session):
        if _active(session, row):
            with errors_as_cells(session):
                look(session, row)
    return _table(session, remembered_jobs(session))


def jobs_tend(session: Session, bars: Bars, wanted: Iterable[str] = (), *, timeout: float | None = None) -> Any:
    """Watch jobs in the background: as `jobs_watch`, but returns at once, with a future of the table.

    Without any job to watch, returns the empty table itself. Raises `AskError` when a job is not known.
    """
    rows = _chosen(session, wanted)
    if not rows:
        return _table(session, [])
    jobs = [Job(**{name: row[name] for name in ("job_id", "tool", "chat", "status")}) for row in rows]

    def finish(left: Sequence[JobResult]) -> ResultTable:
        return _ended(session, {one.job.job_id for one in left}, timeout)

    later = BackgroundJobs(session, jobs, bars, finish, timeout=timeout, notes=session.take_notes())
    later.begin()
    return later


def jobs_watch(session: Session, bar: Bar, wanted: Iterable[str] = (), *, timeout: float | None = None) -> ResultTable:
    """Show a bar for each of these jobs until all have ended, and return their table.

    Without `wanted`, these are all active jobs, and those that were started in the background and not watched since.

    Raises:
        AskError: a job is not known, or the service is gone; the output keeps the progress so far.
        RunFailed: `timeout` seconds have elapsed; its `answer` is the table so far. The jobs go on.
        RunStopped: the cell was interrupted; the jobs go on.
    """
    rows = _chosen(session, wanted)
    began, seen = time.monotonic(), dict[str, Job]()
    try:
        _watch(session, bar, rows, seen, None if timeout is None else began + timeout)
    except KeyboardInterrupt:
        bar.clear()
        raise RunStopped("Watching was stopped; the jobs go on.", "`%jobs cancel JOB` stops one.") from None
    except (AskError, StefanBrainError) as error:
        if seen:
            bar.finish(bars_bundle([*seen.values()], time.monotonic() - began))
        raise lost(session, error, "all jobs", "%jobs watch") from None
    bar.clear()
    return _ended(session, {row["job_id"] for row in rows}, timeout)


def _chosen(session: Session, wanted: Iterable[str]) -> list[dict[str, Any]]:
    """The jobs given; by default all active ones, and background jobs that ended since the last watch."""
    if rows := [_the_job(session, given) for given in wanted]:
        return rows
    # Those that ended in the background are shown once, not with each watch from now on.
    apart, session.apart = session.apart, set()
    return [row for row in remembered_jobs(session) if _active(session, row) or row["job_id"] in apart]


def _ended(session: Session, chosen: Container[str], timeout: float | None) -> ResultTable:
    rows = [row for row in remembered_jobs(session) if row["job_id"] in chosen]
    table, late = _table(session, rows), sum(_active(session, row) for row in rows)
    if late:
        failure = RunFailed(f"{late} of {len(rows)} jobs have not ended within {timeout:g} s; they go on.")
        failure.answer = table
        raise failure
    return table


def _watch(
    session: Session,
    bar: Bar,
    rows: Sequence[Mapping[str, Any]],
    seen: dict[str, Job],
    end: float | None,
) -> None:
    began = time.monotonic()
    seen |= {row["job_id"]: look(session, row) for row in rows}
    while True:
        bar.draw(bars_bundle(list(seen.values()), time.monotonic() - began))
        active = [row for row in rows if not seen[row["job_id"]].ended]
        if not active or (end is not None and time.monotonic() >= end):
            return
        time.sleep(LOOK_SECONDS)
        seen |= {row["job_id"]: look(session, row) for row in active}


def bars_bundle(jobs: Sequence[Job], elapsed: float) -> Bundle:
    """A bar and a line for each of the first 20 jobs, and the number of further ones."""
    more = f"… {len(jobs) - BARS} more"
    line = [{"text/plain": more, "text/html": more}] * (len(jobs) > BARS)
    return stacked([*(job_bundle(job, elapsed) for job in jobs[:BARS]), *line])


def jobs_show(session: Session, given: str, bar: Bar) -> JobResult:
    """Follow an active job again, or show the result of an ended one. Raises as `foreground.work`."""
    row = _the_job(session, given)
    accepted = JobAccepted(tool=row["tool"], family=row["tool"], job_id=row["job_id"], chat=row["chat"])
    return follow(session, accepted, bar)


def jobs_cancel(session: Session, *wanted: str) -> PrintedText:
    """Cancel jobs; safe to repeat. Raises `AskError` when one is not known, or the service fails."""
    lines = []
    for row in [_the_job(session, given) for given in wanted]:
        with errors_as_cells(session):
            job = session.client().jobs.cancel(row["job_id"], chat=row["chat"])
        seen_job(session, job)
        lines.append(f"Job {job.job_id} is {job.status}.")
    return PrintedText("\n".join(lines))


def _the_job(session: Session, given: str) -> dict[str, Any]:
    known = remembered_jobs(session)
    if given == "last" and known:
        return known[-1]
    found = [row for row in known if len(given) >= _ID_CHARS and row["job_id"].startswith(given)]
    if len(found) != 1:
        raise AskError(f"{given!r} is no job of this notebook.", "`%jobs` lists them.")
    return found[0]


def _active(session: Session, row: Mapping[str, Any]) -> bool:
    return row["status"] not in JOB_TERMINAL and row["base_url"] == session.base_url


def _table(session: Session, rows: Sequence[Mapping[str, Any]]) -> ResultTable:
    note = f"{len(rows):,} job{'s' * (len(rows) != 1)}"
    bundle = grid("Jobs", ("job", "tool", "state", "submitted", "ended"), [*map(_row, rows)], [note])
    wanted = [{name: row[name] for name in results.JOBS} for row in rows]
    return ResultTable(bundle, lambda: frame(wanted, results.JOBS, notebook=session.notebook))


def _row(row: Mapping[str, Any]) -> Row:
    return code(row["job_id"], 64), row["tool"], mark(row["status"]), moment(row["created_at"]), moment(row["ended_at"])
