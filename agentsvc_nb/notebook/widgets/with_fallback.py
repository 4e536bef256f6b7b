"""A widget below a static output, which remains in a saved notebook."""

from __future__ import annotations

import ipywidgets

from agentsvc_nb.client.cards import Showing
from agentsvc_nb.notebook import host
from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.widgets import outputs
from agentsvc_nb.wire.text import label, worded


class WidgetWithFallback(Showing):
    """A cell value of two outputs: a line that unfolds to the static form and names the command, then the widget."""

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
    """The static output: a line with a description (`said`) and the command `again`, and folded below it `shown`."""
    line = f"{label(said, 300)} In a notebook that was opened again, {again} brings this back."
    return {
        "text/plain": f"{line}\n{shown['text/plain']}",
        "text/html": f"<details><summary>{worded(line, 600)}</summary>{shown['text/html']}</details>",
    }
