"""Where an answer is streamed to within a widget: settled blocks, some to a widget (docs/decisions/0006).

`LiveScreen` decides what is sent and when. One HTML widget for the whole answer would be sent again as a whole ten
times a second; one for each block would weigh more than the block. Widgets are used again for the next answer: a page
keeps what was ever in one (docs/decisions/0024).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import ipywidgets

from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.widgets import design

CHUNK_CHARS: Final = 600
"""So much HTML stands in one widget before the next is begun."""


class Page:
    """An output area made of widgets; the first thing shown, the status line, has one of its own."""

    def __init__(self) -> None:
        self.box = ipywidgets.VBox([design.Markup()])
        self.box.add_class("asvc-page")
        self.box.add_class("jp-RenderedHTMLCommon")  # JupyterLab's own look of tables and code
        self._parts: list[dict[str, str]] = []  # by widget, what stands in it by display id
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
        """Nothing is shown; `design.STYLE` hides widgets that are empty."""
        self._parts, self._clearing = [], False
        for part in self.box.children:
            part.value = ""

    def _begin(self) -> None:
        self._parts.append({})
        if len(self._parts) > len(self.box.children):
            # Layout and style are widgets, too: shared, a part costs one message.
            first = self.box.children[0]
            self.box.children = (*self.box.children, design.Markup(layout=first.layout, style=first.style))

    def _send(self, place: int) -> None:
        self.box.children[place].value = "".join(self._parts[place].values())
