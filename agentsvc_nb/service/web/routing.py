"""Build the routes of the pages, which check the session before the handler runs and show every failure as a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agentsvc_nb.service.http import access
from agentsvc_nb.service.http.context import Handler, RequestContext, Services
from agentsvc_nb.service.http.routing import Endpoint, Respond
from agentsvc_nb.service.web import CONTENT_POLICY, chats, developer, failure

_HEADERS: Final = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    # Don't use `no-referrer`: browsers would then send the service's own forms with `Origin: null`, which it refuses.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


_PAGES: Final[Mapping[str, Mapping[str, Handler]]] = {
    "/app": {"GET": chats.recent},
    "/app/chats/{chat}": {"GET": chats.show},
    "/app/chats/{chat}/files": {"GET": chats.file},
    "/app/chats/{chat}/text": {"GET": chats.show_text},
    "/app/runs/{run_id}/events": {"GET": chats.events},
    "/app/runs/{run_id}/sent": {"GET": chats.show_sent},
    "/app/runs/{run_id}/limits": {"POST": chats.raise_limit},
    "/app/runs/{run_id}/cancel": {"POST": chats.stop},
    "/app/runs/{run_id}/undo": {"POST": chats.undo},
    "/app/runs/{run_id}/calls/{call_id}/approval": {"POST": chats.approve},
    "/app/standing-approvals/{approval_id}/revoke": {"POST": chats.revoke},
    "/app/settings": {"GET": developer.show_settings},
    "/app/settings/keys": {"POST": developer.create_key},
    "/app/settings/keys/{id}/delete": {"GET": developer.confirm_deletion, "POST": developer.delete_key},
    "/app/feedback": {"GET": developer.show_feedback, "POST": developer.send_feedback},
    "/app/sign-out": {"POST": developer.sign_out},
}
_OPEN_PAGES: Final[Mapping[str, Mapping[str, Handler]]] = {
    "/": {"GET": developer.home},
    "/app/sign-in": {"GET": developer.sign_in},
    "/app/api": {"GET": developer.show_reference},
    "/app/terms": {"GET": developer.terms},
    "/app/static/{name}": {"GET": developer.static},
    "/app/{rest:path}": {"GET": developer.missing},
}
"""Pages that need no session. The last entry matches all other paths."""


def pages() -> list[BaseRoute]:
    return [
        Route(path, Endpoint({method: respond(page) for method, page in methods.items()}, failure, _HEADERS))
        for table, respond in ((_PAGES, _signed_in), (_OPEN_PAGES, _open))
        for path, methods in table.items()
    ]


def _signed_in(page: Handler) -> Respond:
    async def respond(request: Request, services: Services) -> Response:
        session = await access.require_session(request, services.names, services.use_case)
        return await page(RequestContext(request, services, services.use_case.now, known_session=session))

    return respond


def _open(page: Handler) -> Respond:
    async def respond(request: Request, services: Services) -> Response:
        return await page(RequestContext(request, services, services.use_case.now))

    return respond
