"""The session cookie of a signed-in browser, and the check that its request comes from our own pages.

No CSRF token: the cookie is `SameSite=Strict`, so that other sites' pages do not send it, and what comes with an
`Origin` that is not ours (another port of this host counts as the same site) is refused (contract §7).
"""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from agentsvc_nb.service.actions import sessions
from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.http import access
from agentsvc_nb.service.http.access import Credential
from agentsvc_nb.service.http.backend import Backend
from agentsvc_nb.service.records.sessions import SessionRecord
from agentsvc_nb.wire.limits import SESSION_SECONDS

_NAME: Final = "agentsvc_session"


def require(request: Request, backend: Backend) -> SessionRecord:
    """The request's session. Raises `unauthorized` without one (a key does not help), and `foreign_origin`."""
    secret = request.cookies.get(_name(request), "")
    now = backend.storage.clock.now()
    found = backend.storage.db.read(lambda tx: sessions.find(tx, secret, now)) if secret else None
    if found is None:
        raise Fail("unauthorized", "This needs a signed-in browser, not a key: `agentsvc sign-in` prints the link.")
    if not _is_own(request.headers.get("origin"), request.headers.get("host", "")):
        raise Fail("foreign_origin")
    access.note(request, Credential("session", secret))
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
