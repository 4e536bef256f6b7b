"""The widgets of a chat, without their behaviour: the active turn, streamed in settled blocks, and the ended ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

import ipywidgets

from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.display.screens import LiveScreen
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.widgets import design
from agentsvc_nb.notebook.widgets.cards import ApprovalCards, Decide
from agentsvc_nb.notebook.widgets.chat.attach import Attaching
from agentsvc_nb.notebook.widgets.chat.state import ChatTurn, asked_html
from agentsvc_nb.notebook.widgets.kernel_cards import KernelCards
from agentsvc_nb.wire.text import label


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


CHUNK_CHARS: Final = 600
"""The most characters of HTML in one widget before the next is begun."""


class WidgetOutput:
    """An output area (`screens.Output`) made of widgets. The first thing shown, the status line, has its own widget."""

    def __init__(self) -> None:
        self.box = ipywidgets.VBox([design.Markup()])
        self.box.add_class("asvc-page")
        self.box.add_class("jp-RenderedHTMLCommon")  # JupyterLab's own look of tables and code
        self._parts: list[dict[str, str]] = []  # for each widget, its HTML by display id
        self._clearing = False

    def show(self, bundle: Bundle, *, display_id: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        if self._clearing:
            self.empty()
        if len(self._parts) < 2 or sum(map(len, self._parts[-1].values())) >= CHUNK_CHARS:
            self._begin()
        self._parts[-1][display_id or ""] = bundle["text/html"]
        self._send(len(self._parts) - 1)

    def update(self, bundle: Bundle, display_id: str, *, metadata: Mapping[str, Any] | None = None) -> None:
        place = next(number for number, parts in enumerate(self._parts) if display_id in parts)
        self._parts[place][display_id] = bundle["text/html"]
        self._send(place)

    def clear(self) -> None:
        self._clearing = True

    def empty(self) -> None:
        """Show nothing: `design.STYLE` hides widgets that are empty."""
        self._parts = []
        self._clearing = False
        for part in self.box.children:
            part.value = ""

    def _begin(self) -> None:
        self._parts.append({})
        if len(self._parts) > len(self.box.children):
            # Layout and style are widgets, too; sharing them, a new part costs one message instead of three.
            first = self.box.children[0]
            self.box.children = (*self.box.children, design.Markup(layout=first.layout, style=first.style))

    def _send(self, place: int) -> None:
        self.box.children[place].value = "".join(self._parts[place].values())


class _Screen(LiveScreen):
    """A live screen without the text about waiting calls: here they have buttons (`ApprovalCards`)."""

    def _draw_asked(self, view: RunView) -> None:
        pass

    def _draw_kernel(self, view: RunView) -> None:
        """Do nothing: `KernelCards` show them."""


class LiveTurn:
    """The widget of the active turn, reused for all turns of a chat. `decide` sends approvals and refusals."""

    def __init__(self, decide: Decide) -> None:
        self._asked = ipywidgets.HTML()
        self._page = WidgetOutput()
        self._screen = _Screen(self._page)
        self._approvals = ApprovalCards(decide)
        self._kernel = KernelCards(codes=True)
        self._closed = False
        self.box = ipywidgets.VBox([self._asked, self._page.box, self._approvals.box, self._kernel.box])
        self.end()

    def begin(self, turn: ChatTurn) -> None:
        self._asked.value = asked_html(turn)
        self._screen = _Screen(self._page)
        self.box.layout.display = None

    def draw(self, view: RunView) -> None:
        if not self._closed:
            self._screen.draw(view)
            self._approvals.show(view.asked)
            self._kernel.show(view.kernel)

    def end(self) -> None:
        """Hide the widget: the turn has ended, and is shown by a `SettledTurn`."""
        self.box.layout.display = "none"
        self._page.empty()
        self._approvals.show({})
        self._kernel.show(())

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


CELL_ROWS = 12

TurnAction = tuple[str, str, Callable[[], str]]
"""A button: its name, its tooltip, its action. If the action returns a text, it is shown for copying."""


class SettledTurn:
    """The widget of an ended turn, reused for other turns. Not thread-safe."""

    def __init__(self) -> None:
        self._text = design.Markup()
        self._buttons = design.row([])
        self._choices: Sequence[TurnAction] = ()
        self._copied: ipywidgets.Textarea | None = None
        self.box = ipywidgets.VBox([self._text, self._buttons])

    def show(self, turn: ChatTurn, choices: Sequence[TurnAction]) -> None:
        self._number = turn.number
        came = f'<div class="jp-RenderedHTMLCommon">{turn.bundle["text/html"]}</div>' if turn.bundle else ""
        self._put(asked_html(turn) + came, choices)

    def hide(self) -> None:
        self._put("", ())

    def _put(self, html: str, choices: Sequence[TurnAction]) -> None:
        if html != self._text.value:
            self._text.value = html
            if self._copied is not None:
                self._copied.layout.display = "none"
        self._offer(choices)
        self.box.layout.display = None if html else "none"

    def _offer(self, choices: Sequence[TurnAction]) -> None:
        self._choices = choices
        for number in range(len(self._buttons.children), len(choices)):
            new = design.button("", "")
            new.on_click(lambda _, number=number: self._press(number))
            self._buttons.children = (*self._buttons.children, new)
        for number, button in enumerate(self._buttons.children):
            if number < len(choices):
                button.description = label(choices[number][0], 80)
                button.tooltip = label(choices[number][1])
            button.layout.display = None if number < len(choices) else "none"

    def _press(self, number: int) -> None:
        _, _, act = self._choices[number]
        if text := act():
            self._show_copied(text)

    def _show_copied(self, text: str) -> None:
        """Show a text for copying: a kernel cannot write to the clipboard, nor create a cell after a click."""
        copied = self._copied or design.area("")
        copied.description = f"Turn {self._number}, to copy"
        copied.value = text
        copied.rows = min(CELL_ROWS, text.count("\n") + 1)
        copied.layout.display = None
        if self._copied is None:  # added only once it has a text, so that the page never shows it empty
            self._copied = copied
            self.box.children = (*self.box.children, copied)
        copied.focus()
