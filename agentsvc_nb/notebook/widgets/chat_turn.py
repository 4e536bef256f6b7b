"""One turn of a chat as it is shown: what was asked, the answer as it comes, and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets

from agentsvc_nb.notebook.render import Bundle
from agentsvc_nb.notebook.stream import LiveScreen
from agentsvc_nb.notebook.transcript import Transcript
from agentsvc_nb.notebook.widgets import design
from agentsvc_nb.notebook.widgets.chat_approve import Answer, Waiting
from agentsvc_nb.notebook.widgets.chat_page import Page
from agentsvc_nb.notebook.widgets.chat_state import Exchange, asked_html

CELL_ROWS = 12


class _Screen(LiveScreen):
    """What waits for approval has buttons here (`Waiting`), not a line on how to answer it elsewhere."""

    def _draw_asked(self, view: Transcript) -> None:
        pass


class TurnBox:
    """Watches the run of a turn (`stream.Screen`). Drawn from one thread; the rest under the lock of the chat.

    `cell` gives the turn as a cell; `answer` answers a call that waits for approval.
    """

    def __init__(self, turn: Exchange, cell: Callable[[], str], answer: Answer) -> None:
        self.turn, self._cell = turn, cell
        self.chat: str | None = None
        self.wrote: tuple[str, ...] = ()
        self._page = Page()
        self._screen = _Screen(self._page)
        self._waiting = Waiting(answer)
        self._below = design.row([])
        self._closed = False
        asked = ipywidgets.HTML(asked_html(turn))
        self.box = ipywidgets.VBox([asked, self._page.box, self._waiting.box, self._below])

    def begin(self) -> None:
        """A run of it will be watched, maybe not the first one."""
        self.turn.bundle = None
        self._page.clear()
        self._screen = _Screen(self._page)
        self.offer()

    # -- what a screen does ------------------------------------------------------------------------------------------

    def draw(self, view: Transcript) -> None:
        self.turn.run_id, self.chat, self.wrote = view.run_id, view.chat, tuple(view.files)
        if not self._closed:
            self._screen.draw(view)
            self._waiting.show(view.asked)

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        self.turn.bundle = bundle
        if self._closed:
            return
        self._screen.finish(bundle)
        self._waiting.show({})
        if self.turn.typed:
            self.offer(("As a cell", f"Turn {self.turn.number} as an %%ask cell, to copy", self._show_cell))

    def clear(self) -> None:
        pass  # why nothing was started is shown in its place

    # -- what is below it --------------------------------------------------------------------------------------------

    def offer(self, *choices: tuple[str, str, Callable[[], None]]) -> None:
        """Buttons below the turn, in place of those that were there: name, what it does, and the doing of it."""
        gone = self._below.children
        buttons = []
        for name, tooltip, act in choices:
            buttons.append(design.button(name, tooltip))
            buttons[-1].on_click(lambda _, act=act: act())
        self._below.children = tuple(buttons)
        for part in gone:
            design.discard(part)

    def close(self) -> None:
        """It is shown no more; what is still drawn goes nowhere. An empty box stays (`ChatView.remove`)."""
        self._closed = True
        gone, self.box.children = self.box.children, ()
        self.box.layout.display = "none"
        for part in gone:
            design.discard(part)

    def _show_cell(self) -> None:
        """The text, to be copied: no kernel can put it into the clipboard, and from a button none can make a cell."""
        if any(isinstance(part, ipywidgets.Textarea) for part in self.box.children):
            return
        text = self._cell()
        area = design.area(f"Turn {self.turn.number}, to copy", text, rows=min(CELL_ROWS, text.count("\n") + 1))
        self.box.children = (*self.box.children, area)
        area.focus()
