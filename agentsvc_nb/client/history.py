"""A client's latest requests and their outcomes, without the API key and without the caller's own headers."""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any, Final, overload
from urllib.parse import urlencode

from agentsvc_nb.client import models
from agentsvc_nb.client.cards import aligned, untypeset
from agentsvc_nb.client.errors import APIConnectionError, StefanBrainError
from agentsvc_nb.client.transport.io import HttpRequest, Response

if TYPE_CHECKING:
    import pandas as pd

KEPT: Final = 200
"""How many requests are recorded."""
BODY_CHARS: Final = 4_096
"""Longer bodies are not recorded."""
_COLUMNS: Final = ("at", "request", "attempt", "after", "status", "code", "ms", "request id")
_IN_CURL: Final = ("accept", "idempotency-key", "if-range", "last-event-id", "range")
"""Request headers that are recorded: not the caller's own, which may hold secrets."""
# Columns of `History.to_frame` and their dtypes.
_FRAME: Final = {
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

    `attempt` counts from 1; `waited` is the pause before it, `ms` how long it took. `status` is None if no answer
    came. `code` is the error code, if any; `request_id` is the service's `X-Request-Id`. `body` is "" if it was too
    long to record; `files` are names only.
    """

    method: str
    path: str
    attempt: int
    waited: float
    ms: float
    status: int | None = None
    code: str | None = None
    request_id: str | None = None
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    url: str = field(default="", repr=False)
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    body: str | None = field(default=None, repr=False)
    files: tuple[str, ...] | None = field(default=None, repr=False)

    @property
    def failed(self) -> bool:
        return self.status is None or self.status >= 400

    def to_curl(self) -> str:
        """The request as a `curl` command, which takes the key from `$SERVICE_API_KEY`.

        A body of more than 4,096 characters is not recorded: `curl` reads it from a file `body.json`, which the caller
        must make. Files to send are expected in the current folder.
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


class History(Sequence[Attempt]):
    """The last 200 requests of a client and of those made from it with `with_options`, the newest last."""

    def __init__(self) -> None:
        # Without a lock, which a forked child might find held for ever: to add and to copy are one step each.
        self._attempts: deque[Attempt] = deque(maxlen=KEPT)

    def add(self, attempt: Attempt) -> None:
        self._attempts.append(attempt)

    def _all(self) -> list[Attempt]:
        return list(self._attempts.copy())

    @property
    def last_error(self) -> Attempt | None:
        """The newest request that was answered with an error, or not at all."""
        return next((attempt for attempt in reversed(self._all()) if attempt.failed), None)

    def to_frame(self) -> pd.DataFrame:
        """A DataFrame with one row per request; times in UTC, `waited` in seconds, `ms` in milliseconds.

        Raises `ImportError` without pandas.
        """
        return models.frame(({name: getattr(attempt, name) for name in _FRAME} for attempt in self), _FRAME)

    def __len__(self) -> int:
        return len(self._attempts)

    def __iter__(self) -> Iterator[Attempt]:
        return iter(self._all())

    @overload
    def __getitem__(self, at: int) -> Attempt: ...
    @overload
    def __getitem__(self, at: slice) -> list[Attempt]: ...
    def __getitem__(self, at: int | slice) -> Attempt | list[Attempt]:
        return self._all()[at]

    def __repr__(self) -> str:
        return "\n".join(aligned([_COLUMNS, *map(_row, self._all())]))

    def _repr_html_(self) -> str:
        def line(cells: Sequence[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        rows = "".join(line(_row(attempt), "td") for attempt in self._all())
        return untypeset(f"<table><thead>{line(_COLUMNS, 'th')}</thead><tbody>{rows}</tbody></table>")


def attempted(
    request: HttpRequest, path: str, outcome: Response | BaseException | None, ms: float, **counts: Any
) -> Attempt:
    """The history entry for a request; `outcome` is its response, or the exception that was raised."""
    return Attempt(
        request.method,
        path,
        ms=ms,
        url=_without_key(f"{request.url}?{urlencode(request.query)}" if request.query else request.url, request),
        headers={name: request.headers[name] for name in _IN_CURL if name in request.headers},
        body=None if request.body is None else _kept(request),
        files=None if request.files is None else tuple(name for name, _ in request.files),
        **_answered(outcome),
        **counts,
    )


def _answered(outcome: Response | BaseException | None) -> dict[str, Any]:
    if isinstance(outcome, Response):
        return {"status": outcome.status, "request_id": outcome.headers.get("x-request-id")}
    if isinstance(outcome, APIConnectionError):
        return {"code": "timed out" if outcome.timed_out else "no answer"}
    if isinstance(outcome, StefanBrainError):
        return {"status": outcome.status, "code": outcome.code, "request_id": outcome.request_id}
    return {"code": "interrupted"}


def _kept(request: HttpRequest) -> str:
    """The body as JSON without the key, or "" if it has more than 4,096 characters."""
    text = (request.body or b"").decode()
    return _without_key(text, request) if len(text) <= BODY_CHARS else ""


def _without_key(text: str, request: HttpRequest) -> str:
    return text.replace(request.key, "[key]")


def _row(attempt: Attempt) -> tuple[str, ...]:
    return (
        attempt.at.strftime("%H:%M:%S"),
        f"{attempt.method} {attempt.path}",
        str(attempt.attempt),
        f"{attempt.waited:.1f} s" if attempt.waited else "",
        str(attempt.status or ""),
        attempt.code or "",
        f"{attempt.ms:.0f}",
        attempt.request_id or "",
    )
