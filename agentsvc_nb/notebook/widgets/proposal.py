"""A change of a cell that an answer proposes: the diff, and buttons that have the page write it."""

from __future__ import annotations

from typing import Any

import ipywidgets

from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.display.screens import SavedOutput
from agentsvc_nb.notebook.kernel import edits
from agentsvc_nb.notebook.kernel.pages import Cell, Page
from agentsvc_nb.notebook.widgets import design
from agentsvc_nb.notebook.widgets.cards import LiveOutput
from agentsvc_nb.wire.text import escape

_NO_ANSWER = "The page does not answer: load it anew, or copy the cell."


class Proposal:
    """Shown in the running cell; its buttons work once the kernel hears them."""

    def __init__(self, output: SavedOutput, cell: Cell, after: str, page: Page) -> None:
        self._cell, self._after, self._page = cell, after, page
        shown = proposal_bundle("● A change is proposed:", cell, after)
        accept = design.button("Accept", "Write this into the cell; it is not run", look="primary")
        below = design.button("Insert below", "Put the changed cell below the one that it is of; it is not run")
        leave = design.button("Leave", "The cell stays as it is")
        self._buttons = (accept, below, leave)
        self._said = design.text("", "wrong", role="status")
        accept.on_click(lambda _: self._ask("edit", "✓ Changed, not run, and undone by Undo:"))
        below.on_click(lambda _: self._ask("insert", "✓ Put below, not run:"))
        leave.on_click(lambda _: self._finish("■ Left as it was:"))
        line = f"A change of {cell.name} was proposed. In a notebook that was opened again, run this cell again."
        parts: list[ipywidgets.Widget] = [design.place(shown["text/html"]), design.row(self._buttons), self._said]
        self._live = LiveOutput(output, line, parts)

    def _ask(self, do: str, head: str) -> None:
        for button in self._buttons:
            button.disabled = True

        def answered(told: dict[str, Any]) -> None:
            if wrong := edits.wrong(told) if told else _NO_ANSWER:
                design.put(self._said, wrong, "wrong", role="status")
                for button in self._buttons:
                    button.disabled = False
            else:
                self._finish(head)

        cell = self._cell
        self._page.tell(do, answered, cell=cell.id, was=cell.source, after=cell.id, source=self._after)

    def _finish(self, head: str) -> None:
        self._live.finish(proposal_bundle(head, self._cell, self._after))


def proposal_bundle(head: str, cell: Cell, after: str) -> Bundle:
    """The diff below a line that says what became of it, and the whole cell to copy."""
    line, diff = f"{head} {cell.name}.", edits.diff_bundle(cell.source, after)
    shown = f"<div>{escape(line, 500)}</div>{diff['text/html']}{edits.copy_html(after)}"
    return {"text/plain": f"{line}\n{diff['text/plain']}\n", "text/html": shown}
