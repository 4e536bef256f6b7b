"""`ApiError`, the only way for the service to respond with an error. Its code is a row of `wire.codes`."""

from __future__ import annotations

from typing import Any

from agentsvc_nb.wire.codes import CODES


class ApiError(Exception):
    """An error response with the code `code`. `message` defaults to the cause in the code's row.

    `details` become fields of `error` (limits, `reset_at`, the wrong field). `top` become fields next to `error`
    (`activeRunId`).

    >>> raise ApiError("agent_run_rejected", top={"activeRunId": run_id})
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
        """Return the body of the response (docs/api/errors.md "Envelope")."""
        error = {"message": self.message, "type": self.row.type, "code": self.row.code, **self.details}
        return {"error": error, **self.top}
