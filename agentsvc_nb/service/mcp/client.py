"""Connect to one MCP server: negotiate a protocol revision, list the server's tools, and call them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from agentsvc_nb.service.mcp import messages
from agentsvc_nb.service.mcp.messages import InvalidResponse, Message, Refused, Unavailable
from agentsvc_nb.wire.limits import MCP_CALL_SECONDS, MCP_CONNECT_SECONDS, MCP_TOOLS_MAX

_PAGES_MAX: Final = 20
_MIRRORED: Final = "x-mcp-header"
"""The key in a tool's input schema that marks a property. The client repeats the property's value in an HTTP header."""
_TOKEN_CHARS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


class Channel(Protocol):
    """Carries requests to one server. The implementations are `http.HttpChannel` and `stdio.StdioChannel`."""

    version: str

    async def request(
        self, method: str, params: Mapping[str, Any], seconds: float, *, modern: bool, mirrored: Mapping[str, str] = {}
    ) -> Message: ...
    async def notify(self, method: str) -> None: ...
    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ListedTool:
    """Contains what the tool list of an MCP server says about one tool."""

    name: str
    description: str
    schema: dict[str, Any]
    read_only: bool
    idempotent: bool
    fingerprint: str
    """A hash of the tool's name, title, description, input schema and annotations, to notice changes."""

    @classmethod
    def parse(cls, entry: Mapping[str, Any]) -> ListedTool:
        hints = entry.get("annotations")
        hints = hints if isinstance(hints, dict) else {}
        schema = entry.get("inputSchema")
        said = {key: entry.get(key) for key in ("name", "title", "description", "inputSchema", "annotations")}
        text = json.dumps(said, sort_keys=True)
        return cls(
            str(entry.get("name", "")),
            str(entry.get("description") or entry.get("title") or ""),
            schema if isinstance(schema, dict) else {},
            hints.get("readOnlyHint") is True,
            hints.get("idempotentHint") is True,
            hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32],
        )


class McpClient:
    """Lists and calls the tools of one MCP server. Every method may raise any subclass of `messages.McpError`."""

    def __init__(
        self, channel: Channel, connect_seconds: float = MCP_CONNECT_SECONDS, call_seconds: float = MCP_CALL_SECONDS
    ) -> None:
        self._channel = channel
        self._connect_seconds = connect_seconds
        self._call_seconds = call_seconds
        self._modern = False

    async def connect(self) -> None:
        """Negotiate the protocol revision: `MODERN` if the server supports it, otherwise one of `LEGACY`."""
        try:
            found = await self._request("server/discover", {}, modern=True)
        except (Refused, InvalidResponse):
            found = {}
        versions = found.get("supportedVersions")
        self._modern = isinstance(versions, list) and messages.MODERN in versions
        if not self._modern:
            await self._initialize()

    async def tools(self) -> list[ListedTool]:
        """Return the server's tools, at most the first `MCP_TOOLS_MAX`."""
        found: list[ListedTool] = []
        cursor: object = None
        for _ in range(_PAGES_MAX):
            page = await self._request("tools/list", {"cursor": cursor} if cursor else {}, modern=self._modern)
            listed = page.get("tools")
            if not isinstance(listed, list):
                raise InvalidResponse("it returned no list of tools")
            found += [ListedTool.parse(entry) for entry in listed if isinstance(entry, dict)]
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or len(found) >= MCP_TOOLS_MAX:
                break
        return found[:MCP_TOOLS_MAX]

    async def call(self, tool: ListedTool, given: Mapping[str, Any]) -> Message:
        """Call a tool and return the server's result. Send the call only once, even if it fails."""
        mirrored = dict(_mirror_arguments(tool.schema, given)) if self._modern else {}
        params = {"name": tool.name, "arguments": given}
        found = await self._channel.request(
            "tools/call", params, self._call_seconds, modern=self._modern, mirrored=mirrored
        )
        if found.get("resultType", "complete") != "complete":
            raise Refused("it requested user input during the call, which agentsvc does not support")
        return found

    async def close(self) -> None:
        await self._channel.close()

    async def _initialize(self) -> None:
        proposed = {"protocolVersion": messages.LEGACY[0], "capabilities": {}, "clientInfo": messages.CLIENT}
        found = await self._request("initialize", proposed, modern=False)
        version = found.get("protocolVersion")
        if version not in messages.LEGACY:
            raise Unavailable("it supports none of the MCP versions that agentsvc supports")
        self._channel.version = str(version)
        await self._channel.notify("notifications/initialized")

    async def _request(self, method: str, params: Mapping[str, Any], *, modern: bool) -> Message:
        return await self._channel.request(method, params, self._connect_seconds, modern=modern)


def _mirror_arguments(schema: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a header for each argument that `schema` marks with the key `x-mcp-header`."""
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        if not isinstance(inner, dict) or name not in given:
            continue
        value, token = given[name], inner.get(_MIRRORED)
        if isinstance(value, dict):
            yield from _mirror_arguments(inner, value)
        elif isinstance(token, str) and token and _TOKEN_CHARS.issuperset(token) and value is not None:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            yield f"Mcp-Param-{token}", messages.encode_header(text)
