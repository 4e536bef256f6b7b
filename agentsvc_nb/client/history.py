"""Record a client's latest requests and their outcomes, without the API key and the caller's own headers."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from agentsvc_nb import clock
from agentsvc_nb.client import cards, models
from agentsvc_nb.client.errors import APIConnectionError, StefanBrainError
from agentsvc_nb.client.transport.io import HttpRequest, Response

if TYPE_CHECKING:
    import pandas as pd

MAX_REQUESTS: Final = 200
"""The number of requests that the history contains at most."""
BODY_CHARS: Final = 4_096
"""The maximum number of characters of a recorded body. The history omits longer bodies."""
_IN_CURL: Final = ("accept", "idempotency-key", "if-range", "last-event-id", "range")
"""The request headers that the history records. It omits other headers, because the caller's may contain secrets."""
_COLUMNS: Final = {
    "at": models.TIME_DTYPE,
    "method": "string",
    "path": "string",
    "attempt": "Int64",
    "waited": "Float64",
    "status": "Int64",
    "code": "string",
    "ms": "Float64",
    "request_id": "string",
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """A request that the client sent, and its outcome.

    - `attempt`: 1 for the first attempt, and higher for retries.
    - `waited`: the wait before this attempt in seconds.
    - `ms`: the duration of the request in milliseconds.
    - `at`: the time of the request.
    - `status`: the HTTP status, or None if no response came.
    - `code`: the error code, or None after a success.
    - `body`: the body of the request, or "" if it was too long to record.
    - `files`: the names of uploaded files.
    """

    method: str
    path: str
    attempt: int
    waited: float
    ms: float
    status: int | None = None
    code: str | None = None
    request_id: str | None = None
    at: datetime = field(default_factory=clock.now)
    url: str = field(default="", repr=False)
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    body: str | None = field(default=None, repr=False)
    files: tuple[str, ...] | None = field(default=None, repr=False)

    @property
    def failed(self) -> bool:
        return self.status is None or self.status >= 400

    def to_curl(self) -> str:
        """Return the request as a `curl` command. The command reads the API key from the variable `SERVICE_API_KEY`.

        The history does not record bodies of more than 4,096 characters. For such a request, write the body to
        `body.json` before you run the command. Files to upload must be in the current folder.

        >>> print(client.history[-1].to_curl())  # doctest: +SKIP
        """
        words = ["curl", "-X", self.method, shlex.quote(self.url), '-H "Authorization: Bearer $SERVICE_API_KEY"']
        words += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in self.headers.items()]
        if self.files is not None:
            words += [f"--form-string {shlex.quote(f'payload={self.body}')}"] if self.body else []
            words += ["-F 'payload=<body.json'"] if self.body == "" else []
            words += [f"-F {shlex.quote(f'files=@{name}')}" for name in self.files]
        elif self.body is not None:
            body = f"--data-raw {shlex.quote(self.body)}" if self.body else "--data-binary @body.json"
            words += ["-H 'Content-Type: application/json'", body]
        return " ".join(words)


class History(models.Listing[Attempt]):
    """A list of the last 200 requests of a client, including requests of clients from `with_options`.

    The newest request is the last item. A notebook shows the newest request first.
    """

    def __init__(self) -> None:
        super().__init__([], Attempt)

    def add(self, attempt: Attempt) -> None:
        # Use no lock, because another thread might hold it during a fork. Each of the two steps is atomic.
        self.append(attempt)
        del self[:-MAX_REQUESTS]

    @property
    def last_error(self) -> Attempt | None:
        """Return the newest request that received an error or no response, or None if no such request exists."""
        return next((attempt for attempt in reversed(self) if attempt.failed), None)

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with one row per request, the oldest first.

        Times are in UTC, `waited` is in seconds, and `ms` is in milliseconds. Raises `ImportError` without pandas.
        """
        return models.frame(({name: getattr(attempt, name) for name in _COLUMNS} for attempt in self), _COLUMNS)

    def __repr__(self) -> str:
        return self._mimebundle()["text/plain"]

    def _mimebundle(self) -> cards.Bundle:
        rows: list[dict[str, Any]] = [{name: getattr(one, name) for name in _COLUMNS} for one in reversed(self)]
        for row in rows:
            row |= {"at": f"{row['at']:%H:%M:%S}", "waited": row["waited"] or None, "ms": round(row["ms"])}
        return cards.table("Requests", list(_COLUMNS), rows, len(rows))


def record_attempt(
    request: HttpRequest, path: str, outcome: Response | BaseException | None, ms: float, **counts: Any
) -> Attempt:
    """Return the history entry of a request. `outcome` is its response, or the exception that was raised."""
    status: int | None = None
    code: str | None = "interrupted"
    request_id: str | None = None
    if isinstance(outcome, Response):
        status, code, request_id = outcome.status, None, outcome.headers.get("x-request-id")
    elif isinstance(outcome, APIConnectionError):
        code = "timed out" if outcome.timed_out else "no answer"
    elif isinstance(outcome, StefanBrainError):
        status, code, request_id = outcome.status, outcome.code, outcome.request_id
    url = f"{request.url}?{urlencode(request.query)}" if request.query else request.url
    body = None if request.body is None else request.body.decode()
    return Attempt(
        request.method,
        path,
        ms=ms,
        status=status,
        code=code,
        request_id=request_id,
        url=url.replace(request.key, "[key]"),
        headers={name: request.headers[name] for name in _IN_CURL if name in request.headers},
        body="" if body and len(body) > BODY_CHARS else body and body.replace(request.key, "[key]"),
        files=None if request.files is None else tuple(name for name, _ in request.files),
        **counts,
    )
