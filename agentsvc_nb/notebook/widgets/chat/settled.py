"""A turn that has ended, as it is shown: what was asked, what came of it, and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import ipywidgets

from agentsvc_nb.notebook.widgets import design
from agentsvc_nb.notebook.widgets.chat.state import Exchange, asked_html
from agentsvc_nb.safe.text import label

CELL_ROWS = 12

Choice = tuple[str, str, Callable[[], str]]
"""The name of a button, what it does, and the doing of it. A text that it gives is shown, to be copied."""


class SettledTurn:
    """A place for a turn. It is used again for others: not for two threads at once."""

    def __init__(self) -> None:
        self._text = design.Markup()
        self._buttons = design.row([])
        self._choices: Sequence[Choice] = ()
        self._copied: ipywidgets.Textarea | None = None
        self.box = ipywidgets.VBox([self._text, self._buttons])

    def show(self, turn: Exchange, choices: Sequence[Choice]) -> None:
        self._number = turn.number
        came = f'<div class="jp-RenderedHTMLCommon">{turn.bundle["text/html"]}</div>' if turn.bundle else ""
        self._put(asked_html(turn) + came, choices)

    def hide(self) -> None:
        self._put("", ())

    def _put(self, html: str, choices: Sequence[Choice]) -> None:
        if html != self._text.value:
            self._text.value = html
            if self._copied is not None:
                self._copied.layout.display = "none"
        self._offer(choices)
        self.box.layout.display = None if html else "none"

    def _offer(self, choices: Sequence[Choice]) -> None:
        self._choices = choices
        for number in range(len(self._buttons.children), len(choices)):
            new = design.button("", "")
            new.on_click(lambda _, number=number: self._press(number))
            self._buttons.children = (*self._buttons.children, new)
        for number, button in enumerate(self._buttons.children):
            if number < len(choices):
                button.description, button.tooltip = label(choices[number][0], 80), label(choices[number][1])
            button.layout.display = None if number < len(choices) else "none"

    def _press(self, number: int) -> None:
        _, _, act = self._choices[number]
        if text := act():
            self._show_copied(text)

    def _show_copied(self, text: str) -> None:
        """No kernel can put a text into the clipboard, and from a button none can make a cell."""
        copied = self._copied or design.area("")
        copied.description, copied.value = f"Turn {self._number}, to copy", text
        copied.rows = min(CELL_ROWS, text.count("\n") + 1)
        copied.layout.display = None
        if self._copied is None:  # shown when it is filled: a page is never seen with an empty one
            self._copied = copied
            self.box.children = (*self.box.children, copied)
        copied.focus()
