"""Show a card with buttons for each call that waits for approval, as a part of a front end (`front/live.js`)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from agentsvc_nb.client.approvals import PendingApproval
from agentsvc_nb.notebook.display.waiting_calls import call_bundle
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.kernel.calls import KernelCall
from agentsvc_nb.notebook.widgets.front import SAID_CHARS, Front
from agentsvc_nb.wire.limits import REASON_CHARS
from agentsvc_nb.wire.reading import read_json
from agentsvc_nb.wire.runs import Lasts, NewStandingApproval, Verdict
from agentsvc_nb.wire.text import editable, label, worded

_RUN: Final = "Run as changed"
_APPROVE: Final = "Approve as changed"
Decide = Callable[[PendingApproval, Verdict], None]
"""Sends the user's decision about a tool call. Raises `AskError` if sending fails."""


class ApprovalCards:
    """Shows waiting calls as the parts `asked/KEY` and outcomes as the part `ran`. Any thread may handle clicks.

    Args:
        decide: sends a decision about a tool call. Not used for calls for the kernel, which are decided with
            `KernelCall.decide`.
        codes: whether to show the code of calls for the kernel, and their outcome after they have ended.
    """

    def __init__(self, front: Front, decide: Decide = lambda *_: None, *, codes: bool = True) -> None:
        self._front = front
        self._decide = decide
        self._codes = codes
        self._asked: dict[str, PendingApproval | KernelCall] = {}
        self._drawn: list[object] = []
        front.on("decide", self._decided)

    def show(self, tools: Mapping[str, PendingApproval], codes: Sequence[KernelCall]) -> None:
        """Show a card for each of these calls that waits for approval, and remove all other cards."""
        waiting = {call.call_id: call for call in codes if call.state == "asked" and not call.by_prompt}
        self._asked = {**tools, **waiting}
        cards = {f"asked/{key}": call for key, call in self._asked.items()}
        known = self._front.parts("asked/")
        parts: dict[str, Any] = dict.fromkeys(known.keys() - cards.keys())
        # Leave existing cards as they are: a waiting call does not change, and another thread may write to its card.
        parts |= {name: self._card(call) for name, call in cards.items() if name not in known}
        ended = [call for call in codes if call.state != "asked"] if self._codes else []
        if (drawn := [call.signature for call in ended]) != self._drawn:
            self._drawn = list(drawn)
            parts["ran"] = "".join(call.bundle()["text/html"] for call in ended) or None
        self._front.change(parts)

    def _card(self, call: PendingApproval | KernelCall) -> dict[str, Any]:
        tool = label(call.tool, 60)
        if isinstance(call, KernelCall):
            shown = call.bundle()["text/html"] if self._codes else ""
            edit = {"label": "Code to run", "text": call.code, "tip": "Change the code before it runs", "yes": _RUN}
            buttons = {"yes": list(call.yes), "no": call.no_tip, "edit": edit if call.on_main_thread else None}
        else:
            shown = call_bundle(call)["text/html"]
            tip = f"Change the arguments of {tool}; the agent sees the change"
            edit = {"label": "Arguments as JSON", "text": editable(call.input), "tip": tip, "yes": _APPROVE}
            yes = ["Approve", f"Call {tool} with these arguments"]
            buttons = {"yes": yes, "no": f"Do not call {tool}; the run continues", "edit": edit}
        scopes = [[name, words] for name, (words, _) in _scopes(call).items()]
        return {"shown": shown, "tool": tool, "failed": "", "scopes": scopes, **buttons}

    def _decided(self, content: Mapping[str, Any], _: object) -> None:
        key, approved = str(content.get("key")), content.get("approved") is True
        reason = str(content.get("reason") or "")[:REASON_CHARS]
        self._front.update_part(f"asked/{key}", failed="")  # otherwise, an identical error would not be announced again
        call = self._asked.get(key)
        edited = content.get("edited") if approved else None
        text = edited if isinstance(edited, str) else None
        if isinstance(call, KernelCall):
            call.decide(approved, text, reason)
        elif call is not None:
            _, standing = _scopes(call).get(str(content.get("scope")), ("", None))
            verdict = Verdict(approved=approved, reason=None if approved else reason)
            verdict.standing = standing if approved else None
            threading.Thread(target=self._send, args=(key, call, verdict, text), daemon=True).start()

    def _send(self, key: str, call: PendingApproval, verdict: Verdict, text: str | None) -> None:
        try:
            verdict.input = None if text is None else _read_input(text)
            self._decide(call, verdict)  # the card is removed by the run's next event
        except Exception as error:  # no other code would handle an exception in this thread
            said = f"{error} {error.hint}" if isinstance(error, AskError) else f"{type(error).__name__}: {error}"
            self._front.update_part(f"asked/{key}", failed=worded(said, SAID_CHARS))


def _scopes(call: PendingApproval | KernelCall) -> dict[str, tuple[str, NewStandingApproval | None]]:
    """Return the choices of how long an approval applies: by name, the label and the standing approval of a choice.

    The standing approval is None for the choice to approve only this call.
    """
    if isinstance(call, KernelCall) or not call.standing:
        return {}
    found: dict[str, tuple[str, NewStandingApproval | None]] = {"": ("this call", None)}
    ends: tuple[tuple[Lasts, str], ...] = (("run", "in this run"), ("hour", "in this chat for an hour"))
    for lasts, words in ends:
        if lasts in call.standing:
            found[lasts] = (f"all calls {words}", NewStandingApproval(lasts=lasts))
            if call.folder:
                where = f"all calls for files in {label(call.folder, 60)} {words}"
                found[f"{lasts}/"] = (where, NewStandingApproval(lasts=lasts, folder=call.folder))
    return found


def _read_input(text: str) -> dict[str, Any]:
    """Parse the arguments that the user has edited. Raises `AskError` if they are not a JSON object."""
    try:
        found = read_json(text)
    except ValueError as error:
        raise AskError(f"The arguments are not valid JSON: {error}; nothing was sent.") from None
    if not isinstance(found, dict):
        raise AskError("The arguments must be a JSON object; nothing was sent.")
    return found
