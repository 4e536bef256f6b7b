"""Offer the tools of MCP servers to runs, and call them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, cast

from pydantic import BaseModel, ConfigDict

from agentsvc_nb.service.mcp.client import ListedTool, McpClient
from agentsvc_nb.service.mcp.http import HttpChannel
from agentsvc_nb.service.mcp.messages import ConnectionLost, McpError, Refused, Unavailable
from agentsvc_nb.service.mcp.results import to_outcome
from agentsvc_nb.service.mcp.servers import OwnServers, ServerConfig, servers_in_settings
from agentsvc_nb.service.mcp.stdio import StdioChannel
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.port import Outcome, Tool, ToolContext
from agentsvc_nb.wire.limits import MCP_DESCRIPTION_CHARS, MCP_SCHEMA_BYTES

log = logging.getLogger(__name__)
_NAME_CHARS: Final = 64
"""The maximum length of a tool's name that language models accept."""
_SHOWN: Final = 10
_DEPTH_MAX: Final = 40

Connect = Callable[[ServerConfig], McpClient]


class ServerToolInput(BaseModel):
    """Accepts any input of a server's tool, because the server validates the input itself."""

    model_config = ConfigDict(extra="allow")
    server_schema: ClassVar[dict[str, Any]] = {}

    @classmethod
    def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
        return cls.server_schema


class ServerTool(Tool):
    """Calls a tool of an MCP server. `as_tool` creates a subclass for each tool."""

    listed: ClassVar[ListedTool]
    connection: ClassVar[McpConnection]

    async def run(self, given: ServerToolInput, context: ToolContext) -> Outcome:
        return await self.connection.call(self.listed, given.model_extra or {}, context)


def as_tool(name: str, listed: ListedTool, connection: McpConnection) -> Tool:
    """Create a tool for runs that calls the server's tool `listed`.

    A server gives hints about its tools: a tool only reads, or is idempotent. Use the hints only of a trusted server.
    """
    trusted = connection.server.trusted
    reads = trusted and listed.read_only
    said = f"(of the MCP server {connection.server.name}) {listed.description}"
    described = {
        "name": name,
        "description": said[:MCP_DESCRIPTION_CHARS],
        "group": connection.server.name,
        "effect": not reads,
        "always_waits": not reads,
        "repeatable": trusted and listed.idempotent,
        "Input": type("Input", (ServerToolInput,), {"server_schema": listed.schema, "__module__": __name__}),
        "listed": listed,
        "connection": connection,
    }
    return cast(Tool, type("ToolOfServer", (ServerTool,), described)())


@dataclass
class McpConnection:
    """Connects a run to one MCP server at the first use, and again after a failure."""

    server: ServerConfig
    make: Connect
    client: McpClient | None = None
    connecting: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def tools(self) -> list[ListedTool]:
        """Return the server's current tools. Connect, or connect again, if necessary.

        Raises subclasses of `McpError`.
        """
        if self.client is not None:
            with contextlib.suppress(McpError):
                return await self.client.tools()
            await self.close()
        try:
            return await (await self._get_client()).tools()
        except McpError:
            await self.close()
            raise

    async def call(self, listed: ListedTool, given: Mapping[str, Any], context: ToolContext) -> Outcome:
        """Call the tool and return its outcome.

        If the server has changed the tool since the run started, return an error instead of calling the tool.
        """
        who = self.server.name
        try:
            now = next((tool for tool in await self.tools() if tool.name == listed.name), None)
        except McpError as fault:
            return _error("upstream_failed", f"The MCP server {who} can't be used, so the call was not made: {fault}.")
        if now is None or now.fingerprint != listed.fingerprint:
            return _error(
                "tool_changed",
                f"The MCP server {who} has changed this tool since the run started, so the call was not made.",
            )
        try:
            result = await (await self._get_client()).call(listed, given)
        except (Refused, Unavailable) as fault:
            return _error("upstream_failed", f"The MCP server {who} refused the call: {fault}.")
        except McpError as fault:
            await self.close()
            if not isinstance(fault, ConnectionLost):
                message = f"The call was made, but the answer of the MCP server {who} can't be used: {fault}."
                return _error("upstream_failed", message)
            if self.server.trusted and listed.idempotent:
                return _error(
                    "upstream_failed", f"The MCP server {who} interrupted the call: {fault}. You can repeat the call."
                )
            message = (
                f"The call to the MCP server {who} was interrupted ({fault}). It may or may not have had an effect."
            )
            return _error("outcome_unknown", f"{message} Do not repeat it.")
        return await to_outcome(result, who, context)

    async def close(self) -> None:
        client, self.client = self.client, None
        if client is not None:
            await client.close()

    async def _get_client(self) -> McpClient:
        async with self.connecting:
            if self.client is None:
                if self.server.lacking:
                    raise Unavailable(self.server.lacking)
                client = self.make(self.server)
                try:
                    await client.connect()
                except BaseException:
                    await client.close()
                    raise
                self.client = client
            return self.client


class RunTools:
    """Implements `service.runner.run_context.RemoteTools` for one attempt at a run."""

    def __init__(
        self, servers: Callable[[], Sequence[ServerConfig]], make: Connect, note: Callable[[dict[str, Any]], None]
    ) -> None:
        self._servers = servers
        self._make = make
        self._note = note
        self._connections: list[McpConnection] = []
        self.seen: dict[str, str] = {}

    async def open(
        self, taken: Container[str], seen: Mapping[str, str] | None
    ) -> tuple[dict[str, Tool], list[tuple[str, str]]]:
        servers = await asyncio.to_thread(self._servers)
        self._connections = [McpConnection(server, self._make) for server in servers]
        listings = await asyncio.gather(*(self._list_tools(connection) for connection in self._connections))
        found: dict[str, Tool] = {}
        warnings: list[tuple[str, str]] = []
        noted: dict[str, Any] = {}
        for connection, listing in zip(self._connections, listings, strict=True):
            who = connection.server.name
            if isinstance(listing, Exception):
                noted[who] = {"away": str(listing), "tools": []}
                warnings.append(
                    ("server_unavailable", f"The tools of the MCP server {who} are unavailable: {listing}.")
                )
                continue
            mine, left = _select_tools(connection, listing, {*found}, taken, seen)
            found |= mine
            noted[who] = {"tools": [{"name": name, "description": tool.description} for name, tool in mine.items()]}
            warnings += _warn_of_omitted(who, left)
        self.seen = {name: tool.listed.fingerprint for name, tool in found.items() if isinstance(tool, ServerTool)}
        if noted:
            await asyncio.to_thread(self._note, noted)
        return found, warnings

    async def close(self) -> None:
        await asyncio.gather(*(connection.close() for connection in self._connections), return_exceptions=True)

    async def _list_tools(self, connection: McpConnection) -> list[ListedTool] | Exception:
        try:
            return await connection.tools()
        except McpError as fault:
            return fault
        except Exception as error:
            # A server may send anything, and an unexpected error must not fail the run. Show only the error's type,
            # because its message may contain an address with a key.
            log.warning(
                "the MCP server %s can't be used, because of an unexpected %s",
                connection.server.name,
                type(error).__name__,
            )
            return Unavailable(type(error).__name__)


OmittedTools = dict[str, list[str]]
"""The names of the tools that a run does not get, by reason."""
_CHANGED: Final = "because they changed since the run started"


def _select_tools(
    connection: McpConnection,
    listing: Sequence[ListedTool],
    mine: set[str],
    taken: Container[str],
    seen: Mapping[str, str] | None,
) -> tuple[dict[str, Tool], OmittedTools]:
    """Return the server's tools that the run gets, by name, and those that the run does not get, by reason."""
    found: dict[str, Tool] = {}
    left: OmittedTools = {}
    for listed in listing:
        name = f"{connection.server.name}_{re.sub(r'[^A-Za-z0-9_-]', '_', listed.name)}"
        if len(name) > _NAME_CHARS or not listed.name:
            left.setdefault(
                "because their names are empty, or too long (64 characters with the server's name)", []
            ).append(listed.name[:_NAME_CHARS])
        elif name in taken or name in mine or name in found:
            left.setdefault("because another tool has the same name", []).append(name)
        elif not _is_usable(listed.schema):
            left.setdefault("because a model can't use their input schema", []).append(name)
        elif seen is not None and seen.get(name) != listed.fingerprint:
            left.setdefault(_CHANGED, []).append(name)
        else:
            found[name] = as_tool(name, listed, connection)
    return found, left


def _warn_of_omitted(server: str, left: OmittedTools) -> Iterator[tuple[str, str]]:
    for reason, names in left.items():
        shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
        code = "tool_changed" if reason == _CHANGED else "tool_left_out"
        yield code, f"The run can't use these tools of the MCP server {server}, {reason}: {shown}."


def _is_usable(schema: Mapping[str, Any]) -> bool:
    """Return whether the schema describes an object and is neither too large nor too deeply nested."""
    if schema.get("type") != "object" or _depth(schema) > _DEPTH_MAX:
        return False
    return len(json.dumps(schema).encode("utf-8", "replace")) <= MCP_SCHEMA_BYTES


def _depth(value: object, depth: int = 0) -> int:
    if depth > _DEPTH_MAX or not isinstance(value, dict | list):
        return depth
    inner = value.values() if isinstance(value, dict) else value
    return max((_depth(one, depth + 1) for one in inner), default=depth)


def _error(code: str, message: str) -> Outcome:
    return Outcome(content=[{"type": "text", "text": message}], error=(code, message))


class ToolServers:
    """Connects runs to the MCP servers in the settings and to the user's `own` servers.

    An own server may also be a command that runs on this machine.
    """

    def __init__(self, settings: Settings, own: OwnServers | None = None) -> None:
        self._named = servers_in_settings(settings)
        self._own = own

    def for_run(self) -> RunTools:
        return RunTools(self._servers, self._connect, self._note)

    def _servers(self) -> list[ServerConfig]:
        """Return the servers for a run. If two servers have the same name, use the server in the settings."""
        names = {server.name for server in self._named}
        own = self._own.read() if self._own else []
        return [*self._named, *(server for server in own if server.name not in names)]

    def _connect(self, server: ServerConfig) -> McpClient:
        return McpClient(StdioChannel(server) if server.command else HttpChannel(server, server.allow))

    def _note(self, found: dict[str, Any]) -> None:
        if self._own is not None:
            with contextlib.suppress(OSError):  # a failure loses nothing important: only `%tools` shows this
                self._own.store_offers(found)
