"""Browser sessions: the cookie, and the origin that a signed-in request must come from."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http.access import Credential, authenticated
from agentsvc_nb.service.http.context import Services
from agentsvc_nb.service.records.accounts import SessionRecord
from agentsvc_nb.service.usecases import accounts
from agentsvc_nb.wire.limits import SESSION_SECONDS

_NAME: Final = "agentsvc_session"


async def require(request: Request, services: Services) -> SessionRecord:
    """The request's session. Raises `foreign_origin` when another site's page sent the request, and `unauthorized`
    without a session (an API key does not count)."""
    if not all(map(services.names.has_origin, request.headers.getlist("origin"))):
        raise ApiError("foreign_origin")
    secret = request.cookies.get(_name(request), "")
    found = await accounts.find_session(services.use_case, secret) if secret else None
    if found is None:
        raise ApiError("unauthorized", "This needs a signed-in browser, not a key: `agentsvc sign-in` prints the link.")
    authenticated(request, Credential("session", secret), found.account, f"session_{found.digest[:12]}")
    return found


def give(request: Request, response: Response, secret: str) -> None:
    """Set the session cookie: for this host alone, not readable by scripts."""
    response.set_cookie(
        _name(request),
        secret,
        max_age=SESSION_SECONDS,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )


def take_back(request: Request, response: Response) -> None:
    """Delete the session cookie."""
    response.delete_cookie(_name(request), httponly=True, samesite="strict", secure=request.url.scheme == "https")


def _name(request: Request) -> str:
    """The cookie's name. It contains the port, because cookies ignore ports and one host may run several services."""
    server = request.scope.get("server")
    return f"{_NAME}_{server[1]}" if server else _NAME
