"""Responses: models as JSON, and failures as the error envelope, also for input that is not valid HTTP."""

from __future__ import annotations

import asyncio
import logging
import secrets
from typing import Any

from pydantic_core import to_json
from starlette.responses import Response

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.logs import fields
from agentsvc_nb.wire.failures import Model

JSON = "application/json"


def answer(model: Model, status: int = 200) -> Response:
    return Response(model.model_dump_json(), status, media_type=JSON)


def answer_json(document: dict[str, Any], status: int = 200) -> Response:
    return Response(to_json(document, inf_nan_mode="null"), status, media_type=JSON)


def refusal(error: ApiError) -> Response:
    """The error envelope, which every non-2xx answer has (docs/api/errors.md "Envelope")."""
    response = answer_json(error.envelope(), error.row.status)
    response.headers.update(error.headers)
    return response


log = logging.getLogger(__name__)


def enveloping(protocol: type[asyncio.Protocol]) -> type[asyncio.Protocol]:
    """uvicorn's `protocol` class, for either of its parsers, with the error envelope as answer to unparsable input."""
    return type(f"Enveloping{protocol.__name__}", (protocol,), {"send_400_response": _refuse})


def _refuse(connection: Any, reason: str) -> None:
    """Write the answer straight to the socket: there is no request that the application could answer."""
    cycle = connection.cycle
    if cycle is None or cycle.response_complete or not cycle.response_started:  # never into the middle of an answer
        request_id = f"req_{secrets.token_hex(12)}"
        connection.transport.write(_answer(reason, request_id))
        log.info("request", extra=fields(status=400, reason=reason, request=request_id))
    connection.transport.close()


def _answer(reason: str, request_id: str) -> bytes:
    # `invalid_query` is the only code for a malformed request that is not about its body or one of its fields.
    answer = refusal(ApiError("invalid_query", f"{reason} Send a well-formed HTTP/1.1 request."))
    headers = [*answer.raw_headers, (b"x-request-id", request_id.encode()), (b"connection", b"close")]
    lines = [b"HTTP/1.1 400 Bad Request", *(name + b": " + value for name, value in headers), b"", bytes(answer.body)]
    return b"\r\n".join(lines)
