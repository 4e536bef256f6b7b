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
    """Turns below each other, the one that goes on at the bottom, and a place to write below them.

    A page frees nothing of a widget that was closed or taken out of its box, and builds all that follows it anew. So
    turns move between places that stay (docs/decisions/0024).
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
        # The whole text comes when the focus leaves it: not with each key, and before the click that left it.
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
            # Stop comes and goes: after it nothing stands that would slide under the pointer.
            design.row([self.send, part.upload, part.choose, self.close, self.stop]),
        ]

    def set_active(self, active: bool) -> None:
        self.send.disabled = active
        self.stop.disabled = False
        self.stop.description = "Stop"
        self.stop.layout.display = None if active else "none"

    def is_stopping(self) -> None:
        self.stop.disabled = True
        self.stop.description = "Stopping"

    def has_earlier(self, count: int) -> None:
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
