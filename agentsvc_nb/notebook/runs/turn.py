"""A run from its opening to its one output: follow it, leave what came of it, fail the cell when the run failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.display.approval import why_late
from agentsvc_nb.notebook.display.file_table import files_bundle, records_bundle
from agentsvc_nb.notebook.display.render import Extras, answer_bundle
from agentsvc_nb.notebook.display.screens import Screen
from agentsvc_nb.notebook.display.transcript import Transcript
from agentsvc_nb.notebook.failures import AskError, RunFailed, RunStopped, told
from agentsvc_nb.notebook.files.listing import fetcher
from agentsvc_nb.notebook.memory.session import Session
from agentsvc_nb.notebook.runs import ending
from agentsvc_nb.notebook.runs.answer import Answer
from agentsvc_nb.notebook.runs.feed import Feed
from agentsvc_nb.notebook.runs.follow import follow
from agentsvc_nb.notebook.runs.shape import Shape
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.runs import Run

if TYPE_CHECKING:
    from agentsvc_nb.client.surface import AgentService


@dataclass
class Turn:
    """A run being watched: by whom, where, and what to do with its end.

    `timeout` is in seconds, `notes` are lines of the output, `shape` is what the answer must look like, `again` says
    that the run is known and shown again, `hint` what to do when it failed.
    """

    session: Session
    client: AgentService
    feed: Feed
    screen: Screen
    timeout: float | None = None
    raise_error: bool = True
    notes: tuple[str, ...] = ()
    shape: Shape | None = None
    again: bool = False
    hint: str = "--no-raise-error keeps the cell going."
    view: Transcript = field(default_factory=Transcript)

    def watch(self, on_open: Callable[[Run], None] = lambda run: None) -> Answer:
        """Follow the run, leave its one output, and return the answer.

        Raises:
            AskError: it was not started, or its stream broke for good.
            RunFailed: it failed, was cancelled elsewhere, or has not ended in time (not with `raise_error=False`).
            RunStopped: the cell was interrupted.
        """
        view = self.view

        def opened(run: Run) -> None:
            self.session.known.asked[run.run_id] = view.asked
            on_open(run)

        try:
            end = follow(
                self.feed,
                view,
                self.screen,
                timeout=self.timeout,
                on_open=opened,
                closing=self.session.closing,
            )
            if end == "ended" and not view.ended:
                view.settle(self.client.runs.get(view.run_id))
        except (AskError, StefanBrainError) as error:
            raise self._broken(error) from None
        if not view.run_id:
            self.screen.clear()
            raise ending.unstarted(end, view.waiting, self.timeout)
        why = why_late(view.asked.values())
        answer = self._leave(ending.note(end, view.run_id, self.timeout, why))
        if failed := ending.failure(end, answer.run, self.timeout, why, self.hint):
            self._fail(failed, answer)
        return answer

    def _fail(self, failure: RunFailed | RunStopped, answer: Answer) -> None:
        failure.answer = answer
        if self.raise_error or isinstance(failure, RunStopped):
            raise failure

    def _broken(self, error: AskError | StefanBrainError) -> AskError:
        """What was said so far stays, but where nothing began."""
        run_id, service = self.view.run_id, self.session.base_url
        if not run_id:
            self.screen.clear()
            return error if isinstance(error, AskError) else told(error, service)
        failure = ending.lost(error, f"run {run_id}", f"%runs attach {run_id}", service)
        failure.answer = self._leave(str(failure), failure.hint, pictured=False)
        return failure

    def _leave(self, *ends: str, pictured: bool = True) -> Answer:
        view, run = self.view, self.view.record
        if view.run is not None:
            self.session.journal.seen(view.run)
        files = [
            WorkspaceFile.model_validate({"id": "", "run_id": run.run_id, **payload}) for payload in view.files.values()
        ]
        fetch = fetcher(self.client, run.chat) if pictured else None
        table = files_bundle(files, fetch, "Files of this run") if files else None
        notes = tuple(line for line in (*self.session.take_notes(), *self.notes, *ends) if line)
        bundle = answer_bundle(view, Extras(notes, table, self._records(run)))
        self.screen.finish(bundle, {"agentsvc_nb": {"run_id": run.run_id, "chat": run.chat, "status": str(run.status)}})
        return Answer(run, view.text, bundle, files, self.shape, self.again, self.session.journal.inputs(run.run_id))

    def _records(self, run: Run) -> dict[str, str] | None:
        if run.structured_output is None or self.shape is None or not self.shape.records:
            return None
        return records_bundle(self.shape.columns, self.shape.rows(run.structured_output))
