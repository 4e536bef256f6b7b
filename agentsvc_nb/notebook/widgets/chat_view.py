"""The widgets of a chat, without what they do."""

from __future__ import annotations

import ipywidgets

from agentsvc_nb.notebook.widgets import design
from agentsvc_nb.notebook.widgets.chat_attach import Attaching
from agentsvc_nb.notebook.widgets.chat_turn import TurnBox


class ChatView:
    """Turns below each other, the newest at the bottom, and a place to write below them."""

    def __init__(self) -> None:
        self.earlier = design.button("Show earlier", "Show turns before these")
        self._turns = ipywidgets.VBox([])
        scrolled = ipywidgets.VBox([self._turns])
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
        self.is_going(False)
        self.has_earlier(0)

    def _below(self) -> list[ipywidgets.Widget]:
        part = self.attaching
        return [
            part.chips,
            part.note,
            self.input,
            design.row([self.send, self.stop, part.upload, part.choose, self.close]),
        ]

    def is_going(self, going: bool) -> None:
        self.send.disabled = going
        self.stop.disabled, self.stop.description = False, "Stop"
        self.stop.layout.display = None if going else "none"

    def is_stopping(self) -> None:
        self.stop.disabled, self.stop.description = True, "Stopping"

    def has_earlier(self, count: int) -> None:
        self.earlier.description = f"Show earlier ({count})"
        self.earlier.layout.display = None if count else "none"

    def say(self, words: str) -> None:
        """For who listens rather than looks."""
        design.put(self.heard, words, role="log")

    def append(self, turn: TurnBox) -> None:
        self._turns.children = (*self._turns.children, turn.box)

    def prepend(self, turns: list[TurnBox]) -> None:
        gone = [box for box in self._turns.children if not box.children]
        shown = [box for box in self._turns.children if box.children]
        self._turns.children = (*(turn.box for turn in turns), *shown)
        for box in gone:
            design.discard(box)

    def remove(self, turns: list[TurnBox]) -> None:
        """Leave empty boxes: a page builds all that follows one that is taken out anew, and frees none of the old."""
        for turn in turns:
            turn.close()
