"""The endpoint itself: whose page asks, and with which key. What answers is loaded at the first request: a service that
nobody asks by MCP pays nothing for it."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.routing import Route as StarletteRoute
from starlette.types import Receive, Scope, Send

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http.context import Handler, RequestContext
from agentsvc_nb.service.http.responses import refusal
from agentsvc_nb.service.http.routing import GuardedPath
from agentsvc_nb.wire.routes import MCP

_GET_A_KEY: Final = (
    "Create one with `agentsvc keys create --name mcp --scope mcp` and send it as `Authorization: Bearer KEY`. "
    "Programs on the service's own machine need none: they start `agentsvc mcp --stdio`."
)


def routes() -> list[BaseRoute]:
    return [StarletteRoute(MCP.path, _Endpoint())]


class _Endpoint:
    """An ASGI endpoint that refuses the pages of other sites before it looks for a key."""

    def __init__(self) -> None:
        self._guarded = GuardedPath({"POST": (MCP, _post)}, _challenged)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        names = scope["app"].state.service.services.names
        if all(map(names.has_origin, Request(scope).headers.getlist("origin"))):
            return await self._guarded(scope, receive, send)
        await refusal(ApiError("foreign_origin"))(scope, receive, send)


def _challenged(request: Request, error: ApiError) -> Response:
    """The refusal. Without a valid key, it says how to get one: many programs show it as it is."""
    if error.row.code != "unauthorized":
        return refusal(error)
    response = refusal(ApiError("unauthorized", f"{error.message} {_GET_A_KEY}"))
    response.headers["WWW-Authenticate"] = "Bearer"
    return response


async def _post(context: RequestContext) -> Response:
    # In a thread, so that nobody waits while it loads.
    post = _loaded() if _loaded.cache_info().currsize else await asyncio.to_thread(_loaded)
    return await post(context)


@cache
def _loaded() -> Handler:
    from agentsvc_nb.service.mcp.endpoint import answering

    return answering.post
