"""`ApiError`, the exception that the service turns into an error response."""

from __future__ import annotations

from typing import Any

from agentsvc_nb.wire.codes import CODES


class ApiError(Exception):
    """An exception that the service turns into an error response.

    `code` is the error code of a row of `wire.codes.CODES`. Without a `message`, that row's `cause` is the message.
    `details` become fields of the JSON object `error`, such as limits, `reset_at` or the name of a wrong field.
    The entries of `top` become fields next to `error`, such as `activeRunId`.

    >>> ApiError("agent_run_rejected", top={"activeRunId": "0b9c1d2e"}).top
    {'activeRunId': '0b9c1d2e'}
    """

    def __init__(
        self,
        code: str,
        message: str | None = None,
        *,
        headers: dict[str, str] | None = None,
        top: dict[str, Any] | None = None,
        **details: Any,
    ) -> None:
        self.row = CODES[code]
        self.message = message or self.row.cause
        self.headers = dict(headers or {})
        if self.row.retry_after is not None:
            self.headers.setdefault("Retry-After", str(self.row.retry_after))
        self.top = top or {}
        self.details = details
        super().__init__(self.message)

    def envelope(self) -> dict[str, Any]:
        """Return the JSON body of the error response (docs/api/errors.md "Envelope")."""
        error = {"message": self.message, "type": self.row.type, "code": self.row.code, **self.details}
        return {"error": error, **self.top}
