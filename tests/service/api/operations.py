"""A case of every operation of the client: done against a real service, and its effect looked at past the client.

A case is written once for both faces: `got` awaits what must be awaited. It uses the client for its operation alone
(`stage` makes what that needs), so that the case is refused as a whole where the key is wrong.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Final

from agentsvc_nb import AgentService, AsyncAgentService
from agentsvc_nb.client.faces import BlockingResource, Resource
from tests.service.api.service_fixture import ServiceFixture

Case = Callable[[Any, ServiceFixture], Coroutine[Any, Any, None]]
CASES: Final[dict[str, Case]] = {}


def case(name: str) -> Callable[[Case], Case]:
    """The case of this operation, by its name on a client."""

    def add(function: Case) -> Case:
        assert name not in CASES
        return CASES.setdefault(name, function)

    return add


async def got(given: Any) -> Any:
    """What a call of either face gives."""
    return await given if inspect.isawaitable(given) else given


async def each(walk: Any) -> list[Any]:
    """All items of pages or of a stream of either face."""
    if hasattr(walk, "__aiter__"):
        return [item async for item in walk]
    return list(walk)


def operations_of(client: AgentService | AsyncAgentService) -> set[str]:
    """The names of all that a client can do."""
    groups = {name: group for name, group in vars(client).items() if isinstance(group, Resource | BlockingResource)}
    found = {f"{name}.{operation}" for name, group in groups.items() for operation in vars(type(group))}
    return {name for name in found if "._" not in name} | {"ask", "map"}
