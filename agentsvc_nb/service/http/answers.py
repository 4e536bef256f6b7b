"""Answers: models as JSON, failures as the error envelope."""

from __future__ import annotations

from typing import Any

from pydantic_core import to_json
from starlette.responses import Response

from agentsvc_nb.service.fail import Fail
from agentsvc_nb.wire.envelope import Model

JSON = "application/json"


def answer(model: Model, status: int = 200) -> Response:
    return Response(model.model_dump_json(), status, media_type=JSON)


def answer_json(document: dict[str, Any], status: int = 200) -> Response:
    return Response(to_json(document, inf_nan_mode="null"), status, media_type=JSON)


def refusal(fail: Fail) -> Response:
    """Every non-2xx answer has this shape (spec.md "Error envelope")."""
    response = answer_json(fail.envelope(), fail.row.status)
    response.headers.update(fail.headers)
    return response
