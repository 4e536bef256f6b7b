"""What a failed cell shows: two or three lines, no stack of our own functions.

IPython asks an exception for `_render_traceback_`; the cell still fails, so Run All, nbclient and papermill stop.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from agentsvc_nb.safe.text import label, plain

if TYPE_CHECKING:
    from agentsvc_nb.client.errors import StefanBrainError

P = ParamSpec("P")
R = TypeVar("R")

_BOLD, _OFF = "\x1b[1m", "\x1b[0m"  # red on the pink of a notebook's errors is hard to read


class _Short(BaseException):
    """An exception told in a few lines: what was wrong, then what to do."""

    hint: str
    answer: object = None
    """What there is of the answer, for `-o name`; None when nothing began."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(plain(message))
        self.hint = plain(hint)

    def _render_traceback_(self) -> list[str]:
        lines = [f"{_BOLD}{type(self).__name__}{_OFF}: {self}"]
        return [*lines, self.hint] if self.hint else lines


class AskError(_Short, Exception):
    """What was asked could not be done: nothing was sent, or the service refused it.

    `refused`: the service answered no, so that nothing can have started; `unsent`: it was not reached; `error`: what
    the client raised, if it did.
    """

    refused = unsent = False
    error: StefanBrainError | None = None


class RunFailed(_Short, Exception):
    """The run or job was started and failed."""


class RunStopped(_Short, KeyboardInterrupt):
    """The run was stopped with the cell. A KeyboardInterrupt, so that nothing swallows it and Run All stops."""


def shortly(magic: Callable[P, R]) -> Callable[P, R]:
    """A magic whose interrupt is told in one line, wherever it came."""

    @functools.wraps(magic)
    def short(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return magic(*args, **kwargs)
        except RunStopped:
            raise
        except KeyboardInterrupt:
            raise RunStopped("The cell was interrupted.") from None

    return short


def told(error: StefanBrainError, service: str) -> AskError:
    """An error of the client as a cell shows it: its message with code and request id, and what to do.

    `service` is the address in use, named when no answer came from there.
    """
    failure = _told(error, service)
    failure.error = error
    failure.refused = error.status is not None and error.status < 500
    failure.unsent = getattr(error, "sent", True) is False
    return failure


def _told(error: StefanBrainError, service: str) -> AskError:
    from agentsvc_nb.notebook.allowance import explained

    if error.active_run_id:
        busy = label(error.active_run_id, 64)
        return AskError(
            f"The chat is busy with run {busy}; nothing was started.",
            f"`%%ask --on-busy wait` waits for it, `--bg` queues behind it, `--new-chat` asks beside it;"
            f" `%runs attach {busy}` follows it, `%runs cancel {busy}` stops it.",
        )
    facts = ", ".join(fact for fact in (error.code, error.request_id and f"request {error.request_id}") if fact)
    other = "`%agentsvc connect URL` names another, `%agentsvc connect local` takes the embedded one."
    lost = f"The service in use is {service}; {other}" if error.status is None else ""
    hint = " ".join(part for part in (explained(error), error.hint or lost) if part)
    return AskError(f"{error.message} ({facts})" if facts else error.message, hint)
