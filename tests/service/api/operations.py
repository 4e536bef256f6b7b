"""What tests of both faces of the client share: a test is written once, and awaits what must be awaited."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from agentsvc_nb import AgentService, AsyncAgentService
from agentsvc_nb.client.faces import BlockingResource, Resource


async def got(given: Any) -> Any:
    """What a call of either face gives."""
    return await given if inspect.isawaitable(given) else given


async def each(walk: Any) -> list[Any]:
    """All items of pages or of a stream of either face."""
    if hasattr(walk, "__aiter__"):
        return [item async for item in walk]
    return list(walk)


def use(face: Any, api_key: str, base_url: str, work: Callable[[Any], Awaitable[Any]]) -> Any:
    """What `work(client)` gives. The client for scripts works inside a running event loop, too."""

    async def used() -> Any:
        client = face(api_key, base_url)
        try:
            return await work(client)
        finally:
            await got(client.close())

    return asyncio.run(used())


def operations_of(client: AgentService | AsyncAgentService) -> set[str]:
    """The names of all that a client can do."""
    groups = {name: group for name, group in vars(client).items() if isinstance(group, Resource | BlockingResource)}
    found = {f"{name}.{operation}" for name, group in groups.items() for operation in vars(type(group))}
    return {name for name in found if "._" not in name} | {"ask", "map"}
