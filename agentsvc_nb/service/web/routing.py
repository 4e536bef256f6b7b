"""The routes of the pages: the session is checked before the handler, and every failure becomes a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import access
from agentsvc_nb.service.http.context import Handler, RequestContext, Services
from agentsvc_nb.service.http.routing import answered
from agentsvc_nb.service.web import CONTENT_POLICY, chats, developer, failure

_HEADERS: Final = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    # Not `no-referrer`: a browser would then send `Origin: null` with our own forms, and they would be refused.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class PageEndpoint:
    """An ASGI endpoint: the handlers of one path, by method. An `open` path needs no session."""

    def __init__(self, methods: Mapping[str, Handler], *, open: bool = False) -> None:
        self._methods = methods
        self._allowed = sorted({*methods, "HEAD"} if "GET" in methods else methods)
        self._open = open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = await answered(request, self._respond(request, scope["app"].state.service.services), failure)
        if response is not None:
            for name, value in _HEADERS.items():
                response.headers.setdefault(name, value)
            await response(scope, receive, send)

    async def _respond(self, request: Request, services: Services) -> Response:
        handler = self._methods.get("GET" if request.method == "HEAD" else request.method)
        if handler is None:
            raise ApiError("method_not_allowed", headers={"Allow": ", ".join(self._allowed)})
        session = None if self._open else await access.require_session(request, services.names, services.use_case)
        return await handler(RequestContext(request, services, services.use_case.now, known_session=session))


_PAGES: Final = {
    "/": PageEndpoint({"GET": developer.home}, open=True),
    "/app": PageEndpoint({"GET": chats.recent}),
    "/app/chats/{chat}": PageEndpoint({"GET": chats.show}),
    "/app/chats/{chat}/files": PageEndpoint({"GET": chats.file}),
    "/app/chats/{chat}/text": PageEndpoint({"GET": chats.show_text}),
    "/app/runs/{run_id}/events": PageEndpoint({"GET": chats.events}),
    "/app/runs/{run_id}/sent": PageEndpoint({"GET": chats.show_sent}),
    "/app/runs/{run_id}/cancel": PageEndpoint({"POST": chats.stop}),
    "/app/runs/{run_id}/calls/{call_id}/approval": PageEndpoint({"POST": chats.approve}),
    "/app/settings": PageEndpoint({"GET": developer.show_settings}),
    "/app/settings/keys": PageEndpoint({"POST": developer.create_key}),
    "/app/settings/keys/{id}/delete": PageEndpoint({"GET": developer.confirm_deletion, "POST": developer.delete_key}),
    "/app/feedback": PageEndpoint({"GET": developer.show_feedback, "POST": developer.send_feedback}),
    "/app/sign-out": PageEndpoint({"POST": developer.sign_out}),
    "/app/sign-in": PageEndpoint({"GET": developer.sign_in}, open=True),
    "/app/api": PageEndpoint({"GET": developer.show_reference}, open=True),
    "/app/terms": PageEndpoint({"GET": developer.terms}, open=True),
    "/app/static/{name}": PageEndpoint({"GET": developer.static}, open=True),
    "/app/{rest:path}": PageEndpoint({"GET": developer.missing}, open=True),
}


def pages() -> list[BaseRoute]:
    return [Route(path, page) for path, page in _PAGES.items()]
