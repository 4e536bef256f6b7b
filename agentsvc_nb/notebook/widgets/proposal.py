"""Show the change that an answer proposes for a cell, with buttons. "Accept" lets the page change the cell."""

from __future__ import annotations

from typing import Any, Final

from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.display.screens import SavedOutput
from agentsvc_nb.notebook.kernel import edits
from agentsvc_nb.notebook.kernel.pages import NotebookCell, NotebookPage
from agentsvc_nb.notebook.widgets.card import LiveOutput, card_front
from agentsvc_nb.wire.text import escape, worded

_NO_ANSWER: Final = "The notebook page does not respond. Reload it, or copy the cell."
_BUTTONS: Final = [
    ["edit", "Accept", "Change the cell without running it", "asvc-primary"],
    ["insert", "Insert below", "Insert the changed cell below the original without running it", ""],
    ["leave", "Leave", "Do not change the cell", ""],
]
_HEADS: Final = {
    "edit": "✓ Changed, not run (revert it with Undo):",
    "insert": "✓ Inserted below, not run:",
    "leave": "■ Not changed:",
}


class Proposal:
    """Shows a proposed change in the running cell's output. Its buttons work when the kernel can receive clicks."""

    def __init__(self, output: SavedOutput, cell: NotebookCell, after: str, page: NotebookPage) -> None:
        self._cell, self._after, self._page = cell, after, page
        self._front = card_front()
        self._front.on("choose", lambda content, _: self._chosen(str(content.get("key"))))
        self._offer()
        line = f"A change of {cell.name} was proposed. After reopening the notebook, run this cell again."
        self._live = LiveOutput(output, line, self._front)

    def _offer(self, *, busy: bool = False, wrong: str = "") -> None:
        shown = proposal_bundle("● Proposed change of", self._cell, self._after)["text/html"]
        self._front.change({"choice": {"shown": shown, "buttons": _BUTTONS, "busy": busy, "wrong": worded(wrong, 400)}})

    def _chosen(self, key: str) -> None:
        if key == "leave":
            self._finish(key)
        elif key in _HEADS:
            self._offer(busy=True)

            def answered(told: dict[str, Any]) -> None:
                if wrong := edits.failure_reason(told) if told else _NO_ANSWER:
                    self._offer(wrong=wrong)
                else:
                    self._finish(key)

            cell = self._cell
            self._page.send(key, answered, cell=cell.id, was=cell.source, after=cell.id, source=self._after)

    def _finish(self, key: str) -> None:
        self._live.finish(proposal_bundle(_HEADS[key], self._cell, self._after))


def proposal_bundle(head: str, cell: NotebookCell, after: str) -> Bundle:
    """Return an output with the status, the diff, and the complete new cell for copying."""
    line, diff = f"{head} {cell.name}.", edits.diff_bundle(cell.source, after)
    shown = f"<div>{escape(line, 500)}</div>{diff['text/html']}{edits.copy_html(after)}"
    return {"text/plain": f"{line}\n{diff['text/plain']}\n", "text/html": shown}
