"""The exceptions that make a cell fail. IPython shows them in two or three lines, without a traceback.

`%load_ext` imports this module. So it imports the client, which is slow to load, only for type checkers.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb import clock
from agentsvc_nb.key_forms import without_keys
from agentsvc_nb.wire.text import in_bold, label, plain

if TYPE_CHECKING:
    from agentsvc_nb.client.errors import StefanBrainError


def budget_display(error: StefanBrainError, now: datetime | None = None) -> str:
    """Return a sentence about the limit or budget that an error reports, or an empty text if there is none."""
    body: Any = error.body if isinstance(error.body, dict) else {}
    detail: Any = body.get("error") if isinstance(body.get("error"), dict) else {}
    used, resets_at = "", error.reset_at
    for name, whose, limit, spent, period in (
        ("key_budget", "The key", "budget_cents", "billed_cents", "this month"),
        ("plan_usage", "The plan", "limit_cents", "used_cents", "this month"),
        ("day_budget", "The account", "limit_cents", "billed_cents", "today"),
    ):
        if isinstance(facts := detail.get(name), dict):
            money = [
                f"${cents / 100:,.2f}" for key in (spent, limit) if isinstance(cents := facts.get(key), int | float)
            ]
            used, resets_at = f"{whose} has used {' of '.join(money)} {period}", facts.get("resets_at")
            break
    else:
        if not resets_at:
            return f"Try again in {error.retry_after_seconds:g} s." if error.retry_after_seconds else ""
        if "observed" in detail:
            used = f"{detail['observed']} requests of {detail['limit']}"
    when = f"it resets at {local_time(resets_at, now)}" if isinstance(resets_at, str) else ""
    sentence = "; ".join(part for part in (used, when) if part)
    return f"{sentence[:1].upper()}{sentence[1:]}." if sentence else ""


def local_time(moment: str, now: datetime | None = None) -> str:
    """Format a timestamp in local time, with the day unless it is today. Return text that is not a time unchanged.

    >>> local_time("soon")
    'soon'
    """
    try:
        there = datetime.fromisoformat(moment).astimezone()
    except ValueError:
        return moment
    here = (now or clock.now()).astimezone()
    left = there - here
    wait = f" (in {max(1, round(left.total_seconds()))} s)" if timedelta() < left < timedelta(minutes=2) else ""
    day = "" if there.date() == here.date() else f"{there.day} {there:%B}, "
    return f"{day}{there:%H:%M %Z}".rstrip() + wait


_BOLD, _OFF = (
    "\x1b[1m",
    "\x1b[0m",
)  # bold, because red is hard to read on the pink of errors


class _ShownBriefly(BaseException):
    """An exception that IPython shows in two lines: the message, then a hint."""

    hint: str
    answer: object = None
    """The partial answer, which `-o name` stores. None if nothing was started."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(without_keys(plain(message)))
        self.hint = without_keys(plain(hint))

    def _render_traceback_(self) -> list[str]:  # IPython shows these lines instead of a traceback
        lines = [f"{_BOLD}{type(self).__name__}{_OFF}: {in_bold(str(self))}"]
        return [*lines, in_bold(self.hint)] if self.hint else lines


class AskError(_ShownBriefly, Exception):
    """The request was invalid, the service refused it, or it could not be sent.

    Attributes:
        refused: whether the service refused the request, so that nothing was started.
        unsent: whether the request did not reach the service.
        error: the client's exception that caused this one, if any.
    """

    refused = False
    unsent = False
    error: StefanBrainError | None = None


class RunFailed(_ShownBriefly, Exception):
    """A run or job was started, but failed or did not end in time."""


class RunStopped(_ShownBriefly, KeyboardInterrupt):
    """The user interrupted the cell. As a KeyboardInterrupt, it escapes `except Exception` and stops Run All."""


_HINTS: Final = {
    "invalid_model": "List this service's models with `%agentsvc model`.",
    "model_unavailable": "See the reason and other models with `%agentsvc model`.",
}
"""Hints for notebooks, by error code. For other codes, the hint of the client's error is used."""


def to_ask_error(error: StefanBrainError, service: str) -> AskError:
    """Convert an error of the client to an `AskError`, with the message, the error code, the request id and a hint.

    `service` is the address in use. The hint names it if the service did not respond.
    """
    if error.active_run_id:
        run = label(error.active_run_id, 64)
        failure = AskError(
            f"The chat is busy with another run; nothing was started. (run {run})",
            "Wait for that run with `%%ask --on-busy wait`, queue your question with `--bg`, or ask in a new chat with"
            f" `--new-chat`. Follow that run with `%runs attach {run}`, or stop it with `%runs cancel {run}`.",
        )
    else:
        facts = ", ".join(fact for fact in (error.code, error.request_id and f"request {error.request_id}") if fact)
        other = "Use another service with `%agentsvc connect URL`, or the embedded one with `%agentsvc connect local`."
        lost = f"The service in use is {service}. {other}" if error.status is None else ""
        hint = _HINTS.get(error.code or "") or error.hint or lost
        message = f"{error.message} ({facts})" if facts else error.message
        failure = AskError(message, f"{budget_display(error)} {hint}".strip())
    failure.error = error
    failure.refused = error.status is not None and error.status < 500
    failure.unsent = getattr(error, "sent", True) is False
    return failure
