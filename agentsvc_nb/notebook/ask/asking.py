"""One question from its plan to its answer: asked in the foreground, or in the background while other cells run."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.ask.question import Plan, Question, plan
from agentsvc_nb.notebook.ask.variants import Board, Column, Variants, watch
from agentsvc_nb.notebook.display.screens import Screen
from agentsvc_nb.notebook.errors import AskError, RunStopped, told
from agentsvc_nb.notebook.runs.answer import Answer
from agentsvc_nb.notebook.runs.background import Background, nothing
from agentsvc_nb.notebook.runs.busy import after, in_turn
from agentsvc_nb.notebook.runs.follow import RECONNECTS, Feed, StartControl, Stream
from agentsvc_nb.notebook.runs.turn import Turn
from agentsvc_nb.notebook.state.execution_history import Visit
from agentsvc_nb.notebook.state.journal import TYPED_CHARS, Entry
from agentsvc_nb.notebook.state.session import Ahead, Session
from agentsvc_nb.wire.files import StagedFile
from agentsvc_nb.wire.runs import Run

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService


_AGAIN = "Shown again, not asked again. Run the cell once more, or use --fresh, for a new answer."


def ask(session: Session, question: Question, screen: Screen, *, reuse: bool = True) -> Answer:
    """Ask, or show a known run again (`reuse.plan`); returns and raises as `Turn.watch`."""
    asked = _planned(session, question, reuse)
    return asked.go(asked.turn(screen))


def ask_in_background(
    session: Session,
    question: Question,
    screen: Screen,
    *,
    reuse: bool = True,
    here: bool = False,
    then: Callable[[Background], None] = nothing,
) -> Background:
    """Ask, and return while the run goes on: its turn comes after those asked in its chat before it.

    A new chat does not become the notebook's. `then` is called in the run's thread when all is done. With `here` the
    result is the same, but it is done when it is returned: for hosts that keep the first state of an output. Raises
    `AskError` for what can't be asked; what goes wrong later is raised by what is returned, or with `here` at once.
    """
    asked = _planned(session, replace(question, wait=True), reuse)
    place = str(asked.planned.address)
    asked.beside()
    asked.ahead = None if question.new_chat else session.lines.get(place)
    turn = asked.turn(screen, session.take_notes())
    session.lines[place] = background = Background(turn, lambda: asked.go(turn), then)
    if here:
        background.run_here()
    else:
        turn.hint = ""  # it is raised where the result is read, and that takes no options
        background.start()
    return background


def put_beside(session: Session, question: Question, screen: Screen) -> Background:
    """A question of no cell, ready to be asked: its `run_here` or `start` does. It is always asked anew.

    It is no part of the trail: whether a cell's run is shown again does not hang on it. Raises `AskError`.
    """
    where = session.address(question.chat, question.new_chat, session=question.session, project=question.project)
    asked = _Asked(session, session.client(), question, Plan(where, "", secrets.token_urlsafe(24)), alone=True)
    asked.begin()
    turn = asked.turn(screen, session.take_notes())
    return Background(turn, lambda: asked.go(turn))


def ask_variants(session: Session, question: Question, count: int, board: Board, *, reuse: bool = True) -> Variants:
    """Ask `count` times at once, each in a new chat, none of which becomes the notebook's: `Variants.pick` does that.

    Raises `AskError`, and what `variants.watch` does.
    """
    each = [replace(question, new_chat=True, variant=number, raise_error=False) for number in range(1, count + 1)]
    staged, asked = session.staged, list[_Asked]()
    for one in each:
        asked.append(_plan(session, one, reuse))
        asked[-1].beside()
    columns = [Column() for _ in asked]
    runs = [_started(one, column, staged) for one, column in zip(asked, columns, strict=True)]
    return watch(session, runs, columns, board)


def _started(asked: _Asked, screen: Screen, staged: dict[str, StagedFile]) -> Background:
    """One of several variants; what was put goes along with each of them."""
    asked.begin()
    asked.along = {} if asked.planned.shown else staged
    turn = asked.turn(screen)
    background = Background(turn, lambda: asked.go(turn))
    background.start()
    return background


def _planned(session: Session, question: Question, reuse: bool) -> _Asked:
    asked = _plan(session, question, reuse)
    asked.begin()
    return asked


def _plan(session: Session, question: Question, reuse: bool) -> _Asked:
    client = session.client()
    try:
        return _Asked(session, client, question, plan(session, client, question, reuse))
    except StefanBrainError as error:
        raise told(error, session.base_url) from None


@dataclass
class _Asked:
    """A question and how it is put. `alone`: it runs beside the notebook, and has its place in the trail already."""

    session: Session
    client: AgentService
    question: Question
    planned: Plan
    alone: bool = False
    ahead: Ahead | None = None
    along: dict[str, StagedFile] = field(default_factory=dict)
    opened: bool = False

    def begin(self) -> None:
        """Write it into the journal, and take along what was put for it; of a run that is shown again, nothing."""
        if self.planned.shown:
            return
        self.session.journal.start(self._entry())
        if self.question.own_chat:
            self.along, self.session.staged = self.session.staged, {}

    def beside(self) -> None:
        """It runs beside the notebook: its place in the trail is where its cell stands, not when its run begins."""
        self.alone = True
        self.visited(str(self.planned.address))

    def turn(self, screen: Screen, notes: tuple[str, ...] = ()) -> Turn:
        given = self.question
        told_first = (_AGAIN,) if self.planned.shown else ()
        feed = Feed(self._open, self.client.runs.cancel)
        lines = (*notes, *told_first, *given.notes)
        again = self.planned.shown is not None
        return Turn(
            self.session, self.client, feed, screen, given.timeout, given.raise_error, lines, given.shape, again
        )

    def go(self, turn: Turn) -> Answer:
        try:
            return turn.watch(self._on_open)
        except AskError as error:
            if not self.opened:
                self._undo(error.refused, error.unsent)
            raise
        except RunStopped:
            if not self.opened:
                self._undo(refused=True)  # it will be cancelled: its key must not bring it back
            raise

    def visited(self, place: str) -> None:
        """It stands before the next cell, and its cell will ask anew when it is run again."""
        self.session.trail.add(Visit(self.question.place, place, self.planned.key))
        self.session.trail.mark(self.planned.fingerprint)

    def _undo(self, refused: bool, unsent: bool = False) -> None:
        self.session.staged = self.along | self.session.staged
        if refused:
            self.session.journal.refused(self.planned.key)
        if unsent:
            self.session.journal.unsent(self.planned.key)

    def _open(self, door: StartControl) -> Stream:
        if self.planned.shown:
            return self.client.runs.attach(self.planned.shown, max_retries=RECONNECTS)
        if self.ahead is not None:
            after(self.ahead, door)
        return in_turn(self._start, self.client, door) if self.question.wait else self._start()

    def _start(self) -> Stream:
        question, address = self.question, self.planned.address
        return self.client.runs.start_and_stream(
            question.message,
            chat=address.chat,
            session=address.session,
            project=address.project,
            files=[file.sent for file in question.files],
            # What the cell brings itself would stand there twice.
            file_ids=[file.id for file in self.along.values() if (file.file_name, file.sha256) not in question.uploads],
            output_config=question.output_config,
            idempotency_key=self.planned.key,
            max_retries=RECONNECTS,
        )

    def _on_open(self, run: Run) -> None:
        self.opened = True
        place, moves = str(self.planned.address), self.question.new_chat and not self.alone
        if not self.planned.shown:
            self.session.journal.opened(self.planned.key, run)
        if moves and run.chat:
            self.session.move(run.chat)
            place = str(self.session.address(run.chat))
        self.session.learn(self.planned.address, run.chat)
        if not self.alone:
            self.visited(place)

    def _entry(self) -> Entry:
        return Entry(
            idempotency_key=self.planned.key,
            fingerprint=self.planned.fingerprint,
            notebook=self.session.notebook or self.session.label,
            base_url=self.session.base_url,
            address=str(self.planned.address),
            prompt=self.question.title,
            typed=self.question.typed[:TYPED_CHARS],
            attachments=" ".join(file.sha256 for file in self.question.files),
            uploads=self.planned.uploads,
        )
