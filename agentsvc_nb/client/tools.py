"""The live tool catalog (contract.md §5)."""

from __future__ import annotations

from agentsvc_nb.client.core import Call, Core
from agentsvc_nb.wire.tools import ToolDescription, ToolList


async def list_(core: Core) -> list[ToolDescription]:
    """All tools. One that lacks a credential, a model or the network says `available=False`."""
    return (await core.ask(ToolList, Call("tools.list"))).data


async def describe(core: Core, name: str) -> ToolDescription:
    """One tool, with its schemas. Raises `StefanBrainError` (`tool_not_found`)."""
    return await core.ask(ToolDescription, Call("tools.describe", {"name": name}))
