"""The widgets of a chat, without their behaviour."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest

import ipywidgets

from agentsvc_nb.notebook.widgets import design
from agentsvc_nb.notebook.widgets.cards import Decide
from agentsvc_nb.notebook.widgets.chat.attach import Attaching
from agentsvc_nb.notebook.widgets.chat.state import ChatTurn
from agentsvc_nb.notebook.widgets.chat.turns import LiveTurn, SettledTurn, TurnAction


class ChatView:
    """The turns in order, the active one last, and the input below them.

    When a widget is closed or removed from its box, a page frees none of its memory and rebuilds all widgets after it.
    So the widgets stay, and turns move between them (docs/decisions/0024).
    """

    def __init__(self, decide: Decide) -> None:
        self.earlier = design.button("Show earlier", "Show turns before these")
        self._settled: list[SettledTurn] = []
        self._places = ipywidgets.VBox([])
        self.live = LiveTurn(decide)
        scrolled = ipywidgets.VBox([ipywidgets.VBox([self._places, self.live.box])])
        scrolled.add_class("asvc-log")
        self.heard = design.text("", role="log")
        self.heard.add_class("asvc-heard")
        self.attaching = Attaching()
        # The text is sent when the input loses focus: not with each key, but before the click on Send.
        self.input = design.area("Message", rows=3)
        self.send = design.button("Send", "Send the message", look="primary")
        self.stop = design.button("Stop", "Stop the run on the service", look="danger")
        self.close = design.button("Close", "Leave the conversation as a static output")
        self.box = design.frame([self.earlier, scrolled, self.heard, *self._below()])
        self.set_active(False)
        self.has_earlier(0)

    def _below(self) -> list[ipywidgets.Widget]:
        part = self.attaching
        return [
            part.chips,
            part.note,
            self.input,
            # Stop is last because it comes and goes: a button after it would slide under the pointer.
            design.row([self.send, part.upload, part.choose, self.close, self.stop]),
        ]

    def set_active(self, active: bool) -> None:
        """Switch the buttons between an active run (Stop) and none (Send)."""
        self.send.disabled = active
        self.stop.disabled = False
        self.stop.description = "Stop"
        self.stop.layout.display = None if active else "none"

    def is_stopping(self) -> None:
        """Show that Stop was pressed."""
        self.stop.disabled = True
        self.stop.description = "Stopping"

    def has_earlier(self, count: int) -> None:
        """Show the number of earlier turns on their button, or hide it."""
        self.earlier.description = f"Show earlier ({count})"
        self.earlier.layout.display = None if count else "none"

    def say(self, words: str) -> None:
        """Announce something to screen readers."""
        design.put(self.heard, words, role="log")

    def show(self, turns: Sequence[ChatTurn], choices: Callable[[ChatTurn], Sequence[TurnAction]]) -> None:
        """Show these ended turns, the newest last."""
        if new := [SettledTurn() for _ in turns[len(self._settled) :]]:
            self._settled += new
            self._places.children = (*self._places.children, *(place.box for place in new))
        for place, turn in zip_longest(self._settled, turns):
            if turn is None:
                place.hide()
            else:
                place.show(turn, choices(turn))
