"""The jobs that were submitted from this machine, kept in the journal: the API lists no jobs."""

from __future__ import annotations

from typing import Any

from agentsvc_nb.notebook.memory.journal import now
from agentsvc_nb.notebook.memory.session import Session
from agentsvc_nb.wire.tools import Job, JobAccepted


def add(session: Session, accepted: JobAccepted) -> None:
    """A job was accepted."""
    session.journal.do(
        "INSERT INTO jobs (job_id, created_at, notebook, base_url, tool, chat, status) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (job_id) DO NOTHING",
        [
            *(accepted.job_id, now(), session.notebook or session.label, session.base_url),
            *(accepted.tool or accepted.family, accepted.chat, str(accepted.status)),
        ],
    )


def seen(session: Session, job: Job) -> None:
    """The job's state, as last read."""
    session.journal.do(
        "UPDATE jobs SET status = ?, started_at = ?, ended_at = ? WHERE job_id = ?",
        [str(job.status), job.started_at, job.ended_at, job.job_id],
    )


def jobs(session: Session) -> list[dict[str, Any]]:
    """This notebook's jobs, oldest first."""
    rows = session.journal.do(
        "SELECT * FROM jobs WHERE notebook = ? ORDER BY created_at, rowid", [session.notebook or session.label]
    )
    return [dict(row) for row in rows]
