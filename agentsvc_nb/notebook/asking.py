"""One question from start to output: plan, journal, follow, leave one output, fail the cell when the run failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook import ending
from agentsvc_nb.notebook.answer import Answer
from agentsvc_nb.notebook.failures import AskError, RunFailed, RunStopped, told
from agentsvc_nb.notebook.feed import Feed, Stream
from agentsvc_nb.notebook.follow import follow
from agentsvc_nb.notebook.journal import Entry
from agentsvc_nb.notebook.question import Question
from agentsvc_nb.notebook.render import Extras, answer_bundle
from agentsvc_nb.notebook.reuse import Plan, plan
from agentsvc_nb.notebook.session import Session
from agentsvc_nb.notebook.stream import Screen
from agentsvc_nb.notebook.tables import Fetch, files_bundle
from agentsvc_nb.notebook.trail import Visit
from agentsvc_nb.notebook.transcript import Transcript
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.runs import Run

if TYPE_CHECKING:
    from agentsvc_nb.client.surface import AgentService


@dataclass
class Turn:
    """A run being watched: by whom, where, and what to do with its end."""

    session: Session
    client: AgentService
    screen: Screen
    timeout: float | None = None
    raise_error: bool = True
    note: str = ""

    def watch(self, open_stream: Callable[[], Stream], on_open: Callable[[Run], None] = lambda run: None) -> Answer:
        """Follow the run, leave its one output, and return the answer.

        Raises:
            AskError: it was not started, or its stream broke for good.
            RunFailed: it failed, was cancelled elsewhere, or has not ended in time (not with `raise_error=False`).
            RunStopped: the cell was interrupted.
        """
        view = Transcript()
        feed = Feed(open_stream, self.client.runs.cancel)
        try:
            end = follow(feed, view, self.screen, timeout=self.timeout, on_open=on_open)
            if end == "ended" and not view.ended:
                view.settle(self.client.runs.get(view.run_id))
        except StefanBrainError as error:
            raise self._broken(view, error) from None
        if end == "left" and not view.run_id:
            self.screen.clear()
            raise RunStopped("The cell was stopped before its run began; a start on its way is cancelled.")
        answer = self._leave(view, ending.note(end, view.run_id, self.timeout))
        if failure := ending.failure(end, answer.run, self.timeout):
            self._fail(failure, answer)
        return answer

    def _fail(self, failure: RunFailed | RunStopped, answer: Answer) -> None:
        failure.answer = answer
        if self.raise_error or isinstance(failure, RunStopped):
            raise failure

    def _broken(self, view: Transcript, error: StefanBrainError) -> AskError:
        failure = told(error, self.session.base_url)
        if view.run_id:
            failure.hint = f"The run may go on: `%runs attach {view.run_id}` follows it."
            failure.answer = self._leave(view, f"The connection was lost: {failure}")
        else:
            self.screen.clear()
        return failure

    def _leave(self, view: Transcript, note: str) -> Answer:
        run = view.run or Run(run_id=view.run_id, status=view.status, chat=view.chat)
        if view.run is not None:
            self.session.journal.seen(view.run)
        files = [
            WorkspaceFile.model_validate({"id": "", "run_id": run.run_id, **payload}) for payload in view.files.values()
        ]
        table = files_bundle(files, fetcher(self.client, run.chat), "Files of this run") if files else None
        notes = tuple(line for line in (*self.session.take_notes(), self.note, note) if line)
        bundle = answer_bundle(view, Extras(notes, table))
        self.screen.finish(bundle, {"agentsvc_nb": {"run_id": run.run_id, "chat": run.chat, "status": str(run.status)}})
        return Answer(run, view.text, bundle, files)


def fetcher(client: AgentService, chat: str | None) -> Fetch | None:
    """Reads files of a chat for their thumbnails; one that can't be had has none."""
    if not chat:
        return None

    def fetch(file: WorkspaceFile) -> bytes | None:
        try:
            data = client.files.download(file.path, chat=chat)
        except StefanBrainError:
            return None
        return data if isinstance(data, bytes) else None

    return fetch


def ask(session: Session, question: Question, screen: Screen, *, reuse: bool = True) -> Answer:
    """Ask, or show a known run again (`reuse.plan`); returns and raises as `Turn.watch`."""
    client = session.client()
    try:
        planned = plan(session, client, question, reuse)
    except StefanBrainError as error:
        raise told(error, session.base_url) from None
    turn = Turn(session, client, screen, question.timeout, question.raise_error)
    if run_id := planned.shown:
        turn.note = "Shown again, not asked again. Run the cell once more, or use --fresh, for a new answer."
        return turn.watch(lambda: client.runs.attach(run_id), lambda run: _arrived(session, question, planned, run))
    return _start(turn, question, planned)


def _start(turn: Turn, question: Question, planned: Plan) -> Answer:
    session, client, address = turn.session, turn.client, planned.address
    # What the cell brings itself would stand there twice.
    along = session.staged.values() if question.chat is None else ()
    staged = [file.id for file in along if (file.file_name, file.sha256) not in question.uploads]
    session.journal.start(_entry(session, question, planned))
    opened: list[Run] = []

    def on_open(run: Run) -> None:
        opened.append(run)
        session.journal.opened(planned.key, run)
        if question.chat is None:
            session.staged.clear()
        _arrived(session, question, planned, run)

    def open_stream() -> Stream:
        return client.runs.start_and_stream(
            question.message,
            chat=address.chat,
            session=address.session,
            project=session.project,
            files=[file.path for file in question.files],
            file_ids=staged,
            output_config=dict(question.output_config) if question.output_config is not None else None,
            idempotency_key=planned.key,
        )

    try:
        return turn.watch(open_stream, on_open)
    except AskError as error:
        if not opened and error.refused:
            session.journal.refused(planned.key)
        if not opened and error.unsent:
            session.journal.unsent(planned.key)
        raise
    except RunStopped:
        if not opened:
            session.journal.refused(planned.key)  # it will be cancelled: its key must not bring it back
        raise


def _entry(session: Session, question: Question, planned: Plan) -> Entry:
    return Entry(
        idempotency_key=planned.key,
        fingerprint=planned.fingerprint,
        notebook=session.notebook or session.label,
        base_url=session.base_url,
        address=str(planned.address),
        prompt=question.title,
        attachments=" ".join(file.sha256 for file in question.files),
        uploads=planned.uploads,
    )


def _arrived(session: Session, question: Question, planned: Plan, run: Run) -> None:
    """The run is there: it stands before the next cell, and its cell will ask anew when it is run again."""
    if question.new_chat and run.chat:
        session.move(run.chat)
    place = str(session.address(run.chat)) if question.new_chat else str(planned.address)
    session.learn(planned.address, run.chat)
    session.trail.add(Visit(question.place, place, run.run_id))
    session.trail.mark(planned.fingerprint)
