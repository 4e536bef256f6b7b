"""The endpoint table: one row per endpoint (docs/api; rows marked `ours` are not in the original API).

The client takes from it paths and what it may send again; the service its routes, scopes and rate limits.
`docs/routes.md` and the OpenAPI document are rendered from it. The rows are in `work` and `resources`.
"""

from __future__ import annotations

from typing import Final

from agentsvc_nb.wire.routes.resources import RESOURCES
from agentsvc_nb.wire.routes.route import V1, Route
from agentsvc_nb.wire.routes.work import WORK

MCP: Final = Route(
    "mcp.post", "POST", f"{V1}/mcp", "Takes a message of MCP.", frozenset({"mcp"}), "never", limited=False
)
"""The endpoint for other programs' agents (docs/mcp.md). No resource of the API: its methods are in its messages."""
PROTECTED_RESOURCE: Final = Route(
    "oauth.resource",
    "GET",
    f"/.well-known/oauth-protected-resource{MCP.path}",
    "Says where tokens for the MCP endpoint come from.",
    limited=False,
    access="open",
)
AUTHORIZATION_SERVER: Final = Route(
    "oauth.server",
    "GET",
    "/.well-known/oauth-authorization-server",
    "Says how tokens are got.",
    limited=False,
    access="open",
)
AUTHORIZE: Final = Route(
    "oauth.authorize",
    "GET",
    "/app/oauth/authorize",
    "Asks the user whether a connector may use the service.",
    limited=False,
    access="session",
)
TOKEN: Final = Route(
    "oauth.token",
    "POST",
    "/oauth/token",
    "Gives a token for an authorization code.",
    resend="never",
    limited=False,
    access="open",
)
OTHERS: Final = (MCP, PROTECTED_RESOURCE, AUTHORIZATION_SERVER, AUTHORIZE, TOKEN)
"""What MCP and OAuth prescribe, and the client has no operations for (docs/mcp.md)."""
ROUTES: Final[dict[str, Route]] = {row.name: row for row in (*WORK, *RESOURCES)}
