"""Watch a run from its start to its one output, and choose the exception that its cell raises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from agentsvc_nb.client.errors import APIConnectionError, StefanBrainError
from agentsvc_nb.notebook.ask.answer import AnswerShape, CellAnswer
from agentsvc_nb.notebook.ask.follow import End, Feed, follow
from agentsvc_nb.notebook.display.file_table import charts_bundle, files_bundle, records_bundle
from agentsvc_nb.notebook.display.render import answer_bundle, why_failed
from agentsvc_nb.notebook.display.screens import Screen
from agentsvc_nb.notebook.display.sources import sources_html
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.display.waiting_calls import why_late
from agentsvc_nb.notebook.errors import AskError, RunFailed, RunStopped, to_ask_error
from agentsvc_nb.notebook.files.workspace import fetcher, reader
from agentsvc_nb.notebook.state.session import EMBEDDED, Session
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.runs import Run

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService
    from agentsvc_nb.notebook.kernel.desk import KernelDesk


def note(end: End, run_id: str, timeout: float | None, why: str = "") -> str:
    """Return the output's line about a run that is no longer watched but goes on; empty for other ends.

    `why` names what a late run waits for.
    """
    if end == "left":
        return f"Left: the run may still be running; `%runs attach {run_id}` follows it."
    if end == "late":
        return f"Not ended within {timeout:g} s; the run goes on.{why}"
    return ""


def gone(error: AskError | StefanBrainError) -> bool:
    """Whether the error means that the service is gone: no connection, or the embedded service cannot be restarted."""
    cause = error.error if isinstance(error, AskError) else error
    return cause is None or isinstance(cause, APIConnectionError)


def lost(error: AskError | StefanBrainError, what: str, again: str, service: str) -> AskError:
    """Return the exception of a cell that lost the service before `what` (a run or job) ended.

    `again` is the magic that follows `what` later. The caller keeps the partial output, and adds the message and hint
    of this exception to it.
    """
    failure = error if isinstance(error, AskError) else to_ask_error(error, service)
    how = "The service went away" if gone(error) else "The service sent no more"
    there = failure.hint if isinstance(error, AskError) else f"The service in use is {service}."
    shown = AskError(f"{how} before {what} ended: {failure}", f"`{again}` follows it once the service is back. {there}")
    shown.error = failure.error
    return shown


def unstarted(end: End, waiting: str, timeout: float | None) -> AskError | RunFailed | RunStopped:
    """Return the exception of a cell whose run did not start; `waiting` is the run that kept its chat busy, if any."""
    if end == "left":
        return RunStopped("The cell was stopped before its run began; a start on its way is cancelled.")
    if waiting:
        busy = AskError(f"The chat was busy with run {waiting} for {timeout:g} s; nothing was started.")
        busy.refused = True
        return busy
    return RunFailed(f"The start was not answered within {timeout:g} s; it may go on.", "Run the cell again.")


def failure(end: End, run: Run, timeout: float | None, why: str = "", hint: str = "") -> RunFailed | RunStopped | None:
    """Return the exception of a cell whose run did not complete, or None if it did; `hint` is for a failed run.

    `why` names what a late run waits for.
    """
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


@dataclass
class RunWatcher:
    """Watches one run on a screen and turns its end into an answer or an exception.

    Attributes:
        timeout: in seconds; None for no limit.
        notes: lines for the output.
        shape: the shape of the answer's data, if a schema was given.
        again: whether an earlier run is shown again.
        hint: the advice of `RunFailed`.
        view: the state of the run as received so far.
        desk: the run's calls for the user's kernel, if it is offered that.
    """

    session: Session
    client: AgentService
    feed: Feed
    screen: Screen
    timeout: float | None = None
    raise_error: bool = True
    notes: tuple[str, ...] = ()
    shape: AnswerShape | None = None
    again: bool = False
    hint: str = "`--no-raise-error` keeps the cell going."
    view: RunView = field(default_factory=RunView)
    desk: KernelDesk | None = None

    def watch(self, on_open: Callable[[Run], None] = lambda run: None) -> CellAnswer:
        """Follow the run, write its final output, and return the answer; `on_open` is called with the run as started.

        Raises:
            AskError: the run was not started, or its stream broke for good.
            RunFailed: it failed, was cancelled elsewhere, or has not ended in time (not with `raise_error=False`).
            RunStopped: the cell was interrupted.
        """
        view = self.view
        view.own = self.session.base_url == EMBEDDED

        def opened(run: Run) -> None:
            self.session.known.asked[run.run_id] = view.asked
            if self.desk is not None:
                self.session.known.kernel[run.run_id] = self.desk.calls
            on_open(run)

        try:
            end = follow(
                self.feed,
                view,
                self.screen,
                timeout=self.timeout,
                on_open=opened,
                closing=self.session.closing,
                desk=self.desk,
            )
            if end == "ended" and not view.ended:  # the stream ended without the run's last event
                view.settle(self.client.runs.get(view.run_id))
        except (AskError, StefanBrainError) as error:
            raise self._broken(error) from None
        finally:
            if self.desk is not None:
                self.desk.close()
        if not view.run_id:
            self.screen.clear()
            raise unstarted(end, view.waiting, self.timeout)
        why = why_late(view.asked.values())
        answer = self._leave(note(end, view.run_id, self.timeout, why), told_below=self._raises(end))
        if failed := failure(end, answer.run, self.timeout, why, self.hint):
            self._fail(failed, answer)
        return answer

    def _raises(self, end: End) -> bool:
        """Whether the cell itself fails, so that the exception below its output says why.

        A run in the background raises where it is waited for, so that its output has to say it.
        """
        return bool(self.hint) and (self.raise_error or end in ("stopped", "left"))

    def _fail(self, failure: RunFailed | RunStopped, answer: CellAnswer) -> None:
        failure.answer = answer
        if self.raise_error or isinstance(failure, RunStopped):
            raise failure

    def _broken(self, error: AskError | StefanBrainError) -> AskError:
        """Return the exception for a broken stream. The output keeps a partial answer; without a run it is cleared."""
        run_id, service = self.view.run_id, self.session.base_url
        if not run_id:
            self.screen.clear()
            return error if isinstance(error, AskError) else to_ask_error(error, service)
        failure = lost(error, f"run {run_id}", f"%runs attach {run_id}", service)
        failure.answer = self._leave(str(failure), failure.hint, pictured=False)
        return failure

    def _leave(self, *ends: str, pictured: bool = True, told_below: bool = False) -> CellAnswer:
        """Write the final output and return it as an answer; `ends` are extra lines, `pictured` fetches thumbnails.

        With `told_below` the written output leaves out why the run ended: the exception below it says that.
        """
        view, run = self.view, self.view.record
        if view.run is not None:
            self.session.journal.seen(view.run)
        files = [
            WorkspaceFile.model_validate({"id": "", "run_id": run.run_id, **payload}) for payload in view.files.values()
        ]
        fetch = fetcher(self.client, run.chat) if pictured else None
        charts = charts_bundle(files, fetch) if fetch else None
        table = files_bundle(files, fetch, "Files of this run") if files else None
        notes = (*self.session.take_notes(), *self.notes)
        sources = sources_html(view.text, reader(self.client, run.chat)) if pictured else ""
        draw = partial(answer_bundle, view, files=table, records=self._records(run), charts=charts, sources=sources)
        bundle = draw(notes=(*notes, *filter(None, ends)))
        shown = draw(notes=notes, why=False) if told_below else bundle
        self.screen.finish(shown, {"agentsvc_nb": {"run_id": run.run_id, "chat": run.chat, "status": str(run.status)}})
        return CellAnswer(
            run,
            view.text,
            bundle,
            files,
            self.shape,
            self.again,
            self.session.journal.inputs(run.run_id),
            lambda: self.client.runs.tables(run.run_id),
        )

    def _records(self, run: Run) -> dict[str, str] | None:
        if run.structured_output is None or self.shape is None or not self.shape.records:
            return None
        return records_bundle(self.shape.columns, self.shape.rows(run.structured_output))
