"""The paths of the authorization server, whose handlers are imported when one is asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.routing import Route as StarletteRoute
from starlette.types import Receive, Scope, Send

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http.context import Services
from agentsvc_nb.service.http.responses import refusal
from agentsvc_nb.service.http.routing import answered
from agentsvc_nb.wire.routes import AUTHORIZATION_SERVER, PROTECTED_RESOURCE, TOKEN, Route

_Answer = Callable[[Request, Services], Awaitable[Response]]
_ROUTES: Final = (PROTECTED_RESOURCE, AUTHORIZATION_SERVER, TOKEN)


def routes() -> list[BaseRoute]:
    return [StarletteRoute(route.path, _Endpoint(route)) for route in _ROUTES]


class _Endpoint:
    """An ASGI endpoint: the handler of one route, which is open to anybody."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._allowed = ["GET", "HEAD"] if route.method == "GET" else [route.method]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = await answered(request, self._respond(request, scope["app"].state.service.services), refusal)
        if response is not None:
            await response(scope, receive, send)

    async def _respond(self, request: Request, services: Services) -> Response:
        if request.method not in self._allowed:
            raise ApiError("method_not_allowed", headers={"Allow": ", ".join(self._allowed)})
        from agentsvc_nb.service.mcp.oauth import endpoints

        handlers: dict[str, _Answer] = {
            PROTECTED_RESOURCE.name: endpoints.resource,
            AUTHORIZATION_SERVER.name: endpoints.server,
            TOKEN.name: endpoints.token,
        }
        return await handlers[self._route.name](request, services)
