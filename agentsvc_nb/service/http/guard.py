"""One path of the service: method, authentication and scope, then the handler; every failure becomes an envelope."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agentsvc_nb.service.actions import rates
from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.http import access, request_log, sessions
from agentsvc_nb.service.http.access import Credential
from agentsvc_nb.service.http.answers import refusal
from agentsvc_nb.service.http.backend import Backend, Call, Handler
from agentsvc_nb.service.logs import fields
from agentsvc_nb.service.ports.storage import StoreBusy
from agentsvc_nb.service.records.accounts import AccountRecord
from agentsvc_nb.service.records.keys import KeyRecord
from agentsvc_nb.wire.routes import Route

log = logging.getLogger(__name__)


class GuardedPath:
    """The routes of one path, by method."""

    def __init__(self, methods: Mapping[str, tuple[Route, Handler]]) -> None:
        self._methods = methods
        self._allowed = sorted({*methods, "HEAD"} if "GET" in methods else methods)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = await answered(request, self._respond(request, scope["app"].state.service.backend), refusal)
        if response is not None:
            await response(scope, receive, send)

    async def _respond(self, request: Request, backend: Backend) -> Response:
        received_at = backend.storage.clock.now()
        found = self._methods.get("GET" if request.method == "HEAD" else request.method)
        if found is None:
            raise Fail("method_not_allowed", headers={"Allow": ", ".join(self._allowed)})
        route, handler = found
        key = None
        if route.access == "key":
            key, account = _authenticate(request, backend, route)
            request_log.note_key(request.scope, key.id)
            if route.limited:
                await _check_rates(backend, key, account, received_at)
        session = sessions.require(request, backend) if route.access == "session" else None
        return await handler(Call(request, backend, received_at, key, session))


async def answered(
    request: Request, response: Awaitable[Response], refuse: Callable[[Fail], Response]
) -> Response | None:
    """The response, or what `refuse` makes of its failure; None when the client went away."""
    try:
        return await response
    except ClientDisconnect:
        return None
    except Fail as fail:
        return refuse(fail)
    except StoreBusy:
        return refuse(Fail("workspace_busy"))
    except Exception:
        log.exception(
            "%s failed", request.method, extra=fields(path=request.url.path, request=request.state.request_id)
        )
        return refuse(Fail("internal_error"))


def _authenticate(request: Request, backend: Backend, route: Route) -> tuple[KeyRecord, AccountRecord]:
    secret = _secret(request)
    if not secret:
        raise Fail("unauthorized", "No API key: send it as `Authorization: Bearer` or `x-api-key`.")
    key, account = backend.keys.find(secret)
    access.note(request, Credential("key", secret))
    if key.scopes and not route.scopes & set(key.scopes):
        needed = " or ".join(sorted(route.scopes))
        raise Fail("api_key_scope_forbidden", f"The key lacks the scope {needed}.")
    return key, account


async def _check_rates(backend: Backend, key: KeyRecord, account: AccountRecord, now: int) -> None:
    rates.check_account(account, now)
    if rates.configured(backend.settings):
        refusal = await backend.storage.db.write(lambda tx: rates.count(tx, key, backend.settings, now))
        if refusal is not None:
            raise refusal


def _secret(request: Request) -> str:
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return secret.strip()
    return request.headers.get("x-api-key", "").strip()


async def unknown_path(request: Request, error: Exception) -> Response:
    return refusal(Fail("not_found", f"No such path: {request.url.path[:200]}"))
