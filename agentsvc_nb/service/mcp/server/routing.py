"""Define the MCP server's route. Import the server at the first request, to save time and memory until then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.routing import Route as StarletteRoute
from starlette.types import Receive, Scope, Send

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.responses import refusal
from agentsvc_nb.service.http.routing import Endpoint, guard
from agentsvc_nb.wire.routes import MCP

if TYPE_CHECKING:
    from agentsvc_nb.service.mcp.server.methods import McpServer

_GET_A_KEY: Final = (
    "Create a key with `agentsvc keys create --name mcp --scope mcp` and send it as `Authorization: "
    "Bearer KEY`. Programs on the service's machine do not need a key: they start `agentsvc mcp "
    "--stdio`."
)


def load_server() -> McpServer:
    from agentsvc_nb.service.mcp.server.methods import McpServer

    return McpServer()


def routes(load: Callable[[], McpServer] = load_server) -> list[BaseRoute]:
    """Return the MCP route. `load` creates the MCP server at the first request."""
    return [StarletteRoute(MCP.path, _Endpoint(load))]


class _Endpoint:
    """Refuses requests from web pages of other origins, even before it checks the key.

    Passes other requests on to the MCP server.
    """

    def __init__(self, load: Callable[[], McpServer]) -> None:
        self._load = load
        self._server: McpServer | None = None
        self._guarded = Endpoint({"POST": guard(MCP, self._post)}, _respond_refused)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        names = scope["app"].state.service.services.names
        if all(map(names.has_origin, Request(scope).headers.getlist("origin"))):
            return await self._guarded(scope, receive, send)
        await refusal(ApiError("foreign_origin"))(scope, receive, send)

    async def _post(self, context: RequestContext) -> Response:
        if self._server is None:
            self._server = await asyncio.to_thread(self._load)  # use a thread, because the import takes a while
        return await self._server.post(context)


def _respond_refused(error: ApiError) -> Response:
    """Build the response to a refused request. If the request has no valid key, the response says how to get one."""
    if error.row.code != "unauthorized":
        return refusal(error)
    response = refusal(ApiError("unauthorized", f"{error.message} {_GET_A_KEY}"))
    response.headers["WWW-Authenticate"] = "Bearer"
    return response
