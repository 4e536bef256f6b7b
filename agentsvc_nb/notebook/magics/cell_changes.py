"""`%%ask --error`, `--fix` and `--edit`: remember the cells that ran, and show the change that an answer proposes."""

from __future__ import annotations

import argparse
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.notebook.errors import AskError, RunFailed, RunStopped
from agentsvc_nb.notebook.kernel.pages import NotebookCell
from agentsvc_nb.wire.text import label

if TYPE_CHECKING:
    from agentsvc_nb.notebook.files.attachments import AttachedFile
    from agentsvc_nb.notebook.magics.base import MagicsContext

CELL_FILE: Final = "cell.py"
LAST_ERROR_FILE: Final = "last-error.md"
_TRACEBACK_CHARS: Final = 20_000
_RUNS_CELLS: Final = "run_code"
"""IPython's function that executes a cell. In a traceback, the frames after this function belong to the cell."""
_KEPT: Final = 1_000
_WHOLE: Final = "and answer with the whole new cell."
_FIX: Final = f"Correct the cell that failed, in {LAST_ERROR_FILE} with its traceback, {_WHOLE}"
_EDIT: Final = f"Improve the cell in {CELL_FILE}, {_WHOLE}"
"""The default messages of `--fix` and `--edit` are one sentence each. The offline agent answers each sentence
separately, and should refuse only once.
"""


class CellHistory:
    """Remembers the cells that ran in this kernel, and the last failed cell. IPython calls it after each cell.

    Failed questions (`AskError`, `RunFailed`, `RunStopped`) are ignored, because users ask about errors in their own
    code.
    """

    def __init__(self) -> None:
        self._cells: dict[int, NotebookCell] = {}
        self._failed: tuple[NotebookCell, BaseException] | None = None

    def __call__(self, result: Any) -> None:
        info, count = result.info, result.execution_count
        cell = NotebookCell(str(getattr(info, "cell_id", None) or ""), str(info.raw_cell or ""), count)
        if count and cell.source:
            self._cells[count] = cell
        while len(self._cells) > _KEPT:
            del self._cells[next(iter(self._cells))]
        error = result.error_before_exec or result.error_in_exec
        if error is not None and not isinstance(error, AskError | RunFailed | RunStopped):
            self._failed = cell, error

    def find(self, given: str) -> NotebookCell:
        """Return the cell with this number, which may be in brackets. Raises `AskError` if no such cell has run."""
        number = given.strip("[] ")
        if number.isdecimal() and (cell := self._cells.get(int(number))):
            return cell
        raise AskError(
            f"--edit {label(given, 40)}: no cell with this number has run in this kernel; nothing was sent.",
            "Use the number in the brackets next to a cell that has run.",
        )

    def last_failed(self, option: str) -> tuple[NotebookCell, BaseException]:
        """Return the cell that failed last, and its error. If none failed, raise `AskError`, which names the option."""
        if self._failed is None:
            raise AskError(
                f"{option}: no cell has failed since the extension was loaded; nothing was sent.",
                "Run the cell that fails, then ask again.",
            )
        return self._failed

    def last_error_file(self, environ: Mapping[str, str], option: str = "--error") -> AttachedFile:
        """Return the last failed cell and its traceback as a Markdown attachment, in which secrets are replaced.

        A very long traceback is truncated at its beginning, because its end names the error. Raises `AskError` if no
        cell has failed.
        """
        from agentsvc_nb.notebook.files.attachments import in_memory_file
        from agentsvc_nb.notebook.redaction import redact  # a slow import, because it compiles many patterns

        cell, error = self.last_failed(option)
        frames = [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]
        formatted = traceback.TracebackException.from_exception(error)
        del formatted.stack[: frames.index(_RUNS_CELLS) + 1 if _RUNS_CELLS in frames else 0]
        trace = "".join(formatted.format())[-_TRACEBACK_CHARS:]
        text = f"# The last error\n\n## The cell\n\n{_block(cell.source)}\n## Its traceback\n\n{_block(trace)}"
        return in_memory_file(LAST_ERROR_FILE, redact(text, environ).encode("utf-8", "replace"))


def _block(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text.rstrip()}\n{fence}\n"


def find_target(args: argparse.Namespace, cells: CellHistory) -> NotebookCell | None:
    """Return the cell that `--fix` or `--edit` changes, or None without them.

    Raises `AskError` if no such cell exists.
    """
    if args.fix:
        return cells.last_failed("--fix")[0]
    return cells.find(args.edit) if args.edit else None


def build_message(args: argparse.Namespace, typed: str) -> str:
    """Return the message to send: the typed text and an instruction, or without text, the option's default message."""
    default, file = (_FIX, LAST_ERROR_FILE) if args.fix else (_EDIT, CELL_FILE)
    return f"{typed}\n\nEdit the cell in {file} accordingly, {_WHOLE}" if typed.strip() else default


def build_attachment(
    args: argparse.Namespace, cell: NotebookCell, cells: CellHistory, environ: Mapping[str, str]
) -> AttachedFile:
    """Return the cell's source as an attachment, with secrets replaced. With `--fix`, add the traceback."""
    from agentsvc_nb.notebook.files.attachments import in_memory_file
    from agentsvc_nb.notebook.redaction import redact

    if args.fix:
        return cells.last_error_file(environ, "--fix")
    return in_memory_file(CELL_FILE, redact(cell.source).encode("utf-8", "replace"))


def propose(context: MagicsContext, cell: NotebookCell, code: str | None) -> None:
    """Show the change that an answer proposes for a cell. Nothing is changed or run yet.

    If the page can change the cell, show a button that does so. Otherwise, insert the changed code as the next cell.
    """
    from agentsvc_nb.notebook.kernel import edits
    from agentsvc_nb.notebook.widgets import outputs
    from agentsvc_nb.notebook.widgets.proposal import Proposal, proposal_bundle
    from agentsvc_nb.wire.text import forbidden

    if code is None:
        return print("The answer contains no Python code block; no change is proposed.")
    try:
        after = edits.restore_masked(code, cell.source)
    except LookupError:
        return print("The code in the answer leaves out a masked value; no change is proposed. See the code above.")
    if invisible := forbidden("".join(set(after) - set(cell.source))):
        return print(f"The code in the answer contains invisible characters ({invisible}); no change is proposed.")
    if after.strip() == cell.source.strip():
        return print("The answer does not change the cell.")
    area, page = outputs.output(context.shell, context.mode), context.pages.current()
    if context.mode == "live" and cell.id and page.is_there(while_busy=False):
        Proposal(area, cell, after, page)
    else:
        area.keep(proposal_bundle("● Proposed change, inserted as the next cell and not run:", cell, after))
        context.shell.set_next_input(after)
    return None
