"""One message and its answer: how large, at whose cost, how often; then its method."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from starlette.responses import Response

from agentsvc_nb.service.accounts import money
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.access import credential_of
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.mcp.endpoint import counting, fixtures, methods
from agentsvc_nb.service.mcp.endpoint.protocol import PARSE_ERROR, Asked, Fault, Faulty, asked
from agentsvc_nb.service.telemetry.metrics import OTHER
from agentsvc_nb.wire.limits import JSON_MAX_BYTES, MCP_BODY_BYTES

_TOO_LARGE: Final = (
    f"A message may have {JSON_MAX_BYTES:,} bytes. Larger files are uploaded by `POST /files`, with a key whose scopes "
    "are not `mcp` alone."
)


async def post(context: RequestContext) -> Response:
    """The answer to one message. What is wrong with the message is answered as a JSON-RPC error, what the service
    refuses beforehand as everywhere (docs/mcp.md "What may go wrong")."""
    context = _billed_to_the_plan(context)
    try:
        document = await _document(context)
        found = asked(document, context.request.headers)
        if found is None:
            fixtures.take(context, document)
            return Response(status_code=202)
        return await counting.counted(context, methods.known(found), _answer(context, found))
    except (Faulty, Fault) as error:
        context.use_case.metrics.mcp_requests.add(OTHER, counting.FAULT)
        return _fault(error.fault, error.id) if isinstance(error, Faulty) else _fault(error, None)


async def _answer(context: RequestContext, found: Asked) -> Response:
    if not methods.is_free(found):
        credential = credential_of(context.request.scope)
        assert credential is not None
        _, account = await context.services.keys.find(credential.secret)
        money.check_account(account, context.received_at)
        await context.services.rates.count(context.key, context.received_at)
    context.request.scope["state"]["read"] = methods.is_read(found)
    try:
        return await methods.answer(context, found, streams=bodies.accepts(context, "text/event-stream"))
    except Fault as fault:
        return _fault(fault, found.id)


def _fault(fault: Fault, id: str | int | None) -> Response:
    return counting.Answer(fault.answer(id), fault.status)


def _billed_to_the_plan(context: RequestContext) -> RequestContext:
    """The request, whose work goes on the plan pool whatever key it has. Raises `api_key_scope_forbidden` for a key
    with a budget that does not name the scope: what it does here is not counted in that."""
    key = context.key
    if key.budget_cents is not None and "mcp" not in key.scopes:
        raise ApiError("api_key_scope_forbidden", "A key with a budget reaches MCP only by the scope mcp, named.")
    return replace(context, known_key=replace(key, member=True, budget_cents=None))


async def _document(context: RequestContext) -> bodies.Document:
    """The JSON object of the body. Raises `request_too_large`, `attachment_too_large`, and `Fault`."""
    length = context.request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > MCP_BODY_BYTES:
        raise ApiError("request_too_large")
    try:
        return await bodies.read_object(context, JSON_MAX_BYTES, too_large=ApiError("attachment_too_large", _TOO_LARGE))
    except ApiError as error:
        if error.row.code != "invalid_json":
            raise
        raise Fault(PARSE_ERROR, error.message, status=400) from None
