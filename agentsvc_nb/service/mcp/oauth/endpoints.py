"""What is answered to connectors: the metadata, and tokens for codes. A user's side is a page (`web/consent.py`)."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from agentsvc_nb.service.accounts import oauth
from agentsvc_nb.service.accounts.oauth import OAuthError
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.context import Services
from agentsvc_nb.service.http.responses import answer_json
from agentsvc_nb.service.mcp.oauth import metadata, requests
from agentsvc_nb.service.mcp.oauth.requests import Parameters

_FORM = "application/x-www-form-urlencoded"


async def resource(request: Request, services: Services) -> Response:
    return answer_json(metadata.of_resource(own_origin(request, services)))


async def server(request: Request, services: Services) -> Response:
    return answer_json(metadata.of_server(own_origin(request, services)))


async def token(request: Request, services: Services) -> Response:
    """A token for a code, or the error, as RFC 6749 has both. Neither is kept by anybody on the way."""
    own_origin(request, services)
    try:
        given = requests.redemption(await _form(request), request.headers)
        key, secret = await oauth.redeem(services.use_case, given)
    except OAuthError as error:
        return _refused(error)
    assert key.expires_at is not None, "a connector's key has an end"
    seconds = (key.expires_at - services.use_case.now) // 1000
    return _unkept(
        {
            "access_token": secret,
            "token_type": "Bearer",
            "expires_in": max(0, seconds),
            "scope": " ".join(key.scopes),
        }
    )


def own_origin(request: Request, services: Services) -> str:
    """The origin of the authorization server. Raises `not_found` where there is none."""
    origin = metadata.issuer(request, services)
    if origin is None:
        raise ApiError("not_found", "OAuth needs https: name the service's https address in AGENTSVC_PUBLIC_URL.")
    return origin


async def _form(request: Request) -> Parameters:
    """The parameters of the request. Raises `OAuthError`."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise OAuthError("invalid_request", f"Send the request as {_FORM}.")
    try:
        return Parameters(await bodies.read_form(request))
    except ApiError as error:
        raise OAuthError("invalid_request", error.message) from None


def _refused(error: OAuthError) -> Response:
    said = {"error": error.code, "error_description": error.message}
    if error.code != "invalid_client":
        return _unkept(said, 400)
    response = _unkept(said, 401)
    response.headers["WWW-Authenticate"] = 'Basic realm="agentsvc"'  # RFC 6749, 5.2
    return response


def _unkept(document: dict[str, Any], status: int = 200) -> Response:
    response = answer_json(document, status)
    response.headers.update({"Cache-Control": "no-store", "Pragma": "no-cache"})
    return response
