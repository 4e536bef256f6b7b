"""What a page says to a widget is heard by the thread that the page addressed (docs/decisions/0025).

ipykernel 7.4 sends it to the subshell that last spoke through the widget instead. A page that was loaded again has
others: its buttons would be dead once theirs is gone, or be heard before the text that was typed first.
"""

from __future__ import annotations

from typing import Any

import ipywidgets


def keep_addressed(widget: ipywidgets.Widget) -> None:
    """For this widget and all that is in it, now and later."""
    if widget.comm is None or getattr(widget.comm, "_reply_subshell_for", None) is _as_addressed:
        return
    widget.comm._reply_subshell_for = _as_addressed
    if widget.has_trait("children"):
        widget.observe(lambda change: _keep_all(change["new"]), "children")
        _keep_all(widget.children)


def _keep_all(widgets: tuple[ipywidgets.Widget, ...]) -> None:
    for each in widgets:
        keep_addressed(each)


def _as_addressed(data: Any, subshell: str | None) -> str | None:
    return subshell
