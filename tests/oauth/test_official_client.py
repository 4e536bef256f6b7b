"""The official library's client signs in by itself: from a 401, over the metadata and the user's consent, to a call."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from tests.oauth.connector import BACK, Connector, answered, press


class Kept:
    """What the client keeps."""

    tokens: Any = None
    client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


def test_it_signs_in_and_calls(connector: Connector, browser: httpx.Client) -> None:
    kept = Kept()
    output = asyncio.run(_call(connector, browser, kept))
    assert output == "hello from afar"
    assert kept.tokens.scope == "mcp"
    assert kept.client.client_id == connector.client_id


async def _call(connector: Connector, browser: httpx.Client, kept: Kept) -> str:
    import httpx2
    from mcp import Client
    from mcp.client.auth import OAuthClientProvider
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

    came: list[dict[str, str]] = []

    async def press_allow(url: str) -> None:
        came.append(answered(press(browser, url, "allow")))

    async def come_back() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**came[-1])

    metadata = OAuthClientMetadata(client_name="Chat", redirect_uris=[BACK])
    auth = OAuthClientProvider(
        connector.resource, metadata, kept, press_allow, come_back, client_metadata_url=connector.client_id
    )
    async with (
        httpx2.AsyncClient(auth=auth, timeout=60) as http,
        Client(streamable_http_client(connector.resource, http_client=http)) as client,
    ):
        result = await client.call_tool("ask", {"message": "say hello from afar"})
        assert not result.is_error, result
        assert result.structured_content is not None
        found: str = result.structured_content["output"]
        return found


def test_with_a_token_that_is_over_it_signs_in_again(connector: Connector, browser: httpx.Client) -> None:
    from mcp.shared.auth import OAuthToken

    kept = Kept()
    kept.tokens = OAuthToken(access_token="svc_oat_gone")
    assert asyncio.run(_call(connector, browser, kept)) == "hello from afar"
    assert kept.tokens.access_token != "svc_oat_gone"
