"""Responses that say how they ended, for metrics (docs/metrics.md)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing
from typing import Final

from starlette.responses import Response

from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.responses import JSON, EventStreamResponse
from agentsvc_nb.service.mcp.endpoint.protocol import encode, frame
from agentsvc_nb.service.mcp.messages import Message

OK: Final = "ok"
TOOL_ERROR: Final = "tool_error"
FAULT: Final = "fault"
REFUSED: Final = "refused"
_PING: Final = b": ping\n\n"


class Answer(Response):
    """One message."""

    media_type = JSON

    def __init__(self, message: Message, status: int = 200) -> None:
        super().__init__(encode(message), status)
        self.outcome = _outcome(message)


class Stream(EventStreamResponse):
    """Messages, the answer last; None is said as a sign of life. It is counted when it ends: one that its client left
    as `ok`, one that was cut off as `fault`."""

    def __init__(self, context: RequestContext, method: str, messages: AsyncGenerator[Message | None]) -> None:
        super().__init__(_frames(context, method, messages))


async def counted(context: RequestContext, method: str, answer: Awaitable[Response]) -> Response:
    """Await the response to a request of this method, and count it; a stream counts itself."""
    requests = context.use_case.metrics.mcp_requests
    try:
        response = await answer
    except Exception:
        requests.add(method, REFUSED)
        raise
    if not isinstance(response, Stream):
        requests.add(method, response.outcome if isinstance(response, Answer) else OK)
    return response


async def _frames(
    context: RequestContext, method: str, messages: AsyncGenerator[Message | None]
) -> AsyncGenerator[bytes]:
    metrics, outcome = context.use_case.metrics, OK
    metrics.mcp_streams.add(method)
    try:
        async with aclosing(messages):
            async for message in messages:
                if message is not None and "method" not in message:
                    outcome = _outcome(message)
                yield _PING if message is None else frame(message)
    except Exception:
        outcome = FAULT
        raise
    finally:
        metrics.mcp_streams.add(method, by=-1)
        metrics.mcp_requests.add(method, outcome)


def _outcome(message: Message) -> str:
    if "error" in message:
        return FAULT
    return TOOL_ERROR if message["result"].get("isError") else OK
