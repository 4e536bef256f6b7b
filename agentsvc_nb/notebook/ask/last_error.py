"""The last error of a cell of one's own, as a file for the agent: the cell and its traceback, secrets redacted."""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentsvc_nb.notebook.errors import AskError, RunFailed, RunStopped

HIDDEN: Final = "[redacted]"
_SECRET_NAME = r"(?:api_?key|secret|token|passw(?:or)?d|passphrase|credential|authorization)"
_NAME = re.compile(_SECRET_NAME + r"|_key$", re.IGNORECASE)
_SHORTEST: Final = 8
"""Characters of an environment's secret: shorter ones stand in ordinary words."""

_SHAPES: Final = (
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    re.compile(r"\b(?:svc_(?:sk|oat)_|sk-|gh[pousr]_|github_pat_|xox[abprs]-|glpat-|hf_)[\w-]{8,}"),
    re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"),  # a signed token
)
_AFTER: Final = (
    re.compile(r"(?i)(\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}"),
    re.compile(r"(?<=://)([^\s:/@]*:)[^\s/@]+(?=@)"),
    re.compile(rf"(?i)(\w*{_SECRET_NAME}\w*[\"']?\]?\s*[:=]\s*(?:[rbfu]{{0,2}})[\"'])[^\"'\n]+"),
)


def redacted(text: str, environ: Mapping[str, str]) -> str:
    """The text without keys: of known shapes, after a errors_as_cells name, or as they stand in the environment.

    >>> redacted("api_key = 'abc123'; Bearer 0123456789", {})
    "api_key = '[redacted]'; Bearer [redacted]"
    """
    held = {value for name, value in environ.items() if _NAME.search(name) and len(value) >= _SHORTEST}
    for value in sorted(held, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    for shape in _SHAPES:
        text = shape.sub(HIDDEN, text)
    for after in _AFTER:
        text = after.sub(rf"\g<1>{HIDDEN}", text)
    return text


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
        if self.failed is None:
            raise AskError("--error: no cell has failed since the extension was loaded; nothing was sent.")
        text = f"# The last error\n\n## The cell\n\n{_block(self.failed.cell)}\n## Its traceback\n\n"
        return redacted(text + _block(_traceback_text(self.failed.error)), environ).encode("utf-8", "replace")


def _traceback_text(error: BaseException) -> str:
    """The traceback from the cell on; only the end of a very long one, which names the error."""
    frames = list(traceback.walk_tb(error.__traceback__))
    runs = [at for at, (frame, _) in enumerate(frames) if frame.f_code.co_name == _RUNS_CELLS]
    formatted = traceback.TracebackException.from_exception(error)
    del formatted.stack[: runs[0] + 1 if runs else 0]
    return "".join(formatted.format())[-_TRACEBACK_CHARS:]


def _block(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text.rstrip()}\n{fence}\n"
