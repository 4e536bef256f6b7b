"""Read the answer of a run's caller to a client tool's call (docs/api/client-tools.md "The answer")."""

from __future__ import annotations

from typing import Any, Final

from pydantic import ValidationError

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.tools import port
from agentsvc_nb.tools.port import Outcome
from agentsvc_nb.wire.limits import CALL_RESULT_BYTES, JSON_VALUES_MAX, MESSAGE_CHARS
from agentsvc_nb.wire.runs import CallResult

_CODE: Final = "client_error"
_FAILED: Final = "The tool failed."


async def read(context: RequestContext) -> Outcome | None:
    """Return the outcome in the request's body. Return None if the caller only reports that it is still working.

    Raises `call_result_too_large`, `invalid_call_result`, and what `bodies.parse_object` raises.
    """
    fields = tuple(CallResult.model_fields)
    document = await bodies.read_object(context, CALL_RESULT_BYTES, JSON_VALUES_MAX, ApiError("call_result_too_large"))
    return await bodies.run_check(context, _outcome, {name: document[name] for name in fields if name in document})


def _outcome(document: bodies.Document) -> Outcome | None:
    try:
        given = CallResult.model_validate(document, strict=True)
    except ValidationError as error:
        field, fault = port.describe_invalid_field(error)
        raise ApiError("invalid_call_result", fault, field=field) from None
    if given.pending:
        if len(document) > 1:
            raise ApiError("invalid_call_result", "`pending` must be the only field of the result.", field="pending")
        return None
    if given.content is None:
        raise ApiError("invalid_call_result", "`content` is missing.", field="content")
    if given.error is not None and not given.is_error:
        raise ApiError("invalid_call_result", "`error` needs `is_error: true`.", field="error")
    # Keep the blocks as the caller sent them, because the agent may need unknown fields and nulls.
    content: list[dict[str, Any]] = document["content"]
    if not given.is_error:
        return Outcome(content=content, data=given.data)
    code, message = (given.error.code, given.error.message) if given.error else (_CODE, "")
    message = message or next((block["text"] for block in content if block["type"] == "text"), "") or _FAILED
    message = message[:MESSAGE_CHARS]
    shown = content or [{"type": "text", "text": message}]
    return Outcome(content=shown, data=given.data, error=(code, message))
