"""What an agent asks before it does what can't be taken back: cards with Approve and Refuse (docs/decisions/0020)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

import ipywidgets

from agentsvc_nb.client.approvals import WaitingCall
from agentsvc_nb.notebook.display.approval import call_bundle
from agentsvc_nb.notebook.failures import AskError
from agentsvc_nb.notebook.widgets import design
from agentsvc_nb.wire.limits import REASON_CHARS

Decide = Callable[[WaitingCall, bool, str], None]
"""Sends a yes or no, and why. Raises `AskError`."""


class Waiting:
    """A card for each call that waits. Shown from one thread; answered from any."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide
        self._cards: dict[str, ipywidgets.VBox] = {}
        self.box = ipywidgets.VBox([])

    def show(self, calls: Mapping[str, WaitingCall]) -> None:
        """These wait now, and no others."""
        if calls.keys() == self._cards.keys():
            return
        gone = [card for call_id, card in self._cards.items() if call_id not in calls]
        self._cards = {call_id: self._cards.get(call_id) or self._card(call) for call_id, call in calls.items()}
        self.box.children = tuple(self._cards.values())
        for card in gone:
            design.discard(card)

    def _card(self, call: WaitingCall) -> ipywidgets.VBox:
        asked = ipywidgets.HTML(call_bundle(call)["text/html"])
        reason = ipywidgets.Text(description="Reason", placeholder="for a refusal; the agent is told")
        approve = design.button("Approve", f"Let {call.tool} do this", look="primary")
        refuse = design.button("Refuse", f"{call.tool} is not called; the run goes on", look="danger")
        failed = design.text("", "wrong", role="status")

        def press(approved: bool) -> None:
            approve.disabled = refuse.disabled = True
            threading.Thread(target=send, args=(approved, reason.value[:REASON_CHARS]), daemon=True).start()

        def send(approved: bool, why: str) -> None:
            try:
                self._decide(call, approved, why)  # the run's events take the card away
            except Exception as error:  # in a thread nobody sees it
                said = f"{error} {error.hint}" if isinstance(error, AskError) else f"{type(error).__name__}: {error}"
                design.put(failed, said, "wrong", role="status")
                approve.disabled = refuse.disabled = False

        approve.on_click(lambda _: press(True))
        refuse.on_click(lambda _: press(False))
        card = ipywidgets.VBox([asked, reason, design.row([approve, refuse]), failed])
        card.add_class("asvc-card")
        return card
