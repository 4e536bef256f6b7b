"""One path of the service: method, authentication and scope, then the handler; every failure becomes an envelope."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import context, lifecycle
from agentsvc_nb.service.http.answers import refusal
from agentsvc_nb.service.http.context import Credential, Handler, RequestContext, Services
from agentsvc_nb.service.logs import fields
from agentsvc_nb.service.ports import StoreBusy
from agentsvc_nb.service.records.accounts import AccountRecord, SessionRecord
from agentsvc_nb.service.records.keys import KeyRecord
from agentsvc_nb.service.usecases import accounts, money
from agentsvc_nb.wire.limits import SESSION_SECONDS
from agentsvc_nb.wire.routes import Route

_NAME: Final = "agentsvc_session"


def require(request: Request, backend: Services) -> SessionRecord:
    """The request's session. Raises `unauthorized` without one (a key does not help), and `foreign_origin`."""
    secret = request.cookies.get(_name(request), "")
    now = backend.storage.clock.now()
    found = backend.storage.db.read(lambda tx: accounts.find_session(tx, secret, now)) if secret else None
    if found is None:
        raise ApiError("unauthorized", "This needs a signed-in browser, not a key: `agentsvc sign-in` prints the link.")
    if not _is_own(request.headers.get("origin"), request.headers.get("host", "")):
        raise ApiError("foreign_origin")
    context.note(request, Credential("session", secret))
    return found


def give(request: Request, response: Response, secret: str) -> None:
    """Set the cookie: for this host alone, out of reach of scripts."""
    response.set_cookie(
        _name(request),
        secret,
        max_age=SESSION_SECONDS,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )


def take_back(request: Request, response: Response) -> None:
    response.delete_cookie(_name(request), httponly=True, samesite="strict", secure=request.url.scheme == "https")


def _name(request: Request) -> str:
    """With the port, which a browser does not tell cookies apart by: one machine can have several services."""
    server = request.scope.get("server")
    return f"{_NAME}_{server[1]}" if server else _NAME


def _is_own(origin: str | None, host: str) -> bool:
    """
    >>> _is_own(None, "127.0.0.1:8787"), _is_own("null", "127.0.0.1:8787")
    (True, False)
    >>> _is_own("http://127.0.0.1:8787", "127.0.0.1:8787"), _is_own("http://127.0.0.1:8888", "127.0.0.1:8787")
    (True, False)
    """
    return origin is None or origin.partition("://")[2].lower() == host.lower() != ""


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

    async def _respond(self, request: Request, backend: Services) -> Response:
        received_at = backend.storage.clock.now()
        found = self._methods.get("GET" if request.method == "HEAD" else request.method)
        if found is None:
            raise ApiError("method_not_allowed", headers={"Allow": ", ".join(self._allowed)})
        route, handler = found
        key = None
        if route.access == "key":
            key, account = _authenticate(request, backend, route)
            lifecycle.note_key(request.scope, key.id)
            if route.limited:
                await _check_rates(backend, key, account, received_at)
        session = require(request, backend) if route.access == "session" else None
        return await handler(RequestContext(request, backend, received_at, key, session))


async def answered(
    request: Request, response: Awaitable[Response], refuse: Callable[[ApiError], Response]
) -> Response | None:
    """The response, or what `refuse` makes of its failure; None when the client went away."""
    try:
        return await response
    except ClientDisconnect:
        return None
    except ApiError as fail:
        return refuse(fail)
    except StoreBusy:
        return refuse(ApiError("workspace_busy"))
    except Exception:
        log.exception(
            "%s failed", request.method, extra=fields(path=request.url.path, request=request.state.request_id)
        )
        return refuse(ApiError("internal_error"))


def _authenticate(request: Request, backend: Services, route: Route) -> tuple[KeyRecord, AccountRecord]:
    secret = _secret(request)
    if not secret:
        raise ApiError("unauthorized", "No API key: send it as `Authorization: Bearer` or `x-api-key`.")
    key, account = backend.keys.find(secret)
    context.note(request, Credential("key", secret))
    if key.scopes and not route.scopes & set(key.scopes):
        needed = " or ".join(sorted(route.scopes))
        raise ApiError("api_key_scope_forbidden", f"The key lacks the scope {needed}.")
    return key, account


async def _check_rates(backend: Services, key: KeyRecord, account: AccountRecord, now: int) -> None:
    money.check_account(account, now)
    if money.configured(backend.settings):
        refusal = await backend.storage.db.write(lambda tx: money.count(tx, key, backend.settings, now))
        if refusal is not None:
            raise refusal


def _secret(request: Request) -> str:
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return secret.strip()
    return request.headers.get("x-api-key", "").strip()


async def unknown_path(request: Request, error: Exception) -> Response:
    return refusal(ApiError("not_found", f"No such path: {request.url.path[:200]}"))
