"""Cards of calls for the user's kernel: the code or the change of a cell, and buttons to approve or refuse it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import ipywidgets

from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.display.screens import LiveScreen, SavedOutput
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.kernel.calls import KernelCall
from agentsvc_nb.notebook.widgets import design
from agentsvc_nb.wire.limits import REASON_CHARS


class KernelCards:
    """A card for each call that waits for approval. `show` is for one thread; clicks are handled in any.

    Args:
        codes: whether the cards show the code of each call, and what came of those that have ended.
    """

    def __init__(self, *, codes: bool) -> None:
        self._codes = codes
        self._cards: dict[str, ipywidgets.VBox] = {}
        self._drawn: list[object] = []
        self._past = [design.place()] if codes else []  # in its box from the beginning, to be discarded with it
        self.box = ipywidgets.VBox(self._past)

    def show(self, calls: Sequence[KernelCall]) -> None:
        """Show cards for exactly those of these calls that wait."""
        asked = {call.call_id: call for call in calls if call.state == "asked" and not call.by_prompt}
        if self._codes and (drawn := [call.signature for call in calls if call.state != "asked"]) != self._drawn:
            self._drawn = list(drawn)
            self._past[0].value = "".join(call.bundle()["text/html"] for call in calls if call.state != "asked")
        if asked.keys() == self._cards.keys():  # cards are kept as they are: code may be half typed
            return
        gone = [card for call_id, card in self._cards.items() if call_id not in asked]
        self._cards = {call_id: self._cards.get(call_id) or self._card(call) for call_id, call in asked.items()}
        self.box.children = (*self._past, *self._cards.values())
        for card in gone:
            design.discard(card)

    def _card(self, call: KernelCall) -> ipywidgets.VBox:
        code = design.area("Code to run", call.code, rows=min(20, call.code.count("\n") + 2))
        code.add_class("asvc-code")
        code.layout.display = "none"
        reason = design.reason()
        approve = design.button(*call.yes, look="primary")
        edit = design.button("Edit", "Change the code before it runs")
        refuse = design.button("Refuse", call.no_tip, look="danger")

        def unfold(_: ipywidgets.Button) -> None:
            code.layout.display = None
            approve.description = "Run as changed"
            edit.disabled = True

        def decide(approved: bool) -> None:
            approve.disabled = edit.disabled = refuse.disabled = True
            call.decide(approved, code.value if edit.disabled and approved else None, reason.value[:REASON_CHARS])

        approve.on_click(lambda _: decide(True))
        edit.on_click(unfold)
        refuse.on_click(lambda _: decide(False))
        buttons = [approve, *([edit] if call.on_main_thread else []), refuse]
        asked = [design.place(call.bundle()["text/html"])] if self._codes else []
        card = ipywidgets.VBox([*asked, code, reason, design.row(buttons)])
        card.add_class("asvc-card")
        return card


class AskingScreen(LiveScreen):
    """A live screen with buttons for calls of its run for the kernel, below the code that it shows."""

    def __init__(self, output: SavedOutput, reloads: Callable[[], int] = lambda: 0) -> None:
        super().__init__(output, reloads=reloads)
        self._cards: KernelCards | None = None
        self._placed = ""

    def _restart(self) -> None:
        super()._restart()
        self._placed = ""

    def _draw_buttons(self, view: RunView) -> None:
        if self._cards is None:
            if not any(call.state == "asked" for call in view.kernel):
                return
            self._cards = KernelCards(codes=False)
            self._frame = design.frame([self._cards.box], card=False)
        if not self._placed:
            self._placed = self._put({**self._frame._repr_mimebundle_(), "text/plain": ""}, "")
        self._cards.show(view.kernel)

    def finish(self, bundle: Bundle, metadata: object = None) -> None:
        super().finish(bundle, metadata)  # type: ignore[arg-type]
        self._leave()

    def clear(self) -> None:
        super().clear()
        self._leave()

    def _leave(self) -> None:
        if self._cards is not None:
            design.discard(self._frame)
            self._cards = None
