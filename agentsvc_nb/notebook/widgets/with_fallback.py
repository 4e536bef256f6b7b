"""A widget below a static output: what is left in a saved notebook, where no widget lives."""

from __future__ import annotations

import ipywidgets

from agentsvc_nb.client.cards import Showing
from agentsvc_nb.notebook import host
from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.widgets import outputs
from agentsvc_nb.wire.text import label, worded


class WidgetWithFallback(Showing):
    """What a cell shows: a line that unfolds to what there was and says how to bring it back, then the widget."""

    def __init__(self, summary: Bundle, widget: ipywidgets.Widget) -> None:
        self.summary, self.widget = summary, widget

    def _ipython_display_(self) -> None:
        from IPython.core.getipython import get_ipython

        shell = get_ipython()
        output = outputs.output(shell, host.mode(shell))
        output.keep(self.summary)
        output.show(self.widget._repr_mimebundle_())

    def __repr__(self) -> str:
        return self.summary["text/plain"]

    def _mimebundle(self) -> Bundle:
        return dict(self.summary)


def summary(said: str, again: str, shown: Bundle) -> Bundle:
    """One line of what it is and of how to open it `again`, with a static form of it folded in."""
    line = f"{label(said, 300)} In a notebook that was opened again, {again} brings this back."
    return {
        "text/plain": f"{line}\n{shown['text/plain']}",
        "text/html": f"<details><summary>{worded(line, 600)}</summary>{shown['text/html']}</details>",
    }
