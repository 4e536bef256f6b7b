"""Browser sessions: the cookie, and the origin that a signed-in request must come from."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http.access import Credential, remember_credential
from agentsvc_nb.service.http.context import Services
from agentsvc_nb.service.records.accounts import SessionRecord
from agentsvc_nb.service.usecases import accounts
from agentsvc_nb.wire.limits import SESSION_SECONDS

_NAME: Final = "agentsvc_session"


async def require(request: Request, services: Services) -> SessionRecord:
    """The request's session. Raises `unauthorized` without one (an API key does not count), and `foreign_origin` when
    another site's page sent the request."""
    secret = request.cookies.get(_name(request), "")
    found = await accounts.find_session(services.use_case, secret) if secret else None
    if found is None:
        raise ApiError("unauthorized", "This needs a signed-in browser, not a key: `agentsvc sign-in` prints the link.")
    if not _is_own(request.headers.get("origin"), request.headers.get("host", "")):
        raise ApiError("foreign_origin")
    remember_credential(request, Credential("session", secret))
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


def _is_own(origin: str | None, host: str) -> bool:
    """True if the request comes from the service's own pages, or without an `Origin`.

    >>> _is_own(None, "127.0.0.1:8787"), _is_own("null", "127.0.0.1:8787")
    (True, False)
    >>> _is_own("http://127.0.0.1:8787", "127.0.0.1:8787"), _is_own("http://127.0.0.1:8888", "127.0.0.1:8787")
    (True, False)
    """
    return origin is None or origin.partition("://")[2].lower() == host.lower() != ""
