"""The controller of a chat widget: ask questions, follow and stop runs, and show turns that were added elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Final

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.ask.background import Background, prepare_ask, prepare_attach
from agentsvc_nb.notebook.ask.history import decide, raise_limit, show
from agentsvc_nb.notebook.ask.request import AskRequest
from agentsvc_nb.notebook.display.render import error_bundle, price
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.files.attachments import AttachedFile
from agentsvc_nb.notebook.state.session import EMBEDDED, Session
from agentsvc_nb.notebook.widgets.approvals import ApprovalCards
from agentsvc_nb.notebook.widgets.chat.attachments import FILES_OFFERED, Attachments
from agentsvc_nb.notebook.widgets.chat.screen import TurnScreen
from agentsvc_nb.notebook.widgets.chat.turns import ChatTurn, Conversation, as_cell, question_part, transcript
from agentsvc_nb.notebook.widgets.front import SAID_CHARS, Front
from agentsvc_nb.notebook.widgets.limit_card import LimitCard
from agentsvc_nb.wire.text import label, plain

EARLIER_TURNS: Final = 5
"""How many earlier turns are loaded at first, and with each click on "earlier"."""
LISTED: Final = 500
"""How many runs of the chat are listed at first."""
NEWEST: Final = 20
"""How many runs of the chat are listed to find turns that were added elsewhere."""


@dataclass
class ActiveTurn:
    """The turn whose run is being followed.

    Attributes:
        open: prepares to start or to follow the run.
        question: the question that the run answers. None if this widget did not start the run.
        background: the future of the run. None until `open` has returned it.
        stopped: whether the user has pressed Stop, which is possible even before `background` is set.
    """

    screen: TurnScreen
    open: Callable[[], Background]
    question: AskRequest | None = None
    background: Background | None = None
    stopped: bool = False


class ChatController:
    """Connects a chat with the front end. Thread-safe: a lock guards its state. Calls `changed` when a turn has ended.

    `first` is the template of each question, with the chat and project that were given to `Chat`.
    """

    def __init__(
        self, session: Session, conversation: Conversation, first: AskRequest, changed: Callable[[], None]
    ) -> None:
        self._session = session
        self.conversation = conversation
        self._first = first
        self._changed = changed
        self._lock = threading.RLock()
        self._active: ActiveTurn | None = None
        self._costs: dict[str, int] = {}  # in micro-cents, by run id
        self._model = ""
        self.front = front = Front("live", "writing", "chat")
        self.attachments = Attachments(front)
        self._approvals = ApprovalCards(front, partial(decide, session))
        self._limit = LimitCard(front, partial(raise_limit, session))
        front.on("send", lambda content, _: self.send(str(content.get("text") or "")))
        front.on("stop", lambda *_: self.stop())
        front.on("earlier", lambda *_: self.show_earlier())
        front.on("again", lambda content, _: self._ask_again(content.get("turn")))
        front.on("draft", lambda content, _: front.remember({"draft": str(content.get("text")) or None}))
        front.on("look", lambda *_: self._thread(self._join))
        session.turn_listeners.add(self._on_run_started)

    def begin(self) -> None:
        """Show the last turns of the chat. If a run is still active, follow it."""
        self._load_new_turns(LISTED)
        self.conversation.earlier, self.conversation.turns = self.conversation.turns, []
        self.show_earlier()

    def send(self, message: str) -> None:
        """Ask a question with the current attachments."""
        message = message.encode("utf-8", "replace").decode()  # a lone surrogate can't be encoded as UTF-8
        with self._lock:
            self.front.remember({"draft": None})  # the page has cleared its input field already
            self.attachments.show_problem("")
            if self._active or self.conversation.closed:
                self._give_back(message)
            elif message.strip():
                files, paths = self.attachments.take()
                if paths:
                    message += f"\n\nFiles of this chat: {', '.join(f'`{label(path, 400)}`' for path in paths)}"
                self._ask(self.conversation.ask(message, tuple(file.path.name for file in files)), files)
            else:
                self.attachments.show_problem("Write a message first.")

    def stop(self) -> None:
        with self._lock:
            if active := self._active:
                active.stopped = True
                self.front.change({"active": "stopping"})
                if active.background is not None:
                    active.background.cancel()

    def show_earlier(self) -> None:
        """Load and show some of the earlier turns."""
        with self._lock:
            found = self.conversation.restore_earlier(EARLIER_TURNS)
            self.show()
        if found:
            self._thread(partial(self._read, found))

    def close(self) -> None:
        """Stop drawing. An active run continues, and `changed` is called when it has ended."""
        with self._lock:
            self._session.turn_listeners.discard(self._on_run_started)
            self.conversation.closed = True
            if self._active:
                self._active.screen.close()

    def show_closed(self) -> None:
        """Show the conversation of the closed chat as static text in the widget.

        `Chat` replaces the widget's output with the conversation, but a page that was reloaded does not get this update
        and still displays the widget.
        """
        gone = dict.fromkeys(self.front.parts())
        self.front.change(gone | {"closed": transcript(self.conversation)["text/html"]})

    # -- a turn ------------------------------------------------------------------------------------------------------

    def _ask(self, turn: ChatTurn, files: tuple[AttachedFile, ...]) -> None:
        """Ask the question of a turn. If another run holds the chat, wait for its end."""
        question = replace(self._first, message=turn.message, typed=turn.typed, files=files, wait=True)
        if chat := self.conversation.chat:
            question = replace(question, chat=chat, new_chat=False, project=None)
        screen = TurnScreen(self.front, self._approvals, self._limit, turn)
        self._watch(ActiveTurn(screen, lambda: prepare_ask(self._session, question, screen), question))

    def _ask_again(self, number: object) -> None:
        """Ask a turn's question again, without attachments, because they are already files of the chat."""
        with self._lock:
            turn = next((turn for turn in self.conversation.turns if turn.number == number), None)
            if turn is None or not self._can_ask(turn):
                return
            if self._active or self.conversation.closed:
                self._give_back(turn.message)
            else:
                self._ask(self.conversation.ask(turn.message), ())

    def _follow(self, turn: ChatTurn) -> None:
        """Follow the run of a turn that was started elsewhere."""
        screen = TurnScreen(self.front, self._approvals, self._limit, turn)
        self._watch(ActiveTurn(screen, lambda: prepare_attach(self._session, turn.run_id, screen)))

    def _watch(self, active: ActiveTurn) -> None:
        """Follow a run in a new thread. The caller must hold the lock."""
        self._active = active
        self.show()
        self.front.change({"active": "running", "heard": "The answer is being written."})
        self._thread(partial(self._run, active))

    def _run(self, active: ActiveTurn) -> None:
        failure: BaseException | None = None
        try:
            background = active.open()
            with self._lock:
                active.background = background
            if active.stopped:  # Stop was pressed before `background` was set
                background.cancel()
            background.run_here()
        except BaseException as error:  # no other code would handle an exception in this thread
            failure = error
        self._end(active, failure)

    def _end(self, active: ActiveTurn, failure: BaseException | None) -> None:
        screen, turn, conversation = active.screen, active.screen.turn, self.conversation
        with self._lock:
            if turn.bundle is None:
                turn.bundle = error_bundle(str(failure), getattr(failure, "hint", ""))
            self._active = None
            conversation.chat = screen.chat or conversation.chat
            self._model = screen.model or self._model
            self._costs[turn.run_id] = screen.cost
            if not conversation.closed:
                # The question was not asked, so put its message back into the input field.
                if not turn.run_id and active.question is not None:
                    self.attachments.give_back(active.question.files)
                    self._give_back(turn.message)
                conversation.drop_surplus()
                self.show()
                screen.end()
                said = "The answer is complete." if failure is None else str(failure)  # a failed turn stays visible
                self.front.change({"active": None, "heard": label(said, SAID_CHARS)})
        self._changed()
        if conversation.closed:
            return
        if screen.wrote or turn.files:
            self._offer_files()
        self._join()  # somebody may have asked while this turn was active

    def _give_back(self, message: str) -> None:
        """Put a message that was not asked back into the input field, if the field is empty."""
        self.front.change({"draft": plain(message)})

    # -- turns of others ---------------------------------------------------------------------------------------------

    def _on_run_started(self) -> None:
        """Show the turn of a run that this kernel has started.

        If no page shows the chat, do nothing, because a page that opens later requests the new turns.
        """
        if self.front.views:
            self._thread(self._join)

    def _join(self) -> None:
        """Show turns that cells, other windows and other machines have added to the chat."""
        with self._lock:
            if self._active or self.conversation.closed:
                return  # this is called again when the active turn has ended
            found = self._load_new_turns(NEWEST)
            if not found:
                return
            self.conversation.drop_surplus()
            self.show()
        self._changed()
        self._read([turn for turn in found if turn in self.conversation.turns])

    def _load_new_turns(self, most: int) -> list[ChatTurn]:
        """Append the chat's turns that are not known yet, and return them. Lists at most the `most` newest runs.

        The service lists the runs of all turns. For questions from this machine, the journal has the text
        that the user typed.
        """
        session, conversation, first = self._session, self.conversation, self._first
        if conversation.chat is None and not first.new_chat:
            conversation.chat = session.known_chat(session.address(first.chat, project=first.project))
        if conversation.chat is None:
            return []
        typed = {row["run_id"]: row["typed"] for row in session.journal.turns(session.base_url, conversation.chat)}
        try:
            listed = [*islice(session.client().runs.list(chat=conversation.chat), most)][::-1]
        except (StefanBrainError, AskError):  # the next question will report the same error
            listed = []
        said = {run.run_id: run.message for run in listed} or dict(list(typed.items())[-most:])
        self._costs |= {run.run_id: run.usage.cost_microcents for run in listed}
        self._model = next((run.model for run in reversed(listed) if run.model), self._model)
        return [
            conversation.append(typed.get(run_id, message), run_id=run_id, elsewhere=run_id not in typed)
            for run_id, message in said.items()
            if not conversation.knows(run_id)
        ]

    def _read(self, turns: Sequence[ChatTurn]) -> None:
        """Load the answers of these turns, the newest first. If a run is still active, follow it."""
        for turn in reversed(turns):
            try:
                answer = show(self._session, turn.run_id)
                bundle, active = answer.shown, not answer.run.ended
            except Exception as error:  # no other code would handle an exception in this thread
                bundle, active = error_bundle(str(error), getattr(error, "hint", "")), False
            with self._lock:
                if self.conversation.closed:
                    return
                if active and not self._active:
                    self._follow(turn)
                elif self._active is None or self._active.screen.turn is not turn:
                    turn.bundle = bundle
                    self.show()
        self._offer_files()

    # -- what is shown -----------------------------------------------------------------------------------------------

    def show(self) -> None:
        """Show the head of the chat and all turns that have ended. The active turn has a separate screen."""
        active = self._active.screen.turn if self._active else None
        turns = [turn for turn in self.conversation.turns if turn is not active]
        parts: dict[str, Any] = dict.fromkeys(self.front.parts("turn/"))
        parts |= {f"turn/{turn.number}": self._turn_part(turn) for turn in turns}
        known = [label(self._model, 60)] if self._model else []
        if self._costs:
            known.append(price(sum(self._costs.values()), self._model, self._session.base_url == EMBEDDED))
        self.front.change(
            parts
            | {
                "order": [turn.number for turn in turns],
                "earlier": len(self.conversation.earlier) or None,
                "head": [self.conversation.title, " · ".join(known)],
            }
        )

    def _turn_part(self, turn: ChatTurn) -> dict[str, Any]:
        ask = self._can_ask(turn)
        chat = self.conversation.chat
        if ask and chat == self._session.known_chat(self._session.address()):
            chat = None  # the notebook's own chat, in which a cell asks by default
        answer = turn.bundle["text/html"] if turn.bundle else ""
        return {**question_part(turn), "answer": answer, "again": ask, "cell": as_cell(turn, chat) if ask else ""}

    @staticmethod
    def _can_ask(turn: ChatTurn) -> bool:
        """Return True if the question can be asked again: its complete text is known, and it was answered."""
        return bool(turn.bundle and turn.typed and turn.run_id and not turn.elsewhere)

    def _offer_files(self) -> None:
        """Offer the chat's files as attachments, or none after an error, which the next question will report."""
        try:
            chat = self.conversation.chat
            found = (
                [file.path for file in islice(self._session.client().files.list(chat), FILES_OFFERED)] if chat else []
            )
        except (StefanBrainError, AskError):
            return
        with self._lock:
            if not self.conversation.closed:
                self.attachments.offer_files(found)

    def _thread(self, work: Callable[[], object]) -> None:
        threading.Thread(target=work, name="agentsvc-chat", daemon=True).start()
