"""Exceptions of the client (docs/api/errors.md)::

  StefanBrainError, alias AgentServiceError    base class; raised directly for 400, 403, 404, 409, 5xx, local checks
  ├── AuthenticationError     no key, a malformed key, or 401
  ├── RateLimitError          429
  ├── RequestTooLargeError    413
  ├── APIConnectionError      no response, after the retries
  ├── ToolResultError         a tool answered 200 with `is_error: true`
  ├── ChatBusyError           `ask` into a chat with an active turn; nothing was started or billed
  ├── JobFailedError          a job failed or was cancelled
  └── JobTimeoutError         a run or job has not ended at the deadline; it continues

Errors can be pickled, and never contain the API key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from agentsvc_nb import clock
from agentsvc_nb.client import cards
from agentsvc_nb.client.cards import Showing
from agentsvc_nb.wire.codes import CODES, STATUSES

if TYPE_CHECKING:
    from agentsvc_nb.client.models import Job

MAY_HAVE_STARTED: Final = "The work may have started. Look for it before you send it again, or send an Idempotency-Key."
_NO_RESET: Final = frozenset(
    {"api_wallet_exhausted", "api_key_budget_exhausted", "monthly_usage_limit_reached", "day_budget_exhausted"}
)
"""Codes of 429 errors that waiting does not solve. These errors have no `retry_after_seconds` and no `reset_at`."""
_BODY_CHARS: Final = 2_000
_DIGITS: Final = 4_000


class StefanBrainError(Showing, Exception):
    """Base class of the client's exceptions.

    `status` is None if no response came. `code` is a row of `wire.codes.CODES` if known. `hint` tells you what to do.
    `body` is the parsed response, or 2,000 characters of a response that is not JSON. `attempts` counts the requests.
    `late` is True if only the deadline prevented another attempt. `closed` is True if the client was closed during the
    call. For a broken stream, `last_event_id` is the last event that you received: attach after it to continue.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        request_id: str | None = None,
        retry_after_seconds: float | None = None,
        reset_at: str | None = None,
        active_run_id: str | None = None,
        hint: str | None = None,
        body: Any = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.request_id = request_id
        self.retry_after_seconds = retry_after_seconds
        self.reset_at = reset_at
        self.active_run_id = active_run_id
        self.hint = hint
        self.body = body
        # `Core`, or a stream that broke, sets these later.
        self.method = ""
        self.path = ""
        self.attempts = 0
        self.late = False
        self.closed = False
        self.last_event_id: int | None = None

    def _facts(self) -> list[str]:
        """Return status, code and request id, unless they are unknown or part of the message."""
        status = str(self.status or "")
        outcome = " ".join(fact for fact in ("" if status in self.message else status, self.code) if fact)
        return [fact for fact in (outcome, self.request_id and f"request {self.request_id}") if fact]

    def __str__(self) -> str:
        facts = ", ".join(self._facts())
        first = f"{self.message} ({facts})" if facts else self.message
        return f"{first}\n{self.hint}" if self.hint else first

    def _mimebundle(self) -> cards.Bundle:
        facts = {"code": self.code, "status": self.status, "request": self.request_id, "to do": self.hint}
        called = {"called": f"{self.method} {self.path}".strip(), "attempts": self.attempts or None}
        return cards.card(type(self).__name__, facts | called, self.message)

    def _render_traceback_(self) -> list[str]:
        """Return three lines that IPython shows in place of a traceback through this package. The cell still fails."""
        facts = [*self._facts(), f"{self.method} {self.path}".strip()]
        return cards.failure(type(self).__name__, self.message, facts, self.hint, self.__traceback__)

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle the state, because the constructors of subclasses take different arguments.
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(kind: type[StefanBrainError], args: tuple[Any, ...], state: dict[str, Any]) -> StefanBrainError:
    error = kind.__new__(kind, *args)
    vars(error).update(state)
    return error


AgentServiceError = StefanBrainError
E = TypeVar("E", bound=StefanBrainError)


class AuthenticationError(StefanBrainError):
    """The key is missing or malformed, or the service refused it (401)."""


class RateLimitError(StefanBrainError):
    """Too many requests, or no money left (429). `retry_after_seconds` and `reset_at` tell when to retry, if ever."""


class RequestTooLargeError(StefanBrainError):
    """A file, or the whole request, is too large (413)."""


class APIConnectionError(StefanBrainError):
    """No response came. `sent` is False if the request cannot have reached the service."""

    def __init__(self, message: str, *, sent: bool = True, timed_out: bool = False) -> None:
        super().__init__(message)
        self.sent = sent
        self.timed_out = timed_out


class ToolResultError(StefanBrainError):
    """A tool answered `is_error: true`. `body` is the whole envelope, with the content blocks."""


class ChatBusyError(StefanBrainError):
    """The chat has an active turn. Nothing was started or billed. `active_run_id` is that turn's run, if known."""


class JobFailedError(StefanBrainError):
    """The job failed or was cancelled. `job` is its record."""

    def __init__(self, job: Job) -> None:
        why = f": {job.error.message or job.error.code}" if job.error else ""
        outcome = "was cancelled" if job.status == "cancelled" else job.status
        super().__init__(f"Job {job.job_id} {outcome}{why}", code=job.error.code if job.error else None)
        self.job = job


class JobTimeoutError(StefanBrainError):
    """The deadline passed, and the work continues.

    Wait again with `job_id`. `job_id` is None if the start got no response.
    """

    def __init__(self, job_id: str | None, chat: str | None = None) -> None:
        late = f"{job_id} has not ended" if job_id else "The service did not answer the start"
        super().__init__(f"{late} within the time allowed; it may continue.", hint=None if job_id else MAY_HAVE_STARTED)
        self.job_id = job_id
        self.chat = chat


def with_request(error: E, method: str, path: str, attempts: int) -> E:
    """Set the request that failed with `error`, and return `error`."""
    error.method, error.path, error.attempts = method, path, attempts
    return error


def after(error: E, cause: StefanBrainError) -> E:
    """Copy the failed request from `cause` to `error`."""
    error.request_id = cause.request_id
    return with_request(error, cause.method, cause.path, cause.attempts)


def deadline_passed(*, sent: bool = True) -> APIConnectionError:
    """Return the error for a call whose deadline passed. Set `sent` if the service may have received the request."""
    error = APIConnectionError("The deadline passed before the service answered.", sent=sent, timed_out=True)
    error.late = True
    return error


def client_closed(*, sent: bool = True) -> APIConnectionError:
    """Return the error for a call whose client was closed. Set `sent` if the service may have received the request."""
    error = APIConnectionError("The client was closed before the service answered.", sent=sent)
    error.closed = True
    return error


def circular_pages(cursor: object) -> StefanBrainError:
    """Return the error for pages that lead back to an earlier cursor and would never end."""
    return StefanBrainError(f"The service sent an earlier page again (cursor {cursor!r}).")


_CLASSES: Final = {
    kind.__name__: kind for kind in (StefanBrainError, AuthenticationError, RateLimitError, RequestTooLargeError)
}


def refused(code: str, message: str | None = None) -> StefanBrainError:
    """Return the error for a request that the client does not send, with the class, text and hint of `code`."""
    row = CODES[code]
    return _CLASSES[row.raises](message or row.cause, code=code, hint=row.hint)


def from_response(
    status: int, headers: Mapping[str, str], body: bytes, *, may_have_started: bool = False
) -> StefanBrainError:
    """Return the exception for an error response, chosen by its code, else by its status.

    `headers` have lower-case names. The body may be anything, such as a gateway's HTML. Pass `may_have_started` for a
    start without an idempotency key, whose work may have begun despite the error.
    """
    content = _parsed(body)
    fields = content if isinstance(content, dict) else {}
    detail = fields["error"] if isinstance(fields.get("error"), dict) else {}
    code = _text(detail, "code")
    row, by_status = CODES.get(code or ""), STATUSES.get(status)
    kind = _CLASSES[row.raises if row else by_status.raises if by_status else "StefanBrainError"]
    hopeless = code in _NO_RESET
    return kind(
        _text(detail, "message") or _unexplained(status, headers),
        status=status,
        code=code,
        request_id=headers.get("x-request-id"),
        retry_after_seconds=None if hopeless else retry_after(headers),
        reset_at=None if hopeless else _text(detail, "reset_at"),
        active_run_id=_text(fields, "activeRunId"),
        hint=MAY_HAVE_STARTED if may_have_started and status == 504 else row.hint if row else None,
        body=content,
    )


# `float` alone would also read `1_0`, `1e9` and the digits of other scripts.
_SECONDS: Final = re.compile(r"[0-9]+(\.[0-9]+)?")
_MOST_SECONDS: Final = 1e9
"""Thirty years, in place of a number that `float` reads as infinity."""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a `Retry-After` header, a number or HTTP date; None if absent, unreadable or past."""
    given = headers.get("retry-after", "").strip(" \t")
    if _SECONDS.fullmatch(given):
        return min(float(given), _MOST_SECONDS)
    try:
        # Compare with the response's date, because the local clock may be wrong.
        now = parsedate_to_datetime(headers["date"]) if headers.get("date") else clock.now()
        seconds = (parsedate_to_datetime(given) - now).total_seconds()
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if seconds >= 0 else None


def _parsed(body: bytes) -> Any:
    try:
        # `int` rejects numbers of more than 4,300 digits. They must not hide the error's message.
        return json.loads(body, parse_int=lambda digits: int(digits) if len(digits) < _DIGITS else float(digits))
    except (ValueError, RecursionError):
        return body[: 4 * _BODY_CHARS].decode("utf-8", "replace")[:_BODY_CHARS]


def _text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    # JSON may contain half of a surrogate pair, which cannot be printed.
    return value.encode(errors="replace").decode() if isinstance(value, str) and value else None


def _unexplained(status: int, headers: Mapping[str, str]) -> str:
    if 300 <= status < 400:
        to = f" to {_origin(headers['location'])}" if "location" in headers else ""
        return f"The service redirected ({status}){to}. The client does not follow redirects. Correct the base URL."
    kind = headers.get("content-type", "no content type").split(";")[0]
    return f"The service returned {status} without an explanation ({kind})."


def _origin(location: str) -> str:
    """Return the target of a redirect without the path, because a path may contain a secret."""
    try:
        parts = urlsplit(location)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an invalid address"
    scheme = f"{parts.scheme}:" if parts.scheme else ""
    return f"{scheme}//{parts.hostname}{port}" if parts.hostname else "another path"
