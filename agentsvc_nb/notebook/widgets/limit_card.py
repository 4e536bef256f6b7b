"""Show a front-end part (`front/live.js`) for a run near its cost limit, with a button that raises the limit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from agentsvc_nb.notebook.display.limits import spent_line
from agentsvc_nb.notebook.display.markdown import line_html
from agentsvc_nb.notebook.display.transcript import NearLimit, RunView
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.widgets.front import SAID_CHARS, Front
from agentsvc_nb.wire.text import worded

RaiseLimit = Callable[[str, float], object]
"""Raises the cost limit of the run with this id to this number of cents. Raises `AskError` if that fails."""


class LimitCard:
    """Shows the card as the part `near` while the run is near its limit. Any thread may handle clicks."""

    def __init__(self, front: Front, raise_limit: RaiseLimit) -> None:
        self._front = front
        self._raise_limit = raise_limit
        self._run_id = ""
        self._near: NearLimit | None = None
        front.on("raise", self._pressed)

    def show(self, view: RunView) -> None:
        """Show the card for this run. Remove the card if the run is not near its limit."""
        if view.near_limit == self._near and view.run_id == self._run_id:
            return
        self._run_id, self._near = view.run_id, view.near_limit
        self._front.change({"near": self._part()})

    def clear(self) -> None:
        self._near = None
        self._front.change({"near": None})

    def _part(self, failed: str = "") -> dict[str, Any] | None:
        if (near := self._near) is None:
            return None
        shown = line_html(spent_line(near))
        to = f"{near.suggested_cents:g} cents"
        return {"shown": shown, "button": [f"Raise to {to}", f"Raise the limit of this run to {to}"], "failed": failed}

    def _pressed(self, _: Mapping[str, Any], __: object) -> None:
        if self._near is not None:
            self._front.remember({"near": self._part()})  # otherwise, an identical error would not be announced again
            threading.Thread(target=self._send, args=(self._run_id, self._near), daemon=True).start()

    def _send(self, run_id: str, near: NearLimit) -> None:
        try:
            self._raise_limit(run_id, near.suggested_cents)  # the card is removed by the run's next event
        except Exception as error:  # no other code would handle an exception in this thread
            said = f"{error} {error.hint}" if isinstance(error, AskError) else f"{type(error).__name__}: {error}"
            if self._near == near:
                self._front.change({"near": self._part(worded(said, SAID_CHARS))})
