"""The routes of the API: each row of `wire.routes` with its handler, behind authentication, scopes and rate limits."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final, cast

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.routing import Route as StarletteRoute
from starlette.types import Receive, Scope, Send

from agentsvc_nb.service.accounts import money
from agentsvc_nb.service.accounts import routes as account_routes
from agentsvc_nb.service.accounts.account_records import AccountRecord, KeyRecord
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats import routes as chat_routes
from agentsvc_nb.service.disk import disk_fault
from agentsvc_nb.service.files import routes as file_routes
from agentsvc_nb.service.http import access, models
from agentsvc_nb.service.http import health as health_routes
from agentsvc_nb.service.http.context import Handler, RequestContext, Services
from agentsvc_nb.service.http.responses import refusal
from agentsvc_nb.service.jobs import routes as job_routes
from agentsvc_nb.service.logs import fields
from agentsvc_nb.service.media import routes as media_routes
from agentsvc_nb.service.ports import BlobsUnavailable, StoreAway, StoreBusy
from agentsvc_nb.service.runs import routes as run_routes
from agentsvc_nb.wire import proof
from agentsvc_nb.wire.routes import ROUTES, Route

_ENDPOINTS: Final = (
    account_routes,
    chat_routes,
    file_routes,
    health_routes,
    job_routes,
    media_routes,
    models,
    run_routes,
)
log = logging.getLogger(__name__)


class GuardedPath:
    """The routes of one path, by method; an ASGI endpoint that checks access, scopes and rates before the handler.
    `refuse` makes the response of an error."""

    def __init__(
        self,
        methods: Mapping[str, tuple[Route, Handler]],
        refuse: Callable[[Request, ApiError], Response] = lambda _, error: refusal(error),
    ) -> None:
        self._methods = methods
        self._refuse = refuse
        self._allowed = sorted({*methods, "HEAD"} if "GET" in methods else methods)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        refuse = partial(self._refuse, request)
        response = await answered(request, self._respond(request, scope["app"].state.service.services), refuse)
        del request, refuse  # an open stream would keep it
        if response is not None:
            await response(scope, receive, send)

    async def _respond(self, request: Request, services: Services) -> Response:
        received_at = services.use_case.now
        found = self._methods.get("GET" if request.method == "HEAD" else request.method)
        if found is None:
            raise ApiError("method_not_allowed", headers={"Allow": ", ".join(self._allowed)})
        route, handler = found
        key = None
        if route.access == "key":
            key, account = await _authenticate(request, services, route)
            if route.limited:
                money.check_account(account, received_at)
                await money.count_request(services.use_case, key, received_at)
        session = (
            await access.require_session(request, services.names, services.use_case)
            if route.access == "session"
            else None
        )
        return await handler(RequestContext(request, services, received_at, key, session))


async def answered(
    request: Request, response: Awaitable[Response], refuse: Callable[[ApiError], Response]
) -> Response | None:
    """Await the response. A failure becomes the response that `refuse` makes of it; None when the client has gone."""
    try:
        return await response
    except ClientDisconnect:
        return None
    except ApiError as error:
        return refuse(error)
    except StoreAway:
        return refuse(ApiError("workspace_busy", "The service's database does not answer. Nothing was stored."))
    except StoreBusy:
        return refuse(ApiError("workspace_busy"))
    except BlobsUnavailable as error:
        return refuse(ApiError("workspace_busy" if error.passing else "internal_error", error.message))
    except Exception as error:
        log.exception(
            "%s failed", request.method, extra=fields(path=request.url.path, request=request.state.request_id)
        )
        fault = disk_fault(error)
        return refuse(ApiError("internal_error", f"Nothing was stored: at the service, {fault}." if fault else None))


async def _authenticate(request: Request, services: Services, route: Route) -> tuple[KeyRecord, AccountRecord]:
    """The request's key and account. Raises `unauthorized`, `api_key_scope_forbidden`, the route's
    `session_code`, and what `find_key` raises."""
    secret = _secret(request)
    if not secret:
        if route.session_code != "unauthorized" and await access.has_session(
            request, services.names, services.use_case
        ):
            raise ApiError(route.session_code)
        raise ApiError("unauthorized", "No API key: send it as `Authorization: Bearer` or `x-api-key`.")
    key, account = await services.keys.find(secret)
    access.authenticated(request, access.Credential("key", secret), key.account, key.id)
    if key.scopes and not route.scopes & set(key.scopes):
        needed = " or ".join(sorted(route.scopes))
        raise ApiError("api_key_scope_forbidden", f"The key lacks the scope {needed}.")
    return key, account


def _secret(request: Request) -> str:
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return secret.strip()
    return request.headers.get("x-api-key", "").strip()


async def unknown_path(scope: Scope, receive: Receive, send: Send) -> None:
    """The ASGI endpoint of all other paths."""
    await refusal(ApiError("not_found", f"No such path: {scope['path'][:200]}"))(scope, receive, send)


def handler(route: Route) -> Handler:
    """The handler of a route: the function `runs_start` of an endpoints module handles `runs.start`.

    Raises `LookupError` unless exactly one module has such a function.
    """
    name = route.name.replace(".", "_")
    found = [vars(module)[name] for module in _ENDPOINTS if name in vars(module)]
    if len(found) != 1:
        raise LookupError(f"{len(found)} endpoint handlers are called {name}")
    return cast(Handler, found[0])


def routes() -> list[BaseRoute]:
    """One Starlette route per path, so that a 405 can list all methods of the path.

    They keep the table's order: `/landing-pages/labels` must come before `/landing-pages/{page_id}`.
    """
    by_path: dict[str, dict[str, tuple[Route, Handler]]] = {}
    for route in ROUTES.values():
        by_path.setdefault(route.path, {})[route.method] = (route, handler(route))
    return [StarletteRoute(path, GuardedPath(methods)) for path, methods in by_path.items()]


def health() -> list[BaseRoute]:
    """The one of `routes` that says who answers."""
    return [route for route in routes() if isinstance(route, StarletteRoute) and route.path == proof.PATH]
