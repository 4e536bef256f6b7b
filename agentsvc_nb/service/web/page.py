"""One path of the pages: the session, its form, then the handler; every failure becomes a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import guard
from agentsvc_nb.service.http.context import Handler, RequestContext, Services
from agentsvc_nb.service.http.guard import answered
from agentsvc_nb.service.web.rendering import render
from agentsvc_nb.wire.limits import FORM_MAX_BYTES

_FIELDS_MAX = 50


async def read(request: Request) -> dict[str, str]:
    """The form's fields without their outer blanks, empty ones left out."""
    received = bytearray()
    async for chunk in request.stream():
        received += chunk
        if len(received) > FORM_MAX_BYTES:
            raise ApiError("attachment_too_large", "The form holds too much: shorten what you wrote.")
    try:
        pairs = parse_qsl(received.decode(), max_num_fields=_FIELDS_MAX)
    except ValueError:
        raise ApiError("invalid_query", "The form can't be read: send it from the page.") from None
    return {name: value.strip() for name, value in pairs if value.strip()}


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

    async def _respond(self, request: Request, backend: Services) -> Response:
        handler = self._methods.get("GET" if request.method == "HEAD" else request.method)
        if handler is None:
            raise ApiError("method_not_allowed", headers={"Allow": ", ".join(self._allowed)})
        session = None if self._open else guard.require(request, backend)
        return await handler(RequestContext(request, backend, backend.storage.clock.now(), known_session=session))


def _failure(fail: ApiError) -> Response:
    name = "sign_in.html" if fail.row.code == "unauthorized" else "failure.html"
    response = render(name, fail.row.status, fail=fail, wrong=False)
    response.headers.update(fail.headers)
    return response
