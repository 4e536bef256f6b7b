"""One path of the pages: the session, then the handler; every failure becomes a page, and every answer is locked up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.http import sessions
from agentsvc_nb.service.http.backend import Backend, Call, Handler
from agentsvc_nb.service.http.guard import answered
from agentsvc_nb.service.web.rendering import render

_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    # Not `no-referrer`: with it a browser sends `Origin: null` with our own forms, and they would be refused.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Page:
    """The handlers of one path, by method; `open` ones need no session."""

    def __init__(self, methods: Mapping[str, Handler], *, open: bool = False) -> None:
        self._methods = methods
        self._allowed = sorted({*methods, "HEAD"} if "GET" in methods else methods)
        self._open = open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = await answered(request, self._respond(request, scope["app"].state.service.backend), _failure)
        if response is not None:
            for name, value in _HEADERS.items():
                response.headers.setdefault(name, value)
            await response(scope, receive, send)

    async def _respond(self, request: Request, backend: Backend) -> Response:
        handler = self._methods.get("GET" if request.method == "HEAD" else request.method)
        if handler is None:
            raise Fail("method_not_allowed", headers={"Allow": ", ".join(self._allowed)})
        session = None if self._open else sessions.require(request, backend)
        return await handler(Call(request, backend, backend.storage.clock.now(), known_session=session))


def _failure(fail: Fail) -> Response:
    name = "sign_in.html" if fail.row.code == "unauthorized" else "failure.html"
    response = render(name, fail.row.status, fail=fail, wrong=False)
    response.headers.update(fail.headers)
    return response
