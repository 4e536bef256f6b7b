"""Cards of calls that wait for approval (tools, code for the kernel), as parts of a front end (`front/live.js`)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentsvc_nb.client.approvals import WaitingCall
from agentsvc_nb.notebook.display.waiting_calls import call_bundle
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.kernel.calls import KernelCall
from agentsvc_nb.notebook.widgets.front import SAID_CHARS, Front
from agentsvc_nb.wire.limits import REASON_CHARS
from agentsvc_nb.wire.text import label, worded

Decide = Callable[[WaitingCall, bool, str], None]
"""Send an approval (True) or a refusal with its reason. Raises `AskError` when that fails."""


class ApprovalCards:
    """A card for each call that waits for approval: the parts `asked/KEY` and `ran`. Clicks are handled in any thread.

    Args:
        decide: answers calls of tools. Calls for the kernel are answered by themselves.
        codes: whether the cards show the code of each call, and what came of those that have ended.
    """

    def __init__(self, front: Front, decide: Decide = lambda *_: None, *, codes: bool = True) -> None:
        self._front = front
        self._decide = decide
        self._codes = codes
        self._asked: dict[str, WaitingCall | KernelCall] = {}
        self._drawn: list[object] = []
        front.on("decide", self._decided)

    def show(self, tools: Mapping[str, WaitingCall], codes: Sequence[KernelCall]) -> None:
        """Show cards for exactly those of these calls that wait, and of code also what came of it."""
        waiting = {call.call_id: call for call in codes if call.state == "asked" and not call.by_prompt}
        self._asked = {**tools, **waiting}
        known = self._front.parts("asked/")
        parts: dict[str, Any] = dict.fromkeys(known)
        for key, call in self._asked.items():
            # Made once: a call does not change while it waits.
            parts[f"asked/{key}"] = known.get(f"asked/{key}") or self._card(call)
        ended = [call for call in codes if call.state != "asked"] if self._codes else []
        if (drawn := [call.signature for call in ended]) != self._drawn:
            self._drawn = list(drawn)
            parts["ran"] = "".join(call.bundle()["text/html"] for call in ended) or None
        self._front.change(parts)

    def _card(self, call: WaitingCall | KernelCall) -> dict[str, Any]:
        if isinstance(call, KernelCall):
            shown = call.bundle()["text/html"] if self._codes else ""
            buttons = {"yes": list(call.yes), "no": call.no_tip, "code": call.code if call.on_main_thread else None}
        else:
            tool = label(call.tool, 60)
            shown = call_bundle(call)["text/html"]
            buttons = {"yes": ["Approve", f"Let {tool} do this"], "no": f"{tool} is not called; the run goes on"}
        return {"shown": shown, "tool": label(call.tool, 60), "code": None, "failed": "", **buttons}

    def _decided(self, content: Mapping[str, Any], _: object) -> None:
        key, approved = str(content.get("key")), content.get("approved") is True
        reason = str(content.get("reason") or "")[:REASON_CHARS]
        if card := self._front.part(f"asked/{key}"):
            # The next failure is news, even if it is the same.
            self._front.remember({f"asked/{key}": {**card, "failed": ""}})
        call = self._asked.get(key)
        if isinstance(call, KernelCall):
            changed = content.get("code")
            call.decide(approved, changed if isinstance(changed, str) else None, reason)
        elif call is not None:
            threading.Thread(target=self._send, args=(key, call, approved, reason), daemon=True).start()

    def _send(self, key: str, call: WaitingCall, approved: bool, reason: str) -> None:
        try:
            self._decide(call, approved, reason)  # the run's next event removes the card
        except Exception as error:  # an error in a thread would go unseen
            said = f"{error} {error.hint}" if isinstance(error, AskError) else f"{type(error).__name__}: {error}"
            if card := self._front.part(f"asked/{key}"):
                self._front.change({f"asked/{key}": {**card, "failed": worded(said, SAID_CHARS)}})
