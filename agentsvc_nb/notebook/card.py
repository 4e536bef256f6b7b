"""Where a run in the background is watched: a line that moves under a cell that has ended, with a Cancel button.

The line is a widget, so that it moves on after the page was reloaded. At the end the output becomes one static bundle
without a widget; only `update` of an output that the cell itself has shown may be called from a thread.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any

from agentsvc_nb.notebook.approval import calls_bundle
from agentsvc_nb.notebook.render import Bundle, status_bundle
from agentsvc_nb.notebook.stream import STATUS_SECONDS, Output
from agentsvc_nb.notebook.transcript import Transcript


class CardScreen:
    """A card in the output of the cell that runs now; made there, drawn from another thread."""

    def __init__(self, output: Output, clock: Callable[[], float] = time.monotonic) -> None:
        import ipywidgets

        self._output, self._clock = output, clock
        self._id = secrets.token_hex(4)
        self._told = ("", -STATUS_SECONDS)
        first = status_bundle(Transcript())
        self._line = ipywidgets.HTML(first["text/html"])
        self._button = ipywidgets.Button(description="Cancel", tooltip="Stop this run on the service")
        self._button.layout.width = "auto"
        self._asked = ipywidgets.HTML()
        self._box = ipywidgets.VBox([ipywidgets.HBox([self._button, self._line]), self._asked])
        self._output.show({**first, **self._box._repr_mimebundle_()}, display_id=self._id)

    def cancels(self, cancel: Callable[[], object]) -> None:
        """What the button does; it must be quick, whichever thread it is called in."""

        def pressed(button: Any) -> None:
            button.disabled, button.description = True, "Cancelling"
            cancel()

        self._button.on_click(pressed)

    def draw(self, view: Transcript) -> None:
        bundle, now = status_bundle(view), self._clock()
        if now - self._told[1] >= STATUS_SECONDS and bundle["text/html"] != self._told[0]:
            self._told = (bundle["text/html"], now)
            self._line.value = bundle["text/html"]
        asked = calls_bundle([*view.asked.values()])["text/html"]
        if asked != self._asked.value:
            self._asked.value = asked

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        # A page that was reloaded meanwhile takes no update of outputs any more, but still of the widget.
        self._button.layout.display, self._asked.value = "none", ""
        self._line.value = bundle["text/html"]
        self._output.update(bundle, self._id, metadata=metadata)

    def clear(self) -> None:
        pass  # the cell has ended: why nothing was started is shown in its place


class QuietScreen:
    """Shows nothing: a terminal, where the answer is printed when it is asked for."""

    def cancels(self, cancel: Callable[[], object]) -> None:
        pass

    def draw(self, view: Transcript) -> None:
        pass

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        pass

    def clear(self) -> None:
        pass
