"""A widget below a static output, which is what remains in a saved notebook."""

from __future__ import annotations

import ipywidgets

from agentsvc_nb.client.cards import Showing
from agentsvc_nb.notebook import host
from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.widgets import outputs
from agentsvc_nb.wire.text import label, worded


class WidgetWithFallback(Showing):
    """Two outputs: a line that unfolds to a static form and says how to bring the widget back, then the widget."""

    def __init__(self, summary: Bundle, widget: ipywidgets.Widget) -> None:
        self.summary = summary
        self.widget = widget

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
    """A line with a description and the command that opens the widget `again`; the static form is folded below."""
    line = f"{label(said, 300)} In a notebook that was opened again, {again} brings this back."
    return {
        "text/plain": f"{line}\n{shown['text/plain']}",
        "text/html": f"<details><summary>{worded(line, 600)}</summary>{shown['text/html']}</details>",
    }
