"""`%%ask --error`: the last cell that failed and its traceback as an attachment, with secrets redacted."""

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
"""The least length of an environment variable's value to be redacted: a shorter one may occur in ordinary words."""

# Secrets that are recognised by their own form, and secrets that are recognised by what stands before them.
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
    """Redact secrets: keys of known forms, values after a telling name, and secret values of the environment.

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
"""IPython's function that executes a cell: the frames after it in a traceback are the cell's own."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The source of a cell that failed, and the exception that it raised."""

    cell: str
    error: BaseException


class LastError:
    """Remembers the last cell that failed. To be registered as IPython's `post_run_cell` callback.

    Failed questions (`AskError`, `RunFailed`, `RunStopped`) are ignored: the agent would be asked about itself.
    """

    def __init__(self) -> None:
        self.failed: Failed | None = None

    def __call__(self, result: Any) -> None:
        error = result.error_before_exec or result.error_in_exec
        if error is not None and not isinstance(error, AskError | RunFailed | RunStopped):
            self.failed = Failed(str(result.info.raw_cell or ""), error)

    def document(self, environ: Mapping[str, str]) -> bytes:
        """Return the cell and its traceback as redacted UTF-8 Markdown. Raises `AskError` when no cell has failed."""
        if self.failed is None:
            raise AskError("--error: no cell has failed since the extension was loaded; nothing was sent.")
        text = f"# The last error\n\n## The cell\n\n{_block(self.failed.cell)}\n## Its traceback\n\n"
        return redacted(text + _block(_traceback_text(self.failed.error)), environ).encode("utf-8", "replace")


def _traceback_text(error: BaseException) -> str:
    """The traceback without IPython's own frames; of a very long one the end, which names the error."""
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
