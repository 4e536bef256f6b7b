"""Handle the MCP methods that clients call: check limits, dispatch the request, and count it in the metrics."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final

from starlette.responses import Response

from agentsvc_nb.service.accounts import money
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.access import credential_of
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.responses import JSON, EventStreamResponse
from agentsvc_nb.service.mcp.messages import Message
from agentsvc_nb.service.mcp.server import calls, catalog, resources, tasks
from agentsvc_nb.service.mcp.server.own_tools import OWN_TOOLS
from agentsvc_nb.service.mcp.server.protocol import (
    HANDSHAKE_VERSIONS,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    SERVER,
    SUPPORTED_VERSIONS,
    TASKS,
    Fault,
    McpRequest,
    encode,
    parse_request,
)
from agentsvc_nb.service.telemetry.metrics import OTHER
from agentsvc_nb.wire.limits import JSON_MAX_BYTES, MCP_BODY_BYTES

INSTRUCTIONS: Final = (
    "An agent with a workspace: `ask` it questions about a chat's files, or ask it to write files. "
    "Results contain the `chat`: pass it to continue in the same chat. Files are resources "
    "(agentsvc://CHAT/PATH)."
)
_TOO_LARGE: Final = (
    f"A message must not exceed {JSON_MAX_BYTES:,} bytes. Upload larger files with `POST /files`. That "
    "needs a key with more scopes than `mcp`."
)
_LISTEN: Final = "subscriptions/listen"
_FREE: Final = frozenset({"server/discover", "tasks/get", "initialize", "ping"})
_CHANGES: Final = frozenset({"tools/call", "tasks/update", "tasks/cancel"})
_PING: Final = b": ping\n\n"
OK: Final = "ok"
TOOL_ERROR: Final = "tool_error"
FAULT: Final = "fault"
REFUSED: Final = "refused"

Answer = Message | AsyncGenerator[Message | None]
"""The result, or a stream of messages that ends with the response. A None in the stream keeps the connection alive."""
Method = Callable[[RequestContext, McpRequest], Awaitable[Answer]]


class McpServer:
    """Responds to MCP messages. A subclass may offer more tools, resources and methods."""

    def __init__(self) -> None:
        both: dict[str, Method] = {
            "tools/list": self.list_tools,
            "tools/call": self.call_tool,
            "resources/list": resources.list_files,
            "resources/templates/list": resources.list_templates,
            "resources/read": resources.read,
            "completion/complete": resources.complete,
        }
        self.modern: dict[str, Method] = {
            **both,
            "server/discover": self._discover,
            "tasks/get": tasks.get,
            "tasks/update": tasks.update,
            "tasks/cancel": tasks.cancel,
            _LISTEN: tasks.subscribe,
        }
        self.legacy: dict[str, Method] = {**both, "initialize": self._initialize, "ping": _ping}

    async def post(self, context: RequestContext) -> Response:
        """Respond to a message. Send each `Fault` as a JSON-RPC error (docs/mcp.md "Errors")."""
        context = _charge_plan_pool(context)
        metrics, method, request = context.use_case.metrics, OTHER, None
        try:
            document = await _read_document(context)
            request = parse_request(document, context.request.headers)
            if request is None:
                self.receive(document)
                return Response(status_code=202)
            method = request.method if request.method in {*self.modern, *self.legacy} else OTHER
            return await self._respond(context, request, method)
        except Fault as fault:
            metrics.mcp_requests.add(method, FAULT)
            return Response(encode(fault.response()), fault.status, media_type=JSON)
        except Exception:
            if request is not None:
                metrics.mcp_requests.add(method, REFUSED)
            raise

    def receive(self, document: Mapping[str, Any]) -> None:
        """Ignore a notification or a response from the client. A subclass may override this method."""

    def capabilities(self, request: McpRequest) -> Message:
        return {"tools": {}, "resources": {}, "completions": {}}

    async def list_tools(self, context: RequestContext, request: McpRequest) -> Message:
        approved = context.services.settings.approve_effects
        return {
            "tools": catalog.list_tools(context.services.tools, approved=approved),
            **resources.cache_fields("private"),
        }

    async def call_tool(self, context: RequestContext, request: McpRequest) -> Answer:
        found = await calls.call(context, request)
        if isinstance(found, dict):
            return found
        return tasks.describe_new(context, found) if request.supports_tasks else tasks.follow(context, request, found)

    async def _discover(self, context: RequestContext, request: McpRequest) -> Message:
        capabilities = {**self.capabilities(request), "extensions": {TASKS: {}}}
        found = {"supportedVersions": SUPPORTED_VERSIONS, "capabilities": capabilities, "instructions": INSTRUCTIONS}
        return {**found, **resources.cache_fields("public")}

    async def _initialize(self, context: RequestContext, request: McpRequest) -> Message:
        named = request.params.get("protocolVersion")
        return {
            "protocolVersion": named if named in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[0],
            "capabilities": self.capabilities(request),
            "serverInfo": SERVER,
            "instructions": INSTRUCTIONS,
        }

    async def _respond(self, context: RequestContext, request: McpRequest, method: str) -> Response:
        try:
            own = OWN_TOOLS.get(str(request.params.get("name"))) if request.method == "tools/call" else None
            if request.method not in _FREE and not (own and own.free):
                await _count_request(context)
            # As on other routes, requests that change nothing are not logged.
            reads = request.method not in _CHANGES or bool(own and own.reads)
            context.request.scope["state"]["read"] = reads
            answer = (self.modern if request.modern else self.legacy).get(request.method)
            if answer is None:
                status = 404 if request.modern else 200
                raise Fault(METHOD_NOT_FOUND, f"There is no method {request.method[:80]!r}.", status=status)
            found = await answer(context, request)
        except Fault as fault:
            fault.id = request.id
            raise
        if isinstance(found, dict):
            last = request.response(found)
        elif request.method == _LISTEN or bodies.accepts(context, "text/event-stream"):
            return EventStreamResponse(_stream_events(context, method, found))
        else:
            last = [message async for message in found if message is not None][-1]
        context.use_case.metrics.mcp_requests.add(method, _get_outcome(last))
        return Response(encode(last), media_type=JSON)


async def _ping(context: RequestContext, request: McpRequest) -> Message:
    return {}


def _charge_plan_pool(context: RequestContext) -> RequestContext:
    """Return a context that charges the request's work to the plan pool (docs/mcp.md).

    The plan pool is a monthly budget. Raises `api_key_scope_forbidden` for a key with a budget but without the scope
    `mcp`, because work in the plan pool does not count against the key's budget.
    """
    key = context.key
    if key.budget_cents is not None and "mcp" not in key.scopes:
        raise ApiError("api_key_scope_forbidden", "To use MCP, a key with a budget needs the scope `mcp`.")
    return replace(context, known_key=replace(key, member=True, budget_cents=None))


async def _count_request(context: RequestContext) -> None:
    """Count the request against the request rates.

    Raises `ApiError` if the account is suspended or throttled, or exceeds a rate.
    """
    credential = credential_of(context.request.scope)
    assert credential is not None
    _, account = await context.services.keys.find(credential.secret)
    money.check_account(account, context.received_at)
    await money.count_request(context.services.use_case, context.key, context.received_at)


async def _read_document(context: RequestContext) -> bodies.Document:
    """Parse the body as a JSON object. Raises `request_too_large`, `attachment_too_large`, and `Fault`."""
    length = context.request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > MCP_BODY_BYTES:
        raise ApiError("request_too_large")
    try:
        return await bodies.read_object(context, JSON_MAX_BYTES, too_large=ApiError("attachment_too_large", _TOO_LARGE))
    except ApiError as error:
        if error.row.code != "invalid_json":
            raise
        raise Fault(PARSE_ERROR, error.message, status=400) from None


async def _stream_events(
    context: RequestContext, method: str, messages: AsyncGenerator[Message | None]
) -> AsyncGenerator[bytes]:
    """Yield the messages as server-sent events. Count the request in the metrics when the stream ends."""
    metrics, outcome = context.use_case.metrics, OK
    metrics.mcp_streams.add(method)
    try:
        async with aclosing(messages):
            async for message in messages:
                if message is not None and "method" not in message:
                    outcome = _get_outcome(message)
                # A message's JSON contains no line breaks, so one `data:` line is enough.
                yield _PING if message is None else b"event: message\ndata: " + encode(message) + b"\n\n"
    except Exception:
        outcome = FAULT
        raise
    finally:
        metrics.mcp_streams.add(method, by=-1)
        metrics.mcp_requests.add(method, outcome)


def _get_outcome(message: Message) -> str:
    if "error" in message:
        return FAULT
    return TOOL_ERROR if message["result"].get("isError") else OK
