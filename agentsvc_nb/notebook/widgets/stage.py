"""Where something moves below a cell that has ended: a line, and a widget below it; in the end one static bundle.

The widget moves on after the page was reloaded, when updates of outputs are lost. The line is what a notebook holds
that was saved meanwhile and is opened again, when there is no widget any more (docs/decisions/0021).
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import ipywidgets

from agentsvc_nb.notebook.display.render import Bundle, note_bundle
from agentsvc_nb.notebook.display.screens import SavedOutput
from agentsvc_nb.notebook.widgets import design


class Stage:
    """Made in the cell. Its methods may be called from any thread: they set traits and update outputs, no more."""

    def __init__(self, output: SavedOutput, line: str, parts: Sequence[ipywidgets.Widget]) -> None:
        self._output, self._line = output, line
        self._line_id, self._box_id = secrets.token_hex(4), secrets.token_hex(4)
        self._parts = tuple(parts)
        self._end = design.place()
        self._end.layout.display = "none"
        box = design.frame([*self._parts, self._end])
        output.keep(note_bundle(line), display_id=self._line_id)
        output.show({**box._repr_mimebundle_(), "text/plain": ""}, display_id=self._box_id)

    def say(self, line: str) -> None:
        """Change the static line."""
        if line != self._line:
            self._line = line
            self._output.update(note_bundle(line), self._line_id)

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        """Leave one static output. Nothing removes an output from a thread: the widget's is emptied."""
        self._output.update({"text/plain": "", "text/html": ""}, self._box_id)
        self._output.update(bundle, self._line_id, metadata=metadata)
        for part in self._parts:
            part.layout.display = "none"
        self._end.value, self._end.layout.display = bundle["text/html"], None
