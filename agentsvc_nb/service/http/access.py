"""Check the credentials of requests: require a key or session, cache keys, and check again while a request is open."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Final, Literal

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from agentsvc_nb.service.accounts import accounts, money
from agentsvc_nb.service.accounts.account_records import AccountRecord, KeyRecord, SessionRecord
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http.names import OwnNames
from agentsvc_nb.service.ports import Database
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.wire.limits import ACCOUNT_REQUESTS_MAX, SESSION_SECONDS

log = logging.getLogger(__name__)

CHECK_SECONDS: Final = 0.5
"""How often the service checks the credentials of open requests."""


@dataclass(frozen=True, slots=True)
class Credential:
    """The key or session that authenticated a request."""

    kind: Literal["key", "session"]
    secret: str = field(repr=False)


class CredentialChecker:
    """Checks the credentials of requests that are already open."""

    def __init__(self, keys: KeyCache, use_case: UseCaseContext) -> None:
        self._keys, self._use_case = keys, use_case

    async def refusal(self, credential: Credential) -> ApiError | None:
        """Return the error that ends a request with this credential, or None while the credential is valid."""
        try:
            if credential.kind == "key":
                _, account = await self._keys.find(credential.secret)
                money.check_account(account, self._use_case.now, held=True)
            elif await accounts.find_session(self._use_case, credential.secret) is None:
                return ApiError("unauthorized", "The session has ended: sign in again.")
        except ApiError as error:
            return error
        except Exception:  # the database is busy or closed: the next check decides
            log.warning("a credential could not be checked; the request continues until the next check", exc_info=True)
        return None

    async def check(self, request: Request) -> None:
        """Raise `ApiError` if the request's credential is no longer valid."""
        credential = credential_of(request.scope)
        if credential is not None and (error := await self.refusal(credential)):
            raise error


def register_request(request: Request, credential: Credential, account: str, caller: str) -> None:
    """Store the request's credential, account and caller, and count the request as open.

    Raises `brain_unavailable` if the account has too many open requests.
    """
    state = request.scope["state"]
    if state["open_requests"][account] >= ACCOUNT_REQUESTS_MAX:
        raise ApiError(
            "brain_unavailable",
            f"The account has over {ACCOUNT_REQUESTS_MAX:,} open requests. Wait until some of them end, then "
            "send this request again.",
        )
    state["open_requests"][account] += 1
    state.update(credential=credential, account=account, caller=caller)


def credential_of(scope: Scope) -> Credential | None:
    found: Credential | None = scope["state"].get("credential")
    return found


class KeyCache:
    """Finds API keys by their secrets, with a cache.

    Any write to the database empties the cache, including writes of other processes. So when the command line creates,
    suspends or revokes a key, this takes effect at once. Refusals are not cached. Nothing is cached if the database
    can't report writes quickly.
    """

    def __init__(self, database: Database, shared_secret: str | None = None) -> None:
        self._database = database
        self._shared_secret = shared_secret
        self._version: int | None = -1
        self._checked = False
        self._found: dict[str, tuple[KeyRecord, AccountRecord]] = {}

    async def find(self, secret: str) -> tuple[KeyRecord, AccountRecord]:
        # Check only once per turn of the event loop. With many readers, a check for each request would take a tenth of
        # the time.
        if not self._checked:
            version = self._database.version()
            if version != self._version:
                self._version = version
                self._found.clear()
            self._checked = True
            asyncio.get_running_loop().call_soon(self._check_again)
        version = self._version
        found = self._found.get(secret)
        if found is None:
            # Key and account may be read at different moments, because a transaction would cost two more round trips.
            found = await self._database.read_soon(
                lambda tx: accounts.find_key(tx, secret, self._shared_secret), single=True
            )
            if version is not None and version == self._version:
                self._found[secret] = found
        return found

    def _check_again(self) -> None:
        self._checked = False


# Sessions of signed-in browsers: the cookie, and the origin that their requests must come from.

_COOKIE: Final = "agentsvc_session"


async def require_session(request: Request, names: OwnNames, use_case: UseCaseContext) -> SessionRecord:
    """Return the request's session.

    Raises `foreign_origin` if a page of another site sent the request, and `unauthorized` without a session. An API key
    is not accepted here.
    """
    if not _of_own_page(request, names):
        raise ApiError("foreign_origin")
    found = await _session(request, use_case)
    if found is None:
        raise ApiError(
            "unauthorized", "This route needs a signed-in browser, not an API key. `agentsvc sign-in` prints the link."
        )
    secret = request.cookies[_cookie_name(request)]
    register_request(request, Credential("session", secret), found.account, f"session_{found.digest[:12]}")
    return found


async def has_session(request: Request, names: OwnNames, use_case: UseCaseContext) -> bool:
    """Return whether a page of this service in a signed-in browser sent the request."""
    return _of_own_page(request, names) and await _session(request, use_case) is not None


def _of_own_page(request: Request, names: OwnNames) -> bool:
    # `SameSite` ignores ports, so a page on another port of this machine sends the cookie as well (docs/team.md).
    return all(map(names.has_origin, request.headers.getlist("origin")))


async def _session(request: Request, use_case: UseCaseContext) -> SessionRecord | None:
    secret = request.cookies.get(_cookie_name(request), "")
    return await accounts.find_session(use_case, secret) if secret else None


def set_session_cookie(request: Request, response: Response, secret: str) -> None:
    """Set the session cookie. It is for this host only, and scripts can't read it."""
    response.set_cookie(
        _cookie_name(request),
        secret,
        max_age=SESSION_SECONDS,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )


def delete_session_cookie(request: Request, response: Response) -> None:
    """Delete the session cookie."""
    response.delete_cookie(
        _cookie_name(request), httponly=True, samesite="strict", secure=request.url.scheme == "https"
    )


def _cookie_name(request: Request) -> str:
    """Return the cookie's name. It has the port, as browsers send cookies to all services of a host."""
    server = request.scope.get("server")
    return f"{_COOKIE}_{server[1]}" if server else _COOKIE
