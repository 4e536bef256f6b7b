"""A tour of the service with the official Python library, over HTTP or through `agentsvc mcp --stdio`."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from httpx2 import AsyncClient
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.routes import MCP

AD = {"kind": "static_ad", "brief": "Headline: Sale", "outputs": {"mode": "count", "count": 1}}


@asynccontextmanager
async def connected(service: RunningService, way: str, mode: str) -> AsyncIterator[Client]:
    """A client of the service. `mode`: `legacy`, `auto` or a revision."""
    if way == "stdio":
        env = {"AGENTSVC_BASE_URL": service.base_url, "SERVICE_API_KEY": service.api_key}
        command = StdioServerParameters(command=sys.executable, args=["-m", "agentsvc_nb", "mcp", "--stdio"], env=env)
        async with Client(command, mode=mode) as client:
            yield client
        return
    async with AsyncClient(headers={"Authorization": f"Bearer {service.api_key}"}, timeout=60) as http:
        transport = streamable_http_client(service.base_url + MCP.path, http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


async def tour(client: Client) -> dict[str, Any]:
    """What each stop came to."""
    tools = [tool.name for tool in (await client.list_tools()).tools]
    asked = await call(client, "ask", message="write out/Übersicht.txt summer sale at noon\nsay Grüße")
    chat = asked["chat"]
    progress: list[float] = []

    async def told(done: float, total: float | None, message: str | None) -> None:
        progress.append(done)

    job = await call(client, "echo_job", told, steps=3, seconds=1, chat="new")
    late = await call(client, "ask", message="wait 60")
    await call(client, "cancel_run", run_id=late["run_id"])
    given_up = await _given_up(client, chat)
    while (ended := await call(client, "get_run", run_id=late["run_id"]))["status"] != "cancelled":
        pass
    read = await client.read_resource(asked["files"][0]["uri"])
    found = await call(client, "search_files", chat=chat, q="summer")
    made = await call(client, "create_images", request=AD, chat=chat)
    seen = await client.call_tool("read_file", {"chat": chat, "path": made["files"][0]["path"]})
    return {
        "version": client.protocol_version,
        "tools": tools,
        "asked": asked,
        "progress": progress,
        "job": job,
        "late": late,
        "ended": ended,
        "given_up": given_up,
        "read": [content.model_dump(mode="json") for content in read.contents],
        "found": found,
        "seen": {"kind": seen.content[-1].type, **(seen.structured_content or {})},
    }


async def call(client: Client, name: str, told: Any = None, **given: Any) -> dict[str, Any]:
    found = await client.call_tool(name, given, progress_callback=told)
    assert not found.is_error, found
    assert found.structured_content is not None
    return dict(found.structured_content)


async def _given_up(client: Client, chat: str) -> bool:
    """Whether a call that was given up goes on: its run does."""
    with anyio.move_on_after(0.5) as scope:
        await call(client, "ask", chat=chat, message="wait 1\nwrite later.txt x")
    while scope.cancelled_caught:
        listed = await call(client, "list_files", chat=chat)
        if any(file["path"] == "later.txt" for file in listed["files"]):
            return True
    return False
