"""Ask a question in the foreground or background. A chat has one run at a time, in order."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.ask.answer import CellAnswer
from agentsvc_nb.notebook.ask.background import Background, nothing
from agentsvc_nb.notebook.ask.follow import RECONNECTS, Feed, StartControl, Stream
from agentsvc_nb.notebook.ask.question import AskRequest, Question, prepare_request
from agentsvc_nb.notebook.ask.turn import RunWatcher
from agentsvc_nb.notebook.display.screens import Screen
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.errors import AskError, RunStopped, to_ask_error
from agentsvc_nb.notebook.kernel.desk import KernelDesk
from agentsvc_nb.notebook.state.journal import TYPED_CHARS, JournalEntry, TurnRecord
from agentsvc_nb.notebook.state.session import EarlierQuestion, Session
from agentsvc_nb.wire.files import StagedFile
from agentsvc_nb.wire.runs import Run

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService


POLL_SECONDS: Final = 0.5
"""The interval between two reads of the run that holds the chat; reading a run is free (docs/api/events.md)."""
_AGAIN: Final = "Shown again, not asked again. Run the cell once more, or use --fresh, for a new answer."
_NOT_RUN_AGAIN: Final = "Code that the agent had run in the kernel is not run again: its variables are not there."


def ask(session: Session, question: Question, screen: Screen, *, reuse: bool = True) -> CellAnswer:
    """Ask the question, or show an earlier run again (`prepare_request`). Returns and raises as `RunWatcher.watch`."""
    pending = _prepare_and_record(session, question, reuse)
    return pending.watch(pending.watcher(screen))


def ask_in_background(
    session: Session,
    question: Question,
    screen: Screen,
    *,
    reuse: bool = True,
    here: bool = False,
    then: Callable[[Background], None] = nothing,
) -> Background:
    """Ask the question and return at once. The run starts when the earlier questions to its chat have ended.

    A new chat does not become the notebook's chat.

    Args:
        reuse: whether an earlier run may be shown again instead.
        here: return only when the run has ended, for hosts that lose updates of an output after its cell has ended.
        then: called in the run's thread when the run has ended.

    Raises:
        AskError: the service did not answer before the start. Later errors are raised by the result's `wait`, or
            with `here` by this function.
    """
    # Queued behind the run that holds the chat, not refused: its cell has ended, so nobody is there to ask again.
    pending = _prepare_and_record(session, replace(question, wait=True), reuse)
    address = str(pending.request.address)
    pending.detach()
    pending.earlier = None if question.new_chat else session.last_in_background.get(address)
    watcher = pending.watcher(screen, session.take_notes())
    background = Background(watcher, lambda: pending.watch(watcher), then)
    session.last_in_background[address] = background
    if here:
        background.run_here()
    else:
        watcher.hint = ""  # the failure is raised where the result is read: there are no options to give there
        background.start()
    return background


def prepare_ask(session: Session, question: Question, screen: Screen) -> Background:
    """Prepare a question of a chat widget; the caller starts it with `start` or `run_here`.

    No earlier run is shown again for it. It is not part of the execution history either, so it does not affect which
    cells' runs are shown again. Raises `AskError` when there is no connection.
    """
    where = session.address(question.chat, question.new_chat, session=question.session, project=question.project)
    request = AskRequest(where, "", secrets.token_urlsafe(24))
    pending = _PendingAsk(session, session.client(), question, request, detached=True)
    pending.record_start()
    watcher = pending.watcher(screen, session.take_notes())
    watcher.hint = ""  # no cell fails with it
    return Background(watcher, lambda: pending.watch(watcher))


def _prepare_and_record(session: Session, question: Question, reuse: bool) -> _PendingAsk:
    pending = _prepare(session, question, reuse)
    pending.record_start()
    return pending


def _prepare(session: Session, question: Question, reuse: bool) -> _PendingAsk:
    client = session.client()
    try:
        if question.model and question.model not in session.known.models:
            session.known.models = [model.id for model in client.models.list()]
        return _PendingAsk(session, client, question, prepare_request(session, client, question, reuse))
    except StefanBrainError as error:
        raise to_ask_error(error, session.base_url) from None


@dataclass
class _PendingAsk:
    """A question with its request; it opens the run's stream and updates the session and the journal.

    Attributes:
        detached: it runs in the background or in a chat other than the notebook's. Its turn is then recorded when it
            is prepared, and a new chat does not become the notebook's.
        earlier: the background question to the same chat that must end first.
        staged: the staged uploads that it attaches.
        opened: whether its run has started, or the run that is shown again was found.
    """

    session: Session
    client: AgentService
    question: Question
    request: AskRequest
    detached: bool = False
    earlier: EarlierQuestion | None = None
    staged: dict[str, StagedFile] = field(default_factory=dict)
    opened: bool = False
    desk: KernelDesk | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.question.kernel is not None and not self.request.shown:
            self.desk = KernelDesk(self.question.kernel, self.session.journal, self.client)

    def record_start(self) -> None:
        """Write the start into the journal and claim the staged uploads, unless an earlier run is shown again."""
        if self.request.shown:
            return
        self.session.journal.start(self._entry())
        if self.question.own_chat:
            self.staged = self.session.staged
            self.session.staged = {}

    def detach(self) -> None:
        """Record the turn now, in the order of the cells, rather than when the run starts."""
        self.detached = True
        self.record_turn(str(self.request.address))

    def watcher(self, screen: Screen, notes: tuple[str, ...] = ()) -> RunWatcher:
        question = self.question
        again = self.request.shown is not None
        return RunWatcher(
            self.session,
            self.client,
            Feed(self._open, self.client.runs.cancel),
            screen,
            timeout=question.timeout,
            raise_error=question.raise_error,
            notes=(*notes, *self._again(), *question.notes),
            shape=question.shape,
            again=again,
            view=RunView(kernel=self.desk.calls if self.desk else ()),
            desk=self.desk,
        )

    def _again(self) -> tuple[str, ...]:
        if not self.request.shown:
            return ()
        kernel = self.question.kernel is not None and self.question.kernel.mode == "ask"
        return (_AGAIN, _NOT_RUN_AGAIN) if kernel else (_AGAIN,)

    def watch(self, watcher: RunWatcher) -> CellAnswer:
        try:
            return watcher.watch(self._on_open)
        except AskError as error:
            if not self.opened:
                self._undo(error.refused, error.unsent)
            raise
        except RunStopped:
            if not self.opened:
                self._undo(refused=True)  # the start is cancelled: its key must not bring the run back
            raise

    def record_turn(self, place: str) -> None:
        """Add the turn to the execution history, so that its cell asks anew when it is run again in this kernel."""
        turn = TurnRecord(self.question.place, place, self.request.key, self.request.fingerprint)
        self.session.execution_history.add(turn)

    def _undo(self, refused: bool, unsent: bool = False) -> None:
        """Return the staged uploads to the session; tell the journal that the start was refused or never sent."""
        self.session.staged = self.staged | self.session.staged
        if refused:
            self.session.journal.refused(self.request.key)
        if unsent:
            self.session.journal.unsent(self.request.key)

    def _open(self, control: StartControl) -> Stream:
        if self.request.shown:
            return self.client.runs.attach(self.request.shown, max_retries=RECONNECTS)
        if self.earlier is not None:
            _wait_for_earlier(self.earlier, control)
        return wait_for_turn(self._start, self.client, control) if self.question.wait else self._start()

    def _start(self) -> Stream:
        request = self.question.request(self.request.address, self.staged.values())
        tools = self.desk.tools() if self.desk else ()
        stream = self.client.runs.start_and_stream(
            **request, client_tools=tools, idempotency_key=self.request.key, max_retries=RECONNECTS
        )
        if self.desk is not None:
            self.desk.opened(stream.run)
        return stream

    def _on_open(self, run: Run) -> None:
        self.opened = True
        place = str(self.request.address)
        if not self.request.shown:
            self.session.journal.opened(self.request.key, run)
        if run.chat and self.question.new_chat and not self.detached:
            self.session.move(run.chat)
            place = str(self.session.address(run.chat))
        self.session.learn(self.request.address, run.chat)
        if not self.detached:
            self.record_turn(place)

    def _entry(self) -> JournalEntry:
        return JournalEntry(
            idempotency_key=self.request.key,
            fingerprint=self.request.fingerprint,
            notebook=self.session.notebook or self.session.label,
            base_url=self.session.base_url,
            address=str(self.request.address),
            prompt=self.question.title,
            typed=self.question.typed[:TYPED_CHARS],
            attachments=" ".join(file.sha256 for file in self.question.files),
            uploads=self.request.uploads,
        )


def wait_for_turn(start: Callable[[], Stream], client: AgentService, control: StartControl) -> Stream:
    """Call `start` until the chat is free, each time after the run that holds the chat has ended.

    Raises `AskError` once the start is abandoned, and any error of `start` other than a busy chat.
    """
    while not control.abandoned.is_set():
        try:
            return start()
        except StefanBrainError as error:
            if error.code != "agent_run_rejected":
                raise
            holder = error.active_run_id or ""
        control.waits_for(holder)
        while not control.abandoned.wait(POLL_SECONDS) and not _has_ended(client, holder):
            pass
    raise _abandoned_error()


def _wait_for_earlier(earlier: EarlierQuestion, control: StartControl) -> None:
    """Wait for an earlier question of this kernel, so that runs start in the order of the cells.

    Raises `AskError` once the start is abandoned.
    """
    while not earlier.done():
        control.waits_for(earlier.run_id)
        if control.abandoned.wait(POLL_SECONDS):
            raise _abandoned_error()


def _abandoned_error() -> AskError:
    error = AskError("The question was given up while its chat was busy; nothing was started.")
    error.refused = True
    return error


def _has_ended(client: AgentService, run_id: str) -> bool:
    """Whether a run has ended. True for a run that this key cannot see, so that the start is tried again."""
    try:
        return not run_id or client.runs.get(run_id).ended
    except StefanBrainError as error:
        if error.status == 404:
            return True
        raise
