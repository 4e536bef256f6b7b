"""What a chat does: ask, follow, stop, show earlier turns. Buttons call it in any thread; a lock guards its state.

What takes time has a thread of its own. Interrupting the kernel does not reach those: the chat goes on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from agentsvc_nb.notebook.asking import put_beside
from agentsvc_nb.notebook.background import Background
from agentsvc_nb.notebook.feed import Feed
from agentsvc_nb.notebook.looking import show
from agentsvc_nb.notebook.question import Attachment, Question
from agentsvc_nb.notebook.render import error_bundle
from agentsvc_nb.notebook.session import Session
from agentsvc_nb.notebook.watching import Turn
from agentsvc_nb.notebook.widgets import chat_calls as calls
from agentsvc_nb.notebook.widgets.chat_attach import OFFERED
from agentsvc_nb.notebook.widgets.chat_state import Conversation, Exchange, as_cell
from agentsvc_nb.notebook.widgets.chat_turn import TurnBox
from agentsvc_nb.notebook.widgets.chat_view import ChatView
from agentsvc_nb.safe.text import label

AT_ONCE: Final = 5
"""Earlier turns that are read at the beginning, and with each press of the button."""


@dataclass
class Going:
    """A run that is being watched; `question` is None for one that was started before."""

    box: TurnBox
    open: Callable[[], Background]
    question: Question | None = None
    background: Background | None = None
    stopped: bool = False


class Talk:
    """One chat between a session and a view. `changed` is called when a turn has ended."""

    def __init__(
        self,
        session: Session,
        conversation: Conversation,
        first: Question,
        view: ChatView,
        changed: Callable[[], None],
    ) -> None:
        self._session, self.conversation, self._first, self._view = session, conversation, first, view
        self._changed = changed
        self._lock = threading.RLock()
        self._boxes: dict[int, TurnBox] = {}
        self._going: Going | None = None
        view.send.on_click(lambda _: self.send())
        view.stop.on_click(lambda _: self.stop())
        view.earlier.on_click(lambda _: self.show_earlier())

    def begin(self) -> None:
        """Show the last turns that are known, and follow the run that goes on."""
        chat = self.conversation.chat
        if chat:
            rows = self._session.journal.turns(self._session.base_url, chat)
            self.conversation.earlier = [
                Exchange(number, row["typed"], run_id=row["run_id"]) for number, row in enumerate(rows, 1)
            ]
        self.show_earlier()

    def send(self) -> None:
        """Ask what stands in the input."""
        with self._lock:
            view = self._view
            message = view.input.value.encode("utf-8", "replace").decode()  # half a character can't be sent
            if self._going or self.conversation.closed:
                return
            if message.strip():
                files, paths = view.attaching.take()
                message += (
                    f"\n\nFiles of this chat: {', '.join(f'`{label(path, 400)}`' for path in paths)}" if paths else ""
                )
                box = self._box(self.conversation.ask(message, tuple(file.path.name for file in files)))
                view.append(box)
                view.input.value = ""
                self._ask(box, self._question(box.turn, files))
        view.input.focus()

    def stop(self) -> None:
        """Stop the run on the service."""
        with self._lock:
            if going := self._going:
                going.stopped = True
                self._view.is_stopping()
                if going.background is not None:
                    going.background.cancel()

    def show_earlier(self) -> None:
        """Show some more of the turns before these."""
        with self._lock:
            found = [self._box(turn) for turn in self.conversation.call_back(AT_ONCE)]
            self._view.prepend(found)
            self._view.has_earlier(len(self.conversation.earlier))
        if found:
            self._thread(lambda: self._read(found))

    def close(self) -> None:
        """The widget is gone. A run goes on, and its end is still told to `changed`."""
        with self._lock:
            self.conversation.closed = True
            for box in self._boxes.values():
                box.close()

    # -- a turn ------------------------------------------------------------------------------------------------------

    def _box(self, turn: Exchange) -> TurnBox:
        def cell() -> str:
            own = self._session.known_chat(self._session.address())
            return as_cell(turn, None if self.conversation.chat in (None, own) else self.conversation.chat)

        self._boxes[turn.number] = box = TurnBox(turn, cell, partial(calls.answer, self._session))
        return box

    def _question(self, turn: Exchange, files: tuple[Attachment, ...]) -> Question:
        asked = replace(self._first, message=turn.message, typed=turn.typed, files=files)
        chat = self.conversation.chat
        return replace(asked, chat=chat, new_chat=False, project=None) if chat else asked

    def _ask(self, box: TurnBox, question: Question) -> None:
        self._watch(Going(box, lambda: put_beside(self._session, question, box), question))

    def _follow(self, box: TurnBox, run_id: str) -> None:
        def attach() -> Background:
            client = self._session.client()
            feed = Feed(lambda door: client.runs.attach(run_id), client.runs.cancel)
            turn = Turn(self._session, client, feed, box)
            return Background(turn, turn.watch)

        self._watch(Going(box, attach))

    def _watch(self, going: Going) -> None:
        """Under the lock."""
        self._going = going
        going.box.begin()
        self._view.is_going(True)
        self._view.say("The answer is being written.")
        self._thread(lambda: self._run(going))

    def _run(self, going: Going) -> None:
        failure: BaseException | None = None
        try:
            background = going.open()
            with self._lock:
                going.background = background
            if going.stopped:
                background.cancel()
            background.run_here()
        except BaseException as error:  # a thread's own: nobody else would see it
            failure = error
        self._ended(going, failure)

    def _ended(self, going: Going, failure: BaseException | None) -> None:
        box = going.box
        with self._lock:
            if box.turn.bundle is None:
                box.finish(error_bundle(str(failure), getattr(failure, "hint", "")))
            self._going, self.conversation.chat = None, box.chat or self.conversation.chat
            if not self.conversation.closed:
                self._settle(going, failure)
        self._changed()
        if (box.wrote or box.turn.files) and not self.conversation.closed:
            self._offer_files()

    def _settle(self, going: Going, failure: BaseException | None) -> None:
        box, view = going.box, self._view
        view.is_going(False)
        holder = calls.holder(failure)
        if holder and going.question is not None:
            self._offer_choices(box, going.question, holder)
        elif not box.turn.run_id and going.question is not None:
            view.attaching.give_back(going.question.files, ())
            view.input.value = view.input.value or box.turn.message
        view.say("The answer is complete." if failure is None else f"{failure}")
        gone = [self._boxes.pop(turn.number) for turn in self.conversation.surplus()]
        view.remove(gone)
        view.has_earlier(len(self.conversation.earlier))

    def _offer_choices(self, box: TurnBox, question: Question, holder: str) -> None:
        def wait() -> None:
            with self._lock:
                if not self._going:
                    self._ask(box, replace(question, wait=True))

        def follow() -> None:
            with self._lock:
                if not self._going:
                    box.offer(again)
                    other = self._box(self.conversation.ask("", ()))
                    self._view.append(other)
                    self._follow(other, holder)

        def stop() -> None:
            self._view.attaching.say(calls.stop(self._session, holder))

        again = ("Ask when it has ended", "Wait for the run that holds the chat, then ask", wait)
        name = label(holder, 13)
        box.offer(
            again,
            (f"Follow run {name}", "Show the run that holds the chat", follow),
            (f"Stop run {name}", "Stop the run that holds the chat", lambda: self._thread(stop)),
        )

    # -- what was there before ---------------------------------------------------------------------------------------

    def _read(self, boxes: Sequence[TurnBox]) -> None:
        """The answers of earlier turns, the newest first; a run that goes on is followed."""
        for box in reversed(boxes):
            try:
                answer = show(self._session, box.turn.run_id)
                bundle, active = answer._repr_mimebundle_(), not answer.run.ended
            except Exception as error:  # in a thread nobody sees it
                bundle, active = error_bundle(str(error), getattr(error, "hint", "")), False
            with self._lock:
                if self.conversation.closed:
                    return
                if active and not self._going:
                    self._follow(box, box.turn.run_id)
                else:
                    box.finish(bundle)
        self._offer_files()

    def _offer_files(self) -> None:
        if not (chat := self.conversation.chat):
            return
        found = calls.paths(self._session, chat, OFFERED)
        with self._lock:
            if not self.conversation.closed:
                self._view.attaching.offer(found)

    def _thread(self, work: Callable[[], None]) -> None:
        threading.Thread(target=work, name="agentsvc-chat", daemon=True).start()
