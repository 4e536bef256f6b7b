"""What a failed cell shows: two or three lines, no stack of our own functions; limits and budgets in words."""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from agentsvc_nb.wire.text import label, plain

if TYPE_CHECKING:
    from agentsvc_nb.client.errors import StefanBrainError


def explained(error: StefanBrainError, now: datetime | None = None) -> str:
    """What the service said about a limit, as a sentence; empty when it said nothing."""
    body: Any = error.body if isinstance(error.body, dict) else {}
    detail: Any = body.get("error") if isinstance(body.get("error"), dict) else {}
    for name, whose, limit, used in (
        ("key_budget", "The key", "budget_cents", "billed_cents"),
        ("plan_usage", "The plan", "limit_cents", "used_cents"),
    ):
        if isinstance(facts := detail.get(name), dict):
            spent = f"{whose} has used {_money(facts.get(used))} of {_money(facts.get(limit))} this month"
            return _until(spent, facts.get("resets_at"), now)
    if error.reset_at:
        counted = f"{detail['observed']} requests of {detail['limit']}" if "observed" in detail else ""
        return _until(counted, error.reset_at, now)
    return f"Try again in {error.retry_after_seconds:g} s." if error.retry_after_seconds else ""


def local_time(moment: str, now: datetime | None = None) -> str:
    """A time of the service by this machine's clock, with the day when it is another; as it stands if it is no time.

    >>> local_time("soon")
    'soon'
    """
    try:
        there = datetime.fromisoformat(moment).astimezone()
    except ValueError:
        return moment
    here = (now or datetime.now()).astimezone()
    left = there - here
    wait = f" (in {max(1, round(left.total_seconds()))} s)" if timedelta() < left < timedelta(minutes=2) else ""
    day = "" if there.date() == here.date() else f"{there.day} {there:%B}, "
    return f"{day}{there:%H:%M %Z}".rstrip() + wait


def _until(said: str, resets_at: object, now: datetime | None) -> str:
    when = f"it resets at {local_time(resets_at, now)}" if isinstance(resets_at, str) else ""
    sentence = "; ".join(part for part in (said, when) if part)
    return f"{sentence[:1].upper()}{sentence[1:]}." if sentence else ""


def _money(cents: object) -> str:
    return f"${cents / 100:,.2f}" if isinstance(cents, int | float) else "an unknown amount"


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
