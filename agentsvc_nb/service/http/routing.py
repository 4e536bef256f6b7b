"""Build the API's routes from the rows of `wire.routes`: check key, scopes and limits, then call the handler."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.routing import Route as StarletteRoute
from starlette.types import Receive, Scope, Send

from agentsvc_nb.service.accounts import money
from agentsvc_nb.service.accounts import routes as account_routes
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
from agentsvc_nb.service.ports import BlobsUnavailable, StoreBusy, StoreUnavailable
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


Respond = Callable[[Request, Services], Awaitable[Response]]


class Endpoint:
    """The ASGI endpoint of one path, with a function for each method.

    `refuse` creates the response for an error. `headers` are added to all responses that lack them.
    """

    def __init__(
        self,
        methods: Mapping[str, Respond],
        refuse: Callable[[ApiError], Response] = refusal,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._methods = dict(methods)
        if "GET" in methods:
            self._methods["HEAD"] = methods["GET"]
        self._refuse = refuse
        self._headers = headers or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            if (respond := self._methods.get(request.method)) is None:
                raise ApiError("method_not_allowed", headers={"Allow": ", ".join(sorted(self._methods))})
            response = await respond(request, scope["app"].state.service.services)
        except ClientDisconnect:
            return
        except Exception as error:
            response = self._refuse(_api_error(request, error))
        for name, value in self._headers.items():
            response.headers.setdefault(name, value)
        await response(scope, receive, send)


def _api_error(request: Request, error: Exception) -> ApiError:
    """Return the error to send to the caller. Log an unexpected error."""
    match error:
        case ApiError():
            return error
        case StoreUnavailable():
            return ApiError("workspace_busy", "The service's database does not answer. Nothing was stored.")
        case StoreBusy():
            return ApiError("workspace_busy")
        case BlobsUnavailable():
            return ApiError("workspace_busy" if error.temporary else "internal_error", error.message)
    failed = fields(path=request.url.path, request=request.state.request_id)
    log.error("%s failed", request.method, exc_info=error, extra=failed)
    fault = disk_fault(error)
    return ApiError(
        "internal_error", f"Nothing was stored, because of a failure at the service: {fault}." if fault else None
    )


def guard(route: Route, handler: Handler) -> Respond:
    """Return a function that checks a request's key or session, scopes and rate limits, then calls the handler.

    The check raises `unauthorized`, `api_key_scope_forbidden`, the route's `session_code`, and what `find_key`,
    `check_account` and `count_request` raise.
    """

    async def respond(request: Request, services: Services) -> Response:
        received_at = services.use_case.now
        key = session = None
        if route.access == "session":
            session = await access.require_session(request, services.names, services.use_case)
        elif route.access == "key":
            kind, _, bearer = request.headers.get("authorization", "").partition(" ")
            secret = (bearer if kind.lower() == "bearer" else request.headers.get("x-api-key", "")).strip()
            if not secret:
                if route.session_code != "unauthorized" and await access.has_session(
                    request, services.names, services.use_case
                ):
                    raise ApiError(route.session_code)
                raise ApiError("unauthorized", "No API key: send it as `Authorization: Bearer` or `x-api-key`.")
            key, account = await services.keys.find(secret)
            access.register_request(request, access.Credential("key", secret), key.account, key.id)
            if key.scopes and not route.scopes & set(key.scopes):
                needed = " or ".join(sorted(route.scopes))
                raise ApiError(
                    "api_key_scope_forbidden",
                    f"The key lacks the scope {needed}. "
                    "The operator can create a key with this scope: `agentsvc keys create`.",
                )
            if route.limited:
                money.check_account(account, received_at)
                await money.count_request(services.use_case, key, received_at)
        return await handler(RequestContext(request, services, received_at, key, session))

    return respond


async def unknown_path(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond to a path that has no route. This is an ASGI endpoint."""
    await refusal(ApiError("not_found", f"No such path: {scope['path'][:200]}"))(scope, receive, send)


def routes() -> list[BaseRoute]:
    """Return one Starlette route per path, so that a 405 can list all methods of the path.

    A handler is named after its route: the function `runs_start` handles `runs.start`. The routes keep the table's
    order: `/landing-pages/labels` must come before `/landing-pages/{page_id}`.

    Raises `LookupError` unless there is exactly one handler for each route.
    """
    by_path: dict[str, dict[str, Respond]] = {}
    for route in ROUTES.values():
        name = route.name.replace(".", "_")
        found = [vars(module)[name] for module in _ENDPOINTS if name in vars(module)]
        if len(found) != 1:
            raise LookupError(f"{len(found)} endpoint handlers are called {name}")
        by_path.setdefault(route.path, {})[route.method] = guard(route, found[0])
    return [StarletteRoute(path, Endpoint(methods)) for path, methods in by_path.items()]


def healthz_routes() -> list[BaseRoute]:
    """Return only the route `/healthz`, which identifies the service."""
    return [route for route in routes() if isinstance(route, StarletteRoute) and route.path == proof.PATH]
