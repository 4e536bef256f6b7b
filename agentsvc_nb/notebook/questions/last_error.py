"""The last error of a cell of one's own, as a file for the agent: the cell and its traceback, without keys."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentsvc_nb.notebook.failures import AskError, RunFailed, RunStopped

NAME: Final = "last-error.md"
_TRACEBACK_CHARS: Final = 20_000
_RUNS_CELLS: Final = "run_code"
"""IPython's function below which a cell's own frames stand."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A cell and what it raised."""

    cell: str
    error: BaseException


class LastError:
    """Remembers the last cell that failed, but for questions that failed themselves. Call it with IPython's results."""

    def __init__(self) -> None:
        self.failed: Failed | None = None

    def __call__(self, result: Any) -> None:
        error = result.error_before_exec or result.error_in_exec
        if error is not None and not isinstance(error, AskError | RunFailed | RunStopped):
            self.failed = Failed(str(result.info.raw_cell or ""), error)

    def document(self, environ: Mapping[str, str]) -> bytes:
        """Cell and traceback as Markdown, redacted. Raises `AskError` when no cell has failed."""
        from agentsvc_nb.notebook.questions.redacting import redacted

        if self.failed is None:
            raise AskError("--error: no cell has failed since the extension was loaded; nothing was sent.")
        text = f"# The last error\n\n## The cell\n\n{_block(self.failed.cell)}\n## Its traceback\n\n"
        return redacted(text + _block(_told(self.failed.error)), environ).encode("utf-8", "replace")


def _told(error: BaseException) -> str:
    """The traceback from the cell on; of a very long one the end, where the error stands."""
    frames = list(traceback.walk_tb(error.__traceback__))
    runs = [at for at, (frame, _) in enumerate(frames) if frame.f_code.co_name == _RUNS_CELLS]
    told = traceback.TracebackException.from_exception(error)
    del told.stack[: runs[0] + 1 if runs else 0]
    return "".join(told.format())[-_TRACEBACK_CHARS:]


def _block(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text.rstrip()}\n{fence}\n"
