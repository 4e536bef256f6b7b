"""One test, both faces: the operations are called through the client for scripts and through the one for asyncio."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, Protocol

import httpx

from agentsvc_nb import AgentService, AsyncAgentService


class Face(Protocol):
    def __call__(self, work: Callable[[Any], Any], transport: Any = None) -> Any:
        """What `work(client)` gives, awaited where it must be."""
        ...


def sync_face(api_key: str, base_url: str) -> Face:
    def call(work: Callable[[Any], Any], transport: httpx.BaseTransport | None = None) -> Any:
        with AgentService(api_key, base_url, transport=transport) as client:
            return work(client)

    return call


def async_face(api_key: str, base_url: str) -> Face:
    async def run(work: Callable[[Any], Any], transport: httpx.AsyncBaseTransport | None) -> Any:
        async with AsyncAgentService(api_key, base_url, transport=transport) as client:
            given = work(client)
            return await given if inspect.isawaitable(given) else given

    return lambda work, transport=None: asyncio.run(run(work, transport))
