"""How a watched run ended, in words: a line in its output, and the failure of its cell."""

from __future__ import annotations

from agentsvc_nb.client.errors import APIConnectionError, StefanBrainError
from agentsvc_nb.notebook.display.render import why_failed
from agentsvc_nb.notebook.failures import AskError, RunFailed, RunStopped, told
from agentsvc_nb.notebook.runs.follow import End
from agentsvc_nb.wire.runs import Run


def note(end: End, run_id: str, timeout: float | None, why: str = "") -> str:
    """What the output says of an end that is not the run's own; empty for that. `why` is what a late run waits for."""
    if end == "left":
        return f"Left: the run may still be running; `%runs attach {run_id}` follows it."
    if end == "late":
        return f"Not ended within {timeout:g} s; the run goes on.{why}"
    return ""


def gone(error: AskError | StefanBrainError) -> bool:
    """Whether the service is not there any more: it does not answer, and the embedded one does not start again."""
    cause = error.error if isinstance(error, AskError) else error
    return cause is None or isinstance(cause, APIConnectionError)


def lost(error: AskError | StefanBrainError, what: str, again: str, service: str) -> AskError:
    """Why the cell fails when `what`, a run or job, can't be watched to its end; `again` follows it later.

    What came of it so far is the reader's: who raises this leaves that in the output, with the two lines of this.
    """
    failure = error if isinstance(error, AskError) else told(error, service)
    how = "The service went away" if gone(error) else "The service sent no more"
    there = failure.hint if isinstance(error, AskError) else f"The service in use is {service}."
    shown = AskError(f"{how} before {what} ended: {failure}", f"`{again}` follows it once the service is back. {there}")
    shown.error = failure.error
    return shown


def unstarted(end: End, waiting: str, timeout: float | None) -> AskError | RunFailed | RunStopped:
    """Why the cell fails when no run began while it was watched."""
    if end == "left":
        return RunStopped("The cell was stopped before its run began; a start on its way is cancelled.")
    if waiting:
        busy = AskError(f"The chat was busy with run {waiting} for {timeout:g} s; nothing was started.")
        busy.refused = True
        return busy
    return RunFailed(f"The start was not answered within {timeout:g} s; it may go on.", "Run the cell again.")


def failure(end: End, run: Run, timeout: float | None, why: str = "", hint: str = "") -> RunFailed | RunStopped | None:
    """Why the cell fails; None when the run completed while it was watched. `hint` is what to do of one that failed."""
    follows = f"`%runs attach {run.run_id}` follows it, `%runs cancel {run.run_id}` stops it."
    if end == "left":
        return RunStopped(f"The cell was stopped; run {run.run_id} may still be running.", follows)
    if end == "stopped":
        return RunStopped(f"The cell was stopped; run {run.run_id} {_outcome(run)}.")
    if end == "late":
        return RunFailed(f"Run {run.run_id} has not ended within {timeout:g} s; it goes on.{why}", follows)
    if run.status == "completed":
        return None
    return RunFailed(f"Run {run.run_id} {_outcome(run)}.", hint)


def _outcome(run: Run) -> str:
    if run.status == "failed":
        return f"failed: {why_failed(run).rstrip('.')}"
    return {"cancelled": "was cancelled", "completed": "had completed"}.get(str(run.status), f"is {run.status}")
