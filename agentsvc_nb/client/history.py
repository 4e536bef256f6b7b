"""A client's latest requests and their outcomes, without the API key and the caller's own headers."""

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

KEPT: Final = 200
"""The number of requests that are recorded."""
BODY_CHARS: Final = 4_096
"""The maximum size of a recorded body; longer bodies are left out."""
_IN_CURL: Final = ("accept", "idempotency-key", "if-range", "last-event-id", "range")
"""The request headers that are recorded. The caller's own headers may contain secrets."""
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
    """One request as it was sent, and its outcome.

    `attempt` counts from 1. `waited` is the pause before the request in seconds, `ms` the duration of the request.
    `status` is None without a response. `code` is the error code. `body` is "" if it was too long to record. `files`
    has names only.
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
        """Return the request as a `curl` command, which takes the key from `$SERVICE_API_KEY`.

        The history does not record bodies of more than 4,096 characters: write such a body to `body.json`. The command
        expects files to send in the current folder.
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
    """The last 200 requests of a client and its `with_options` copies. The newest is last, but displayed first."""

    def __init__(self) -> None:
        super().__init__([], Attempt)

    def add(self, attempt: Attempt) -> None:
        # Use no lock, because another thread might hold it during a fork. Each of the two steps is atomic.
        self.append(attempt)
        del self[:-KEPT]

    @property
    def last_error(self) -> Attempt | None:
        """Return the newest request that got an error or no response."""
        return next((attempt for attempt in reversed(self) if attempt.failed), None)

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with one row per request; times in UTC, `waited` in seconds, `ms` in milliseconds.

        Raises `ImportError` without pandas.
        """
        return models.frame(({name: getattr(attempt, name) for name in _COLUMNS} for attempt in self), _COLUMNS)

    def __repr__(self) -> str:
        return self._mimebundle()["text/plain"]

    def _mimebundle(self) -> cards.Bundle:
        rows: list[dict[str, Any]] = [{name: getattr(one, name) for name in _COLUMNS} for one in reversed(self)]
        for row in rows:
            row |= {"at": f"{row['at']:%H:%M:%S}", "waited": row["waited"] or None, "ms": round(row["ms"])}
        return cards.table("Requests", list(_COLUMNS), rows, len(rows))


def attempted(
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
