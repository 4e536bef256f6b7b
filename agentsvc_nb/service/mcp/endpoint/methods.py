"""The methods of MCP, by name: which there are in which revision, and what each answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from starlette.responses import Response

from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.mcp.endpoint import calls, catalog, counting, fixtures, listening, reading, tasks
from agentsvc_nb.service.mcp.endpoint.protocol import (
    METHOD_NOT_FOUND,
    SERVER,
    SPOKEN,
    SUPPORTED,
    TASKS,
    Asked,
    Fault,
)
from agentsvc_nb.service.mcp.messages import Message
from agentsvc_nb.service.telemetry.metrics import OTHER

INSTRUCTIONS: Final = (
    "An agent with a workspace: `ask` it about the files of a chat, and have it make others. Results name the `chat`: "
    "pass it to go on there. Files are resources (agentsvc://CHAT/PATH)."
)
_LIST_MS: Final = 60_000
"""How long a list holds: it changes with the service's settings alone."""
Method = Callable[[RequestContext, Asked], Awaitable[Message]]


async def _discover(context: RequestContext, asked: Asked) -> Message:
    capabilities = {**_capabilities(context), "extensions": {TASKS: {}}}
    found = {"supportedVersions": SUPPORTED, "capabilities": capabilities, "instructions": INSTRUCTIONS}
    return {**found, **_fresh("public")}


async def _initialize(context: RequestContext, asked: Asked) -> Message:
    named = asked.params.get("protocolVersion")
    version = named if named in SPOKEN else SPOKEN[0]
    capabilities = {**_capabilities(context), **fixtures.legacy_capabilities(context)}
    return {
        "protocolVersion": version,
        "capabilities": capabilities,
        "serverInfo": SERVER,
        "instructions": INSTRUCTIONS,
    }


def _capabilities(context: RequestContext) -> Message:
    prompts: Message = {"prompts": {}} if fixtures.offered(context) else {}
    return {"tools": {}, "resources": {}, "completions": {}, **prompts}


async def _ping(context: RequestContext, asked: Asked) -> Message:
    return {}


async def _tools(context: RequestContext, asked: Asked) -> Message:
    approved = context.services.settings.approve_effects
    found = [*catalog.listed(context.services.tools, approved=approved), *fixtures.tools(context)]
    return {"tools": found, **_fresh("private")}


async def _templates(context: RequestContext, asked: Asked) -> Message:
    return {"resourceTemplates": [reading.TEMPLATE, *fixtures.templates(context)], **_fresh("public")}


async def _resources(context: RequestContext, asked: Asked) -> Message:
    found = await reading.resources(context, asked)
    if "cursor" in asked.params:
        return found
    return {**found, "resources": [*fixtures.resources(context), *found["resources"]]}


async def _read(context: RequestContext, asked: Asked) -> Message:
    return fixtures.read(context, asked) or await reading.read(context, asked)


def _fresh(scope: str) -> dict[str, Any]:
    return {"ttlMs": _LIST_MS, "cacheScope": scope}


_BOTH: Final[dict[str, Method]] = {
    "tools/list": _tools,
    "resources/list": _resources,
    "resources/templates/list": _templates,
    "resources/read": _read,
    "completion/complete": reading.complete,
}
_MODERN: Final[dict[str, Method]] = {
    **_BOTH,
    "server/discover": _discover,
    "tasks/get": tasks.get,
    "tasks/update": tasks.update,
    "tasks/cancel": tasks.cancel,
}
_LEGACY: Final[dict[str, Method]] = {**_BOTH, "initialize": _initialize, "ping": _ping}
_STREAMED: Final = frozenset({"tools/call", "subscriptions/listen"})
_CHANGES: Final = frozenset({"tools/call", "tasks/update", "tasks/cancel"})
_FREE: Final = frozenset({"server/discover", "tasks/get", "initialize", "ping"})


def is_free(asked: Asked) -> bool:
    """Whether the request counts against no limit."""
    return asked.method in _FREE or asked.calls(catalog.FREE)


def is_read(asked: Asked) -> bool:
    """Whether the request changes nothing: such are not logged, as over the other routes."""
    return asked.method not in _CHANGES or asked.calls(catalog.READS)


def known(asked: Asked) -> str:
    """The method, for metrics: what nobody offers is one."""
    return asked.method if asked.method in _MODERN or asked.method in _LEGACY or asked.method in _STREAMED else OTHER


async def answer(context: RequestContext, asked: Asked, *, streams: bool) -> Response:
    """The response: one message, or a stream of events where the client takes one (`streams`). Raises `Fault`."""
    if asked.method == "subscriptions/listen" and asked.modern:
        ids = await listening.wanted(context, asked)
        return counting.Stream(context, asked.method, listening.messages(context, asked, ids))
    asked = fixtures.as_ask(context, asked)
    if (fixture := await fixtures.answer(context, asked)) is not None:
        return fixture
    if asked.method == "tools/call":
        return await _call(context, asked, streams=streams)
    method = (_MODERN if asked.modern else _LEGACY).get(asked.method)
    if method is None:
        status = 404 if asked.modern else 200
        raise Fault(METHOD_NOT_FOUND, f"There is no method {asked.method[:80]!r}.", status=status)
    return counting.Answer(asked.answer(await method(context, asked)))


async def _call(context: RequestContext, asked: Asked, *, streams: bool) -> Response:
    found = await calls.call(context, asked)
    if isinstance(found, dict):
        return counting.Answer(asked.answer(found))
    if asked.tasks:
        return counting.Answer(asked.answer(tasks.begun(context, found)))
    if streams:
        return counting.Stream(context, asked.method, calls.messages(context, asked, found))
    return counting.Answer(await calls.waited(context, asked, found))
