"""What connectors send: the request that the user is asked about, and the one that brings the code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.service.accounts.oauth import OAuthError, Redemption
from agentsvc_nb.service.http.names import OwnNames
from agentsvc_nb.service.mcp.oauth import redirects
from agentsvc_nb.service.mcp.oauth.clients import Client
from agentsvc_nb.service.mcp.oauth.metadata import SCOPES, resource

_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_VERIFIER: Final = re.compile(r"[A-Za-z0-9._~-]{43,128}")

ASKED: Final = (
    "response_type", "client_id", "redirect_uri", "state", "scope", "resource", "code_challenge",
    "code_challenge_method",
)  # fmt: skip
"""The parameters of an authorization request that count; others are ignored, as the specifications want."""


class Parameters:
    """The parameters of a request. Empty ones count as absent."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            if value:
                self._values.setdefault(name, []).append(value)

    def all(self, name: str) -> tuple[str, ...]:
        return tuple(self._values.get(name, ()))

    def one(self, name: str) -> str | None:
        """The value; None if it is absent. Raises `OAuthError` for more than one (RFC 6749, 3.1)."""
        found = self.all(name)
        if len(found) > 1:
            raise OAuthError("invalid_request", f"{name} is given more than once.")
        return found[0] if found else None

    def required(self, name: str) -> str:
        """The value. Raises `OAuthError` unless there is one."""
        found = self.one(name)
        if found is None:
            raise OAuthError("invalid_request", f"{name} is missing.")
        return found

    def pairs(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """The given parameters among these, for the form that repeats them."""
        return [(name, value) for name in names for value in self.all(name)]


@dataclass(frozen=True, slots=True)
class Asked:
    """An authorization request that may be granted."""

    client: Client
    redirect_uri: str
    challenge: str
    resource: str
    scopes: tuple[str, ...]


def redirect_uri(given: Parameters, client: Client) -> str:
    """Where the answer goes. Raises `OAuthError` for an address that is not the connector's: nothing goes there."""
    uri = given.required("redirect_uri")
    if not redirects.is_registered(uri, client.redirect_uris):
        raise OAuthError("invalid_request", "The redirect_uri is none that the connector has named as its own.")
    return uri


def asked(given: Parameters, client: Client, uri: str, names: OwnNames, origin: str) -> Asked:
    """The request, looked at. Raises the `OAuthError` with which the connector is answered."""
    if given.required("response_type") != "code":
        raise OAuthError("unsupported_response_type", "The response_type is code.")
    challenge = given.required("code_challenge")
    # Without a method it would be `plain` (RFC 7636, 4.3).
    if given.one("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(challenge):
        raise OAuthError("invalid_request", "The code_challenge is by the code_challenge_method S256.")
    return Asked(client, uri, challenge, _resource(given, names, origin), _scopes(given.one("scope")))


def redemption(given: Parameters, headers: Mapping[str, str]) -> Redemption:
    """The code as a connector comes with it. Raises `OAuthError`."""
    if "authorization" in headers or given.all("client_secret"):
        raise OAuthError("invalid_client", "Clients have no secret here: send the client_id alone.")
    if given.required("grant_type") != "authorization_code":
        raise OAuthError("unsupported_grant_type", "The grant_type is authorization_code.")
    verifier = given.required("code_verifier")
    if not _VERIFIER.fullmatch(verifier):
        raise OAuthError("invalid_request", "The code_verifier has 43 to 128 letters, digits and -._~.")
    code, client_id = given.required("code"), given.required("client_id")
    return Redemption(code, verifier, client_id, given.one("redirect_uri"), given.all("resource"))


def _resource(given: Parameters, names: OwnNames, origin: str) -> str:
    """The endpoint that the token is for; without a word on it this one, as there is no other (RFC 8707)."""
    found = given.all("resource") or (resource(origin),)
    if len(found) > 1 or not names.has_resource(found[0]):
        raise OAuthError("invalid_target", f"The resource is {resource(origin)}.")
    return found[0]


def _scopes(text: str | None) -> tuple[str, ...]:
    wanted = (text or "mcp").split(" ")
    if any(one not in SCOPES for one in wanted) or "mcp" not in wanted:
        raise OAuthError("invalid_scope", "The scope is mcp, or mcp and runs.")
    return tuple(scope for scope in SCOPES if scope in wanted)
