"""What clients are told of the endpoint and of the authorization server, and what they need without a token."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from starlette.requests import Request

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http.context import Services
from agentsvc_nb.service.http.names import LOOPBACK
from agentsvc_nb.wire.resources import Scope
from agentsvc_nb.wire.routes import AUTHORIZE, MCP, PROTECTED_RESOURCE, TOKEN

SCOPES: Final[tuple[Scope, ...]] = ("mcp", "runs")
"""What a connector may ask for: to use the endpoint, and to answer there what waits for approval."""


def issuer(request: Request, services: Services) -> str | None:
    """The origin at which the request came, if it is the service's own, else its public one. None if tokens would
    travel unencrypted: the service is an authorization server by https and on loopback only."""
    host = request.headers.get("host", "").lower()
    asked = (f"{scheme}://{host}" for scheme in ("https", "http"))
    origin = next(filter(services.names.has_origin, asked), services.use_case.origin)
    parts = urlsplit(origin)
    safe = parts.scheme == "https" or parts.netloc.removesuffix(f":{parts.port}") in LOOPBACK
    return origin if safe else None


def resource(origin: str) -> str:
    """The endpoint as tokens name it."""
    return origin + MCP.path


def of_resource(origin: str) -> dict[str, Any]:
    """The metadata of the protected resource (RFC 9728)."""
    return {
        "resource": resource(origin),
        "authorization_servers": [origin],
        "scopes_supported": ["mcp"],
        "bearer_methods_supported": ["header"],
        "resource_name": "agentsvc",
    }


def of_server(origin: str) -> dict[str, Any]:
    """The metadata of the authorization server (RFC 8414)."""
    return {
        "issuer": origin,
        "authorization_endpoint": origin + AUTHORIZE.path,
        "token_endpoint": origin + TOKEN.path,
        "scopes_supported": list(SCOPES),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": True,
        "client_id_metadata_document_supported": True,
    }


def challenge(request: Request, services: Services, error: ApiError) -> str | None:
    """The `WWW-Authenticate` of a refusal of the endpoint (RFC 6750, RFC 9728); None for one that no token helps."""
    origin = issuer(request, services)
    if origin is None:
        return None
    wanted = f'resource_metadata="{origin}{PROTECTED_RESOURCE.path}", scope="mcp"'
    match error.row.code:
        case "unauthorized" if "authorization" in request.headers or "x-api-key" in request.headers:
            return f'Bearer error="invalid_token", {wanted}'
        case "unauthorized":
            return f"Bearer {wanted}"
        case "api_key_scope_forbidden":
            return f'Bearer error="insufficient_scope", {wanted}'
    return None
