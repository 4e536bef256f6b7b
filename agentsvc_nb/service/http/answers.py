"""Responses: models as JSON, and failures as the error envelope."""

from __future__ import annotations

from typing import Any

from pydantic_core import to_json
from starlette.responses import Response

from agentsvc_nb.service.api_error import ApiError
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
