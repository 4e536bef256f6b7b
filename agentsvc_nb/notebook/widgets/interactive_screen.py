"""The live screen of a foreground run, with buttons. It is for pages from which clicks arrive while the cell runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.display.screens import LiveScreen, Output
from agentsvc_nb.notebook.display.transcript import RunView

if TYPE_CHECKING:
    from agentsvc_nb.notebook.widgets.front import Front
    from agentsvc_nb.notebook.widgets.limit_card import RaiseLimit


class InteractiveScreen(LiveScreen):
    """A live screen with buttons to approve or refuse code for the kernel, and to raise a nearly reached cost limit."""

    def __init__(self, output: Output, raise_limit: RaiseLimit, reloads: Callable[[], int] = lambda: 0) -> None:
        super().__init__(output, reloads=reloads)
        self._raise_limit = raise_limit
        self._front: Front | None = None
        self._placed = ""

    def _restart(self) -> None:
        super()._restart()
        self._placed = ""

    def _draw_limit(self, view: RunView) -> None:
        """Show the limit after it was raised. Until then, the card with the button shows the warning."""
        if view.near_limit is None:
            super()._draw_limit(view)

    def _draw_buttons(self, view: RunView) -> None:
        if self._front is None:
            if view.near_limit is None and not any(call.state == "asked" for call in view.kernel):
                return
            # imported here, because widgets are slow to load and most runs need no buttons
            from agentsvc_nb.notebook.widgets.approvals import ApprovalCards
            from agentsvc_nb.notebook.widgets.card import card_front
            from agentsvc_nb.notebook.widgets.limit_card import LimitCard

            self._front = card_front()
            self._approvals = ApprovalCards(self._front, codes=False)
            self._card = LimitCard(self._front, self._raise_limit)
        if not self._placed:
            data = self._front._repr_mimebundle_()[0]
            self._placed = self._put({**data, "text/plain": ""}, "")
        self._approvals.show({}, view.kernel)
        self._card.show(view)

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        super().finish(bundle, metadata)
        self._leave()

    def clear(self) -> None:
        super().clear()
        self._leave()

    def _leave(self) -> None:
        if self._front is not None:
            self._front.close()
            self._front = None
