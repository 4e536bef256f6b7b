"""The controller of a chat: ask, follow, stop, show earlier turns. Called in any thread; a lock guards its state."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.ask.background import Background, prepare_ask, prepare_attach
from agentsvc_nb.notebook.ask.request import AskRequest
from agentsvc_nb.notebook.ask.review import show
from agentsvc_nb.notebook.display.render import error_bundle
from agentsvc_nb.notebook.errors import AskError, to_ask_error
from agentsvc_nb.notebook.files.attachments import AttachedFile
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets.chat.attach import OFFERED
from agentsvc_nb.notebook.widgets.chat.page import ChatPage, TurnAction, TurnScreen
from agentsvc_nb.notebook.widgets.chat.state import ChatTurn, Conversation, as_cell
from agentsvc_nb.wire.text import label


def stop_run(session: Session, run_id: str) -> str:
    """Cancel a run; return the error as a sentence, or an empty string."""
    return _error_of(session, lambda: session.client().runs.cancel(run_id))


def paths(session: Session, chat: str, count: int) -> list[str]:
    """Return the paths of a chat's first files; none on an error, since the next message will report it again."""
    found: list[str] = []
    _error_of(session, lambda: found.extend(file.path for file in islice(session.client().files.list(chat), count)))
    return found


def holder_of(failure: BaseException | None) -> str:
    """Return the id of the run that kept the chat busy, if the start failed for that reason; else empty."""
    error = failure.error if isinstance(failure, AskError) else None
    return (error.active_run_id or "") if error is not None else ""


def _error_of(session: Session, act: Callable[[], object]) -> str:
    try:
        act()
    except (StefanBrainError, AskError) as error:
        shown = to_ask_error(error, session.base_url) if isinstance(error, StefanBrainError) else error
        return f"{shown} {shown.hint}".strip()
    return ""


AT_ONCE: Final = 5
"""The number of earlier turns that are loaded at the beginning and with each click."""


@dataclass
class ActiveTurn:
    """The turn whose run is being watched; `question` is None for a run that was not started by this widget.

    `open` starts or attaches to the run; `stopped` is set by Stop, which may be pressed before there is a `background`.
    """

    screen: TurnScreen
    open: Callable[[], Background]
    question: AskRequest | None = None
    background: Background | None = None
    stopped: bool = False


class ChatController:
    """Connects the session and the page of one chat. `changed` is called when a turn has ended.

    `first` is the template of each question, with the ids that `Chat` was given.
    """

    def __init__(
        self,
        session: Session,
        conversation: Conversation,
        first: AskRequest,
        page: ChatPage,
        changed: Callable[[], None],
    ) -> None:
        self._session = session
        self.conversation = conversation
        self._first = first
        self._page = page
        self._changed = changed
        self._lock = threading.RLock()
        self._refused: dict[int, tuple[AskRequest, str]] = {}  # by turn: the question, and the run that holds the chat
        self._active: ActiveTurn | None = None
        page.front.on("send", lambda content, _: self.send(str(content.get("text") or "")))
        page.front.on("stop", lambda *_: self.stop())
        page.front.on("earlier", lambda *_: self.show_earlier())

    def begin(self) -> None:
        """Show the last turns in the journal, and follow a run that is still active."""
        chat = self.conversation.chat
        if chat:
            rows = self._session.journal.turns(self._session.base_url, chat)
            self.conversation.earlier = [
                ChatTurn(number, row["typed"], run_id=row["run_id"]) for number, row in enumerate(rows, 1)
            ]
        self.show_earlier()

    def send(self, message: str) -> None:
        """Ask this question, with what is attached."""
        message = message.encode("utf-8", "replace").decode()  # a lone surrogate has no UTF-8
        with self._lock:
            page = self._page
            page.sent()
            if self._active or self.conversation.closed:
                page.give_back(message)
            elif message.strip():
                files, paths = page.attaching.take()
                message += (
                    f"\n\nFiles of this chat: {', '.join(f'`{label(path, 400)}`' for path in paths)}" if paths else ""
                )
                turn = self.conversation.ask(message, tuple(file.path.name for file in files))
                self._ask(turn, self._question(turn, files))
            else:
                page.attaching.say("Write a message first.")

    def stop(self) -> None:
        """Cancel the active run on the service."""
        with self._lock:
            if going := self._active:
                going.stopped = True
                self._page.set_active("stopping")
                if going.background is not None:
                    going.background.cancel()

    def show_earlier(self) -> None:
        """Load and show more of the earlier turns."""
        with self._lock:
            found = self.conversation.call_back(AT_ONCE)
            self._show()
        if found:
            self._thread(lambda: self._read(found))

    def close(self) -> None:
        """Stop drawing. A run goes on, and `changed` is still called when it ends."""
        with self._lock:
            self.conversation.closed = True
            self._page.live.close()

    # -- a turn ------------------------------------------------------------------------------------------------------

    def _question(self, turn: ChatTurn, files: tuple[AttachedFile, ...]) -> AskRequest:
        asked = replace(self._first, message=turn.message, typed=turn.typed, files=files)
        chat = self.conversation.chat
        return replace(asked, chat=chat, new_chat=False, project=None) if chat else asked

    def _ask(self, turn: ChatTurn, question: AskRequest) -> None:
        screen = TurnScreen(turn, self._page.live)
        self._watch(ActiveTurn(screen, lambda: prepare_ask(self._session, question, screen), question))

    def _follow(self, turn: ChatTurn, run_id: str) -> None:
        screen = TurnScreen(turn, self._page.live)

        self._watch(ActiveTurn(screen, lambda: prepare_attach(self._session, run_id, screen)))

    def _watch(self, going: ActiveTurn) -> None:
        """Follow a run in a thread. The caller holds the lock."""
        turn = going.screen.turn
        self._active = going
        self._refused.pop(turn.number, None)
        self.conversation.begin(turn)
        self._page.live.begin(turn)
        self._show()
        self._page.set_active("running")
        self._page.say("The answer is being written.")
        self._thread(lambda: self._run(going))

    def _run(self, going: ActiveTurn) -> None:
        failure: BaseException | None = None
        try:
            background = going.open()
            with self._lock:
                going.background = background
            if going.stopped:  # Stop was pressed before there was a run to cancel
                background.cancel()
            background.run_here()
        except BaseException as error:  # nothing else would report an error of this thread
            failure = error
        self._ended(going, failure)

    def _ended(self, going: ActiveTurn, failure: BaseException | None) -> None:
        screen = going.screen
        with self._lock:
            if screen.turn.bundle is None:
                screen.finish(error_bundle(str(failure), getattr(failure, "hint", "")))
            self._active = None
            self.conversation.chat = screen.chat or self.conversation.chat
            if not self.conversation.closed:
                self._settle(going, failure)
        self._changed()
        if (screen.wrote or screen.turn.files) and not self.conversation.closed:
            self._offer_files()

    def _settle(self, going: ActiveTurn, failure: BaseException | None) -> None:
        turn, page = going.screen.turn, self._page
        holder = holder_of(failure)
        if holder and going.question is not None:
            self._refused[turn.number] = going.question, holder
        elif not turn.run_id and going.question is not None:  # nothing was asked: what was typed is there again
            page.attaching.give_back(going.question.files, ())
            page.give_back(turn.message)
        for gone in self.conversation.surplus():
            self._refused.pop(gone.number, None)
        self._show()
        page.live.end()
        page.set_active(None)
        page.say("The answer is complete." if failure is None else f"{failure}")  # a failed turn is there, too

    def _show(self) -> None:
        """Show the ended turns with their buttons; the active turn draws itself."""
        going = self._active.screen.turn if self._active else None
        turns = [turn for turn in self.conversation.turns if turn is not going]
        self._page.show(turns, self._choices, self._as_cell)
        self._page.has_earlier(len(self.conversation.earlier))

    # -- the buttons of a turn ---------------------------------------------------------------------------------------

    def _choices(self, turn: ChatTurn) -> Sequence[TurnAction]:
        if turn.number in self._refused:
            return self._choices_of_refused(turn, *self._refused[turn.number])
        if turn.bundle is None or not turn.typed:
            return ()
        return [("again", "Ask again", "Ask the same question as a new turn", lambda: self._ask_again(turn))]

    def _ask_again(self, turn: ChatTurn) -> None:
        """Ask a turn's question once more. Its attachments are files of the chat since."""
        with self._lock:
            if not self._active and not self.conversation.closed:
                again = self.conversation.ask(turn.message)
                self._ask(again, self._question(again, ()))

    def _as_cell(self, turn: ChatTurn) -> str:
        """The turn as a cell; empty for one that can't be asked, or has not been read."""
        if turn.bundle is None or not turn.typed or turn.number in self._refused:
            return ""
        own = self._session.known_chat(self._session.address())
        return as_cell(turn, None if self.conversation.chat in (None, own) else self.conversation.chat)

    def _choices_of_refused(self, turn: ChatTurn, question: AskRequest, holder: str) -> Sequence[TurnAction]:
        def wait() -> None:
            with self._lock:
                if not self._active:
                    self._ask(turn, replace(question, wait=True))

        def follow() -> None:
            with self._lock:
                if not self._active:
                    self._refused[turn.number] = question, ""  # it may be asked later, but its holder is followed now
                    self._follow(self.conversation.ask("", ()), holder)

        def stop() -> None:
            self._thread(lambda: self._page.attaching.say(stop_run(self._session, holder)))

        again = ("wait", "Ask when it has ended", "Wait for the run that holds the chat, then ask", wait)
        name = label(holder, 13)
        of_holder = [
            ("follow", f"Follow run {name}", "Show the run that holds the chat", follow),
            ("stop", f"Stop run {name}", "Stop the run that holds the chat", stop),
        ]
        return [again, *(of_holder if holder else ())]

    # -- earlier turns -----------------------------------------------------------------------------------------------

    def _read(self, turns: Sequence[ChatTurn]) -> None:
        """Load the answers of earlier turns, the newest first, and follow a run that is still active."""
        for turn in reversed(turns):
            try:
                answer = show(self._session, turn.run_id)
                bundle, active = answer.shown, not answer.run.ended
            except Exception as error:  # an error in a thread would go unseen
                bundle, active = error_bundle(str(error), getattr(error, "hint", "")), False
            with self._lock:
                if self.conversation.closed:
                    return
                if active and not self._active:
                    self._follow(turn, turn.run_id)
                else:
                    turn.bundle = bundle
                    self._show()
        self._offer_files()

    def _offer_files(self) -> None:
        if not (chat := self.conversation.chat):
            return
        found = paths(self._session, chat, OFFERED)
        with self._lock:
            if not self.conversation.closed:
                self._page.attaching.offer(found)

    def _thread(self, work: Callable[[], None]) -> None:
        threading.Thread(target=work, name="agentsvc-chat", daemon=True).start()
