"""`%%ask --error`, `--fix` and `--edit`: the cells that ran, and the change of one that is proposed."""

from __future__ import annotations

import argparse
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.notebook.errors import AskError, RunFailed, RunStopped
from agentsvc_nb.notebook.kernel.pages import Cell
from agentsvc_nb.wire.text import label

if TYPE_CHECKING:
    from agentsvc_nb.notebook.files.attachments import AttachedFile
    from agentsvc_nb.notebook.magics.base import MagicsContext

CELL_FILE: Final = "cell.py"
LAST_ERROR_FILE: Final = "last-error.md"
_TRACEBACK_CHARS: Final = 20_000
_RUNS_CELLS: Final = "run_code"
"""IPython's function that executes a cell: the frames after it in a traceback are the cell's own."""
_KEPT: Final = 1_000
_WHOLE: Final = "and answer with the whole cell as it should be."
_FIX: Final = f"Correct the cell that failed, in {LAST_ERROR_FILE} with its traceback, {_WHOLE}"
_EDIT: Final = f"Improve the cell in {CELL_FILE}, {_WHOLE}"
"""One sentence each: the offline agent answers sentence by sentence, and needs to say once that it cannot."""


class CellHistory:
    """The cells that ran in this kernel, and the last one that failed. To be registered as a `post_run_cell` callback.

    Failed questions (`AskError`, `RunFailed`, `RunStopped`) are ignored: the agent would be asked about itself.
    """

    def __init__(self) -> None:
        self._cells: dict[int, Cell] = {}
        self._failed: tuple[Cell, BaseException] | None = None

    def __call__(self, result: Any) -> None:
        info, count = result.info, result.execution_count
        cell = Cell(str(getattr(info, "cell_id", None) or ""), str(info.raw_cell or ""), count)
        if count and cell.source:
            self._cells[count] = cell
        while len(self._cells) > _KEPT:
            del self._cells[next(iter(self._cells))]
        error = result.error_before_exec or result.error_in_exec
        if error is not None and not isinstance(error, AskError | RunFailed | RunStopped):
            self._failed = cell, error

    def find(self, given: str) -> Cell:
        """Return the cell of this number, with or without brackets. Raises `AskError`."""
        number = given.strip("[] ")
        if number.isdecimal() and (cell := self._cells.get(int(number))):
            return cell
        raise AskError(
            f"--edit {label(given, 40)}: no cell of that number has run here; nothing was sent.",
            "Give the number in the brackets next to a cell that has run.",
        )

    def last_failed(self, option: str) -> tuple[Cell, BaseException]:
        """Return the cell that failed last, and its error. Raises `AskError` when none has, naming the option."""
        if self._failed is None:
            raise AskError(
                f"{option}: no cell has failed since the extension was loaded; nothing was sent.",
                "Run the cell that fails, then ask again.",
            )
        return self._failed

    def last_error_file(self, environ: Mapping[str, str], option: str = "--error") -> AttachedFile:
        """Return the last cell that failed and its traceback as redacted Markdown. Raises `AskError` when none has.

        Of a very long traceback, only the end is included, which names the error.
        """
        from agentsvc_nb.notebook.files.attachments import in_memory_file
        from agentsvc_nb.notebook.redaction import redacted  # compiles many patterns

        cell, error = self.last_failed(option)
        frames = [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]
        formatted = traceback.TracebackException.from_exception(error)
        del formatted.stack[: frames.index(_RUNS_CELLS) + 1 if _RUNS_CELLS in frames else 0]
        trace = "".join(formatted.format())[-_TRACEBACK_CHARS:]
        text = f"# The last error\n\n## The cell\n\n{_block(cell.source)}\n## Its traceback\n\n{_block(trace)}"
        return in_memory_file(LAST_ERROR_FILE, redacted(text, environ).encode("utf-8", "replace"))


def _block(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text.rstrip()}\n{fence}\n"


def target(args: argparse.Namespace, cells: CellHistory) -> Cell | None:
    """Return the cell that is to be changed, if one is. Raises `AskError`, before anything is sent."""
    if args.fix:
        return cells.last_failed("--fix")[0]
    return cells.find(args.edit) if args.edit else None


def message(args: argparse.Namespace, typed: str) -> str:
    """Return what is asked: what was typed, or else what the option is for."""
    default, file = (_FIX, LAST_ERROR_FILE) if args.fix else (_EDIT, CELL_FILE)
    return f"{typed}\n\nEdit the cell in {file} so, {_WHOLE}" if typed.strip() else default


def file(args: argparse.Namespace, cell: Cell, cells: CellHistory, environ: Mapping[str, str]) -> AttachedFile:
    """Return the file that has the cell, with its credentials masked."""
    from agentsvc_nb.notebook.files.attachments import in_memory_file
    from agentsvc_nb.notebook.redaction import redacted

    if args.fix:
        return cells.last_error_file(environ, "--fix")
    return in_memory_file(CELL_FILE, redacted(cell.source).encode("utf-8", "replace"))


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
