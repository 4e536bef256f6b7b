"""`%%ask --fix` and `--edit`: which cell is to be changed, what is asked besides, and the change that is proposed."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.notebook.errors import LAST_ERROR_FILE, AskError, LastError
from agentsvc_nb.notebook.kernel.pages import Cell
from agentsvc_nb.wire.text import label

if TYPE_CHECKING:
    from agentsvc_nb.notebook.files.attachments import AttachedFile
    from agentsvc_nb.notebook.magics.base import MagicsContext

CELL_FILE: Final = "cell.py"
_KEPT: Final = 1_000
_WHOLE: Final = "and answer with the whole cell as it should be."
_FIX: Final = f"Correct the cell that failed, in {LAST_ERROR_FILE} with its traceback, {_WHOLE}"
_EDIT: Final = f"Improve the cell in {CELL_FILE}, {_WHOLE}"
"""One sentence each: the offline agent answers sentence by sentence, and needs to say once that it cannot."""


class RanCells:
    """The cells that ran in this kernel, by the number beside them. To be registered as a `post_run_cell` callback."""

    def __init__(self) -> None:
        self._cells: dict[int, Cell] = {}

    def __call__(self, result: Any) -> None:
        info, count = result.info, result.execution_count
        if count and info.raw_cell:
            self._cells[count] = Cell(str(getattr(info, "cell_id", None) or ""), str(info.raw_cell), count)
        while len(self._cells) > _KEPT:
            del self._cells[next(iter(self._cells))]

    def find(self, given: str) -> Cell:
        """Return the cell of this number, with or without brackets. Raises `AskError`."""
        number = given.strip("[] ")
        if number.isdecimal() and (cell := self._cells.get(int(number))):
            return cell
        raise AskError(
            f"--edit {label(given, 40)}: no cell of that number has run here; nothing was sent.",
            "Give the number in the brackets beside a cell that has run.",
        )


def target(args: argparse.Namespace, ran: RanCells, last_error: LastError) -> Cell | None:
    """Return the cell that is to be changed, if one is. Raises `AskError`, before anything is sent."""
    if args.fix:
        failed = last_error.of("--fix")
        return Cell(failed.cell_id, failed.cell, failed.count)
    return ran.find(args.edit) if args.edit else None


def message(args: argparse.Namespace, typed: str) -> str:
    """Return what is asked: what was typed, or else what the option is for."""
    default, file = (_FIX, LAST_ERROR_FILE) if args.fix else (_EDIT, CELL_FILE)
    return f"{typed}\n\nEdit the cell in {file} so, {_WHOLE}" if typed.strip() else default


def files(args: argparse.Namespace, cell: Cell, last_error: LastError, environ: Mapping[str, str]) -> AttachedFile:
    """Return the file that has the cell, with its credentials masked."""
    from agentsvc_nb.notebook.files.attachments import in_memory_file
    from agentsvc_nb.notebook.kernel.masking import masked

    if args.fix:
        return in_memory_file(LAST_ERROR_FILE, last_error.document(environ, "--fix"))
    return in_memory_file(CELL_FILE, masked(cell.source).encode("utf-8", "replace"))


def propose(context: MagicsContext, cell: Cell, code: str | None) -> None:
    """Show the change that an answer proposes. It is written by a click where the page can, else it stands below as
    the next cell; it is never run by itself."""
    from agentsvc_nb.notebook.kernel import edits
    from agentsvc_nb.notebook.widgets import outputs
    from agentsvc_nb.notebook.widgets.proposal import Proposal, proposal_bundle
    from agentsvc_nb.wire.text import forbidden

    if code is None:
        return print("The answer holds no Python code block; no change is proposed.")
    try:
        after = edits.restored(code, cell.source)
    except LookupError:
        return print("The answer leaves out a value that was masked; no change is proposed. Its code stands above.")
    if invisible := forbidden("".join(set(after) - set(cell.source))):
        return print(f"The code of the answer has invisible characters ({invisible}); no change is proposed.")
    if after.strip() == cell.source.strip():
        return print("The answer leaves the cell as it is.")
    area, page = outputs.output(context.shell, context.mode), context.pages.here()
    if context.mode == "live" and cell.id and page.is_there(while_busy=False):
        Proposal(area, cell, after, page)
    else:
        area.keep(proposal_bundle("● A change is proposed, and stands below, not run:", cell, after))
        context.shell.set_next_input(after)
    return None
