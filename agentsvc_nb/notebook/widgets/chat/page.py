"""A chat on its page, without its behaviour: ended turns, the one that goes on, and what waits for a yes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.display.screens import LiveScreen
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.widgets.approvals import ApprovalCards, Decide
from agentsvc_nb.notebook.widgets.chat.attach import Attaching
from agentsvc_nb.notebook.widgets.chat.state import ChatTurn, asked_html
from agentsvc_nb.notebook.widgets.design import SAID_CHARS
from agentsvc_nb.notebook.widgets.front import Front
from agentsvc_nb.wire.text import label, plain

TurnAction = tuple[str, str, str, Callable[[], object]]
"""A button of a turn: its key, its name, its tooltip, what it does."""


class ChatPage:
    """The parts of the front end that are a chat (`front/chat.js`). All methods may be called from any thread."""

    def __init__(self, decide: Decide) -> None:
        self.front = Front("live", "writing", "chat")
        self.attaching = Attaching(self.front)
        self.live = LiveTurn(self.front, decide)
        self._choices: dict[int, dict[str, Callable[[], object]]] = {}
        self.front.on("press", self._press)
        self.front.on("draft", lambda content, _: self.front.remember({"draft": str(content.get("text")) or None}))

    def set_active(self, state: str | None) -> None:
        """Offer Stop while a run is `running` or `stopping`, and Send when it is None."""
        self.front.change({"active": state})

    def has_earlier(self, count: int) -> None:
        """Offer this number of earlier turns, or with 0 none."""
        self.front.change({"earlier": count or None})

    def say(self, words: str) -> None:
        """Announce something to screen readers."""
        self.front.change({"heard": label(words, SAID_CHARS)})

    def sent(self) -> None:
        """The page has cleared its input, and what was said of it no longer holds."""
        self.front.remember({"draft": None})
        self.attaching.say("")

    def give_back(self, message: str) -> None:
        """Put a message that was not asked into the input again, if it is empty."""
        self.front.change({"draft": plain(message)})

    def show(self, turns: Sequence[ChatTurn], choices: Callable[[ChatTurn], Sequence[TurnAction]], cell: Cell) -> None:
        """Show these ended turns, the newest last; `cell` gives a turn as a cell."""
        parts: dict[str, Any] = dict.fromkeys(self.front.parts("turn/"))
        self._choices = {}
        for turn in turns:
            offered = choices(turn)
            self._choices[turn.number] = {key: act for key, _, _, act in offered}
            parts[f"turn/{turn.number}"] = {
                "asked": asked_html(turn),
                "answer": turn.bundle["text/html"] if turn.bundle else "",
                "cell": cell(turn),
                "actions": [[key, label(name, 80), label(title)] for key, name, title, _ in offered],
            }
        self.front.change(parts | {"order": [turn.number for turn in turns]})

    def end(self, bundle: Bundle) -> None:
        """Leave this static output in the place of the chat."""
        gone = dict.fromkeys(self.front.parts())
        self.front.change(gone | {"closed": bundle["text/html"]})

    def _press(self, content: Mapping[str, Any], _: object) -> None:
        number, key = content.get("turn"), content.get("action")
        act = self._choices.get(number, {}).get(str(key)) if isinstance(number, int) else None
        if act is not None:
            act()


Cell = Callable[[ChatTurn], str]


class PageOutput:
    """An output area (`screens.Output`) made of the numbered parts `live/N`."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._places: dict[str, str] = {}
        self._count = 0
        self._clearing = False

    def show(self, bundle: Bundle, *, display_id: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        if self._clearing:
            self.empty()
        self._count += 1
        place = f"live/{self._count}"
        self._places[display_id or place] = place
        self._front.change({place: bundle["text/html"]})

    def update(self, bundle: Bundle, display_id: str, *, metadata: Mapping[str, Any] | None = None) -> None:
        self._front.change({self._places[display_id]: bundle["text/html"]})

    def clear(self) -> None:
        self._clearing = True

    def empty(self) -> None:
        """Show nothing. The numbers go on: a part of a number that was removed would stand behind later ones."""
        self._clearing = False
        self._places = {}
        self._front.remove("live/")


class _Screen(LiveScreen):
    """A live screen without what is for a cell: the text about waiting calls, which have buttons here, and a reload."""

    def _draw_asked(self, view: RunView) -> None:
        pass

    def _draw_kernel(self, view: RunView) -> None:
        pass

    def _advice(self, view: RunView) -> str:
        return ""  # a page that was loaded again shows the chat as it is


class LiveTurn:
    """The turn that goes on. `decide` sends approvals and refusals."""

    def __init__(self, front: Front, decide: Decide) -> None:
        self._front = front
        self._output = PageOutput(front)
        self._screen = _Screen(self._output)
        self._waiting = ApprovalCards(front, decide)
        self._closed = False

    def begin(self, turn: ChatTurn) -> None:
        self._front.change({"live": asked_html(turn)})
        self._screen = _Screen(self._output)

    def draw(self, view: RunView) -> None:
        if not self._closed:
            self._screen.draw(view)
            self._waiting.show(view.asked, view.kernel)

    def end(self) -> None:
        """Hide it: the turn has ended, and is shown as one of the others."""
        self._front.change({"live": None})
        self._output.empty()
        self._waiting.show({}, ())

    def close(self) -> None:
        """Ignore further calls of `draw`."""
        self._closed = True


class TurnScreen:
    """The screen of a turn's run (`screens.Screen`). For one thread.

    Attributes:
        chat: the run's chat, once known.
        wrote: the paths of the files that the run has written.
    """

    def __init__(self, turn: ChatTurn, live: LiveTurn) -> None:
        self.turn = turn
        self._live = live
        self.chat: str | None = None
        self.wrote: tuple[str, ...] = ()

    def draw(self, view: RunView) -> None:
        self.turn.run_id = view.run_id
        self.chat = view.chat
        self.wrote = tuple(view.files)
        self._live.draw(view)

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        self.turn.bundle = bundle

    def clear(self) -> None:
        pass  # the run was not started: `finish` is called with the error instead
