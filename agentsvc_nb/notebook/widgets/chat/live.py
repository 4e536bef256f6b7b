"""The turn that goes on, as it is shown: what was asked, the answer as it comes, what waits for approval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ipywidgets

from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.display.screens import LiveScreen
from agentsvc_nb.notebook.display.transcript import Transcript
from agentsvc_nb.notebook.widgets.approve import Decide, Waiting
from agentsvc_nb.notebook.widgets.chat.page import Page
from agentsvc_nb.notebook.widgets.chat.state import Exchange, asked_html


class _Screen(LiveScreen):
    """What waits for approval has buttons here (`Waiting`), not a line on how to answer it elsewhere."""

    def _draw_asked(self, view: Transcript) -> None:
        pass


class LiveTurn:
    """One for all turns of a chat, one after the other. `decide` answers a call that waits for approval."""

    def __init__(self, decide: Decide) -> None:
        self._asked = ipywidgets.HTML()
        self._page = Page()
        self._screen = _Screen(self._page)
        self._waiting = Waiting(decide)
        self._closed = False
        self.box = ipywidgets.VBox([self._asked, self._page.box, self._waiting.box])
        self.end()

    def begin(self, turn: Exchange) -> None:
        self._asked.value = asked_html(turn)
        self._screen = _Screen(self._page)
        self.box.layout.display = None

    def draw(self, view: Transcript) -> None:
        if not self._closed:
            self._screen.draw(view)
            self._waiting.show(view.asked)

    def end(self) -> None:
        """It is shown elsewhere now."""
        self.box.layout.display = "none"
        self._page.empty()
        self._waiting.show({})

    def close(self) -> None:
        """What is still drawn goes nowhere."""
        self._closed = True


class TurnScreen:
    """Watches the run of a turn (`screens.Screen`), from one thread."""

    def __init__(self, turn: Exchange, live: LiveTurn) -> None:
        self.turn, self._live = turn, live
        self.chat: str | None = None
        self.wrote: tuple[str, ...] = ()

    def draw(self, view: Transcript) -> None:
        self.turn.run_id, self.chat, self.wrote = view.run_id, view.chat, tuple(view.files)
        self._live.draw(view)

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        self.turn.bundle = bundle

    def clear(self) -> None:
        pass  # why nothing was started is shown in its place
