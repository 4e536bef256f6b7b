"""The exceptions that the client raises (docs/api/errors.md)::

  StefanBrainError, alias AgentServiceError    the base class; also raised for 400, 403, 404, 409, 5xx and local checks
  ├── AuthenticationError     the key is missing, malformed or refused (401)
  ├── RateLimitError          the service sent 429
  ├── RequestTooLargeError    the service sent 413
  ├── APIConnectionError      no response came, even after the retries
  ├── ToolResultError         a tool failed: its result has `is_error: true`
  ├── ChatBusyError           `ask` found an active turn in the chat, and started nothing
  ├── JobFailedError          a job failed or was cancelled
  └── JobTimeoutError         a run or job did not end in time, but continues

You can pickle these exceptions. They never contain the API key.
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
from agentsvc_nb.client.cards import Displayable
from agentsvc_nb.wire.codes import CODES, STATUSES

if TYPE_CHECKING:
    from agentsvc_nb.client.models import Job

MAY_HAVE_STARTED: Final = "The work may have started. Look for it before you send it again, or send an Idempotency-Key."
_NO_RESET: Final = frozenset(
    {"api_wallet_exhausted", "api_key_budget_exhausted", "monthly_usage_limit_reached", "day_budget_exhausted"}
)
"""Codes of 429 errors for which waiting does not help. These errors have no `retry_after_seconds` and no `reset_at`."""
_BODY_CHARS: Final = 2_000
_DIGITS: Final = 4_000


class StefanBrainError(Displayable, Exception):
    """The base class of the client's exceptions.

    - `message`: what happened.
    - `status`: the HTTP status, or None if no response came.
    - `code`: the error code, such as `chat_not_found`, or None if the error has no code.
    - `hint`: what you can do, or None.
    - `request_id`: the id of the request, which the service's log also contains, or None.
    - `retry_after_seconds`: how many seconds to wait before a retry, or None if waiting does not help.
    - `reset_at`: when an exhausted limit resets (RFC 3339), or None.
    - `active_run_id`: the id of the active run in a busy chat, or None.
    - `body`: the parsed response, or the first 2,000 characters of a response that is not JSON.
    - `method`, `path`: the failed request, such as `POST` and `/api/developers/v1/runs`.
    - `attempts`: how often the client sent the request.
    - `late`: True if only the deadline prevented another attempt.
    - `closed`: True if the client was closed during the call.
    - `last_event_id`: the id of the last event that you received from a broken stream. To continue the stream, pass
      this id to `runs.attach` as `after`.

    >>> try:  # doctest: +SKIP
    ...     client.runs.get("6f8d3f0e-3f60-4a57-9d0b-0d6e5a3a8c11")
    ... except StefanBrainError as error:
    ...     print(error.code, error.hint)
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
        # `Core`, or a stream whose connection broke, sets these attributes later.
        self.method = ""
        self.path = ""
        self.attempts = 0
        self.late = False
        self.closed = False
        self.last_event_id: int | None = None

    def _facts(self) -> list[str]:
        """Return status, code and request id, as far as they are known. Omit a status that the message contains."""
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
        """Return at most three lines, which IPython shows instead of a traceback through this package."""
        facts = [*self._facts(), f"{self.method} {self.path}".strip()]
        return cards.render_error(type(self).__name__, self.message, facts, self.hint, self.__traceback__)

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle the attributes, because the constructors of subclasses take different arguments.
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
    """The service refused the request because of a limit (429): too many requests, or no money left.

    Retry after `retry_after_seconds`, or at `reset_at` (RFC 3339). Both are None if waiting does not help.
    """


class RequestTooLargeError(StefanBrainError):
    """The service refused the request because a file or the whole request is too large (413)."""


class APIConnectionError(StefanBrainError):
    """The client received no complete response from the service.

    `sent` is False if the request cannot have reached the service. `timed_out` is True if a timeout or the deadline
    ended the call.
    """

    def __init__(self, message: str, *, sent: bool = True, timed_out: bool = False) -> None:
        super().__init__(message)
        self.sent = sent
        self.timed_out = timed_out


class ToolResultError(StefanBrainError):
    """A tool failed: its result has `is_error: true`. `body` is the whole result as a dict, with its content blocks."""


class ChatBusyError(StefanBrainError):
    """The chat of an `ask` has an active turn, so the service started and billed nothing.

    `active_run_id` is the run of the active turn, or None if it is unknown.
    """


class JobFailedError(StefanBrainError):
    """A job failed or was cancelled. `job` is the record of the job."""

    def __init__(self, job: Job) -> None:
        why = f": {job.error.message or job.error.code}" if job.error else ""
        outcome = "was cancelled" if job.status == "cancelled" else job.status
        super().__init__(f"Job {job.job_id} {outcome}{why}", code=job.error.code if job.error else None)
        self.job = job


class JobTimeoutError(StefanBrainError):
    """A run or job did not end in time, but continues.

    To wait again, pass `job_id` (the id of the job or run) and `chat` to `jobs.wait`, or `job_id` to `runs.wait`.
    `job_id` is None if the start received no response.
    """

    def __init__(self, job_id: str | None, chat: str | None = None) -> None:
        late = f"{job_id} has not ended" if job_id else "The service did not answer the start"
        super().__init__(f"{late} within the time allowed; it may continue.", hint=None if job_id else MAY_HAVE_STARTED)
        self.job_id = job_id
        self.chat = chat


def with_request(error: E, method: str, path: str, attempts: int) -> E:
    """Store the failed request in `error`, and return `error`."""
    error.method, error.path, error.attempts = method, path, attempts
    return error


def copy_request(error: E, cause: StefanBrainError) -> E:
    """Copy the failed request and its id from `cause` to `error`, and return `error`."""
    error.request_id = cause.request_id
    return with_request(error, cause.method, cause.path, cause.attempts)


def deadline_error(*, sent: bool = True) -> APIConnectionError:
    """Return the error for a call whose deadline passed. Set `sent` if the service may have received the request."""
    error = APIConnectionError("The deadline passed before the service answered.", sent=sent, timed_out=True)
    error.late = True
    return error


def closed_error(*, sent: bool = True) -> APIConnectionError:
    """Return the error for a call whose client was closed.

    `sent` is True if the service may have received the request.
    """
    error = APIConnectionError("The client was closed before the service answered.", sent=sent)
    error.closed = True
    return error


def circular_pages_error(cursor: object) -> StefanBrainError:
    """Return the error for a list whose next page is an earlier page, so that the list would never end."""
    return StefanBrainError(
        f"The service sent an earlier page of the list again, so the client stopped reading. (cursor {cursor!r})"
    )


_CLASSES: Final = {
    kind.__name__: kind for kind in (StefanBrainError, AuthenticationError, RateLimitError, RequestTooLargeError)
}


def error_for_code(code: str, message: str | None = None) -> StefanBrainError:
    """Return the error for a request that the client refuses to send. `code` decides class, text and hint."""
    row = CODES[code]
    return _CLASSES[row.raises](message or row.cause, code=code, hint=row.hint)


def from_response(
    status: int, headers: Mapping[str, str], body: bytes, *, may_have_started: bool = False
) -> StefanBrainError:
    """Return the exception for an error response. Its class depends on the error code, or else on the HTTP status.

    `headers` must have lower-case names. `body` may have any format, such as the HTML page of a gateway. Set
    `may_have_started` for a start without an idempotency key, because its work may have begun despite the error.
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


# `float` alone would also accept `1_0`, `1e9` and the digits of other scripts.
_SECONDS: Final = re.compile(r"[0-9]+(\.[0-9]+)?")
_MOST_SECONDS: Final = 1e9
"""The maximum of `retry_after_seconds`, about thirty years. It replaces numbers that `float` reads as infinity."""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until the time in the header `Retry-After`, which contains seconds or an HTTP date.

    Return None if the header is missing or invalid, or if its time is in the past.
    """
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
        # `int` raises an error for numbers of more than 4,300 digits. Such a number must not hide the error's message.
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
    """Return the target of a redirect without its path, because the path may contain a secret."""
    try:
        parts = urlsplit(location)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an invalid address"
    scheme = f"{parts.scheme}:" if parts.scheme else ""
    return f"{scheme}//{parts.hostname}{port}" if parts.hostname else "another path"
