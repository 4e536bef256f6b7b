"""`subscriptions/listen`: the news of tasks, on a stream that stays open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any, Final

from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.mcp.endpoint import tasks
from agentsvc_nb.service.mcp.endpoint.calls import AWAY_SECONDS
from agentsvc_nb.service.mcp.endpoint.protocol import INVALID_PARAMS, Asked, Fault, notification
from agentsvc_nb.service.mcp.messages import Message
from agentsvc_nb.service.ports import StoreBusy
from agentsvc_nb.wire.limits import MCP_LISTEN_TASKS_MAX, STREAM_PING_SECONDS

_ID: Final = "io.modelcontextprotocol/subscriptionId"


async def wanted(context: RequestContext, asked: Asked) -> list[str]:
    """The tasks that a client wants to hear of; ids of no task are left out. Raises `Fault`."""
    filter = asked.mapping("notifications")
    found = filter.get("taskIds")
    if found is None:
        return []
    asked.require_tasks()
    if not isinstance(found, list) or not all(isinstance(id, str) for id in found):
        raise Fault(INVALID_PARAMS, "`taskIds` must be a list of texts.")
    if len(found) > MCP_LISTEN_TASKS_MAX:
        raise Fault(INVALID_PARAMS, f"One stream listens to {MCP_LISTEN_TASKS_MAX} tasks at most.")
    return [id for id in dict.fromkeys(found) if await _exists(context, id)]


async def messages(context: RequestContext, asked: Asked, ids: Sequence[str]) -> AsyncGenerator[Message | None]:
    """What is agreed on, then each change of the tasks, until the client goes away or the service stops; None now and
    then while there is none."""
    meta = {_ID: asked.id}
    agreed = {"taskIds": list(ids)} if ids else {}
    yield notification("notifications/subscriptions/acknowledged", {"_meta": meta, "notifications": agreed})
    news: asyncio.Queue[Message | Exception] = asyncio.Queue(maxsize=MCP_LISTEN_TASKS_MAX)
    followers = [asyncio.create_task(_follow(context, asked, id, news)) for id in ids]
    signals = context.services.use_case.signals
    try:
        while not signals.stopping:
            try:
                async with asyncio.timeout(STREAM_PING_SECONDS):
                    state = await news.get()
            except TimeoutError:
                yield None
                continue
            if isinstance(state, Exception):
                raise state
            yield notification("notifications/tasks", {**state, "_meta": meta})
        yield asked.answer({"_meta": meta})
    finally:
        for follower in followers:
            follower.cancel()
        await asyncio.gather(*followers, return_exceptions=True)


async def _exists(context: RequestContext, id: str) -> bool:
    try:
        await tasks.find(context, id)
    except Fault:
        return False
    return True


async def _follow(context: RequestContext, asked: Asked, id: str, news: asyncio.Queue[Message | Exception]) -> None:
    """Put each state of the task that differs from the one before, and what ends the stream."""
    try:
        async for state in _states(context, asked, id):
            await news.put(state)
    except Fault:
        return  # it was deleted with its chat
    except Exception as error:
        await news.put(error)


async def _states(context: RequestContext, asked: Asked, id: str) -> AsyncIterator[Message]:
    """The states, also after a time in which the database was away."""
    told: tuple[Any, ...] | None = None
    with context.services.use_case.signals.watch(id) as watch:
        while True:
            try:
                work = await tasks.find(context, id)
                state = await tasks.state(context, asked, work)
            except StoreBusy:
                await watch.wait(AWAY_SECONDS)
                continue
            now = (state["status"], tuple(state.get("inputRequests", ())), state.get("statusMessage"))
            if now != told:
                told = now
                yield state
            if work.ended_at is not None:
                return
            await watch.wait(STREAM_PING_SECONDS)
