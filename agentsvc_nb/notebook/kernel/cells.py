"""What an agent is offered of the notebook's cells, where its page has our extension: to list and to show them, and to
propose a change of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import Field

from agentsvc_nb.client.client_tools import CallAnswer, current_call
from agentsvc_nb.notebook.kernel import edits
from agentsvc_nb.notebook.kernel.calls import INVISIBLE, KernelCall, failed
from agentsvc_nb.notebook.kernel.edits import EditCall
from agentsvc_nb.notebook.kernel.pages import Cell, Page, PageGone
from agentsvc_nb.wire.text import forbidden

_NO_PAGE: Final = "The page of the notebook does not answer: it was closed, or is loaded anew. Go on without its cells."
_NO_WORD: Final = "The page of the notebook did not say whether it changed the cell; show_cell tells."


@dataclass(frozen=True)
class CellTools:
    """The functions, for the thread that reads the run's events; `decided` waits until the user has answered a call."""

    run_id: Callable[[], str]
    page: Page
    decided: Callable[[KernelCall], object]

    def functions(self) -> list[Callable[..., Any]]:
        def list_cells() -> Any:
            """List the code cells of the user's notebook: their ids, the numbers of those that have run, and how each
            begins."""
            return self._answered(lambda: edits.listing(self._cells()))

        def show_cell(cell: str) -> Any:
            """Show the source of a code cell of the user's notebook, by its id or number. Values that look like
            credentials are masked."""
            return self._answered(lambda: edits.told(edits.find(self._cells(), cell)))

        def edit_cell(
            cell: str,
            new: Annotated[str, Field(max_length=edits.SOURCE_CHARS)],
            old: str = "",
            why: Annotated[str, Field(max_length=400)] = "",
        ) -> Any:
            """Change a code cell of the user's notebook, by its id or number: `new` takes the place of `old`, which has
            to stand in the cell once, or without `old` of the whole cell. The user is shown what changes and `why`, one
            sentence that says what it is for, and accepts or refuses it. The cell is not run."""
            return self._answered(lambda: self._edit(cell, old, new.replace("\r\n", "\n"), why))

        return [list_cells, show_cell, edit_cell]

    def _answered(self, act: Callable[[], Any]) -> Any:
        try:
            return act()
        except PageGone:
            return failed(_NO_PAGE)
        except LookupError as error:
            return failed(str(error.args[0]))

    def _cells(self) -> list[Cell]:
        told = self.page.ask("cells")["cells"]
        return [Cell(str(cell["id"]), str(cell["source"]), cell["count"]) for cell in told]

    def _edit(self, cell: str, old: str, new: str, why: str) -> CallAnswer:
        if invisible := forbidden(new):
            return failed(INVISIBLE.format("change", invisible))
        found = edits.find(self._cells(), cell)
        code = edits.changed(found.source, old, new)
        asked = current_call.get()
        call = EditCall(asked.call_id, self.run_id(), code, why, asked.created_at, cell=found)
        self.decided(call)
        if call.begin():
            self._write(call)
        return call.answer()

    def _write(self, call: EditCall) -> None:
        try:
            told = self.page.ask("edit", cell=call.cell.id, was=call.cell.source, source=call.code)
        except PageGone:
            return call.end("stopped", _NO_WORD)
        wrong = edits.wrong(told)
        call.end("failed" if wrong else "done", wrong)
