"""A call of the model, and what it took: the tokens that the provider reports, the cost by its published prices."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from pydantic_ai import AgentRun, ModelRequestNode, ModelResponse
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.usage import RequestUsage

from agentsvc_nb.service.ports.agents import AgentFailure
from agentsvc_nb.service.ports.tools import Meter
from agentsvc_nb.service.work.agents.language import endings
from agentsvc_nb.service.work.agents.language.lengths import tokens
from agentsvc_nb.wire.runs import CENT

Tell = Callable[[object], Awaitable[None]]


async def call(
    run: AgentRun[None, Any], node: ModelRequestNode[None, Any], meter: Meter, tell: Tell
) -> tuple[Any, ModelResponse]:
    """Make the call, with each of its events told; the node that follows, and what was answered.

    Raises `AgentFailure` for an answer that is not whole (`endings`).
    """
    response = await _streamed(run, node, meter, tell)
    if not isinstance(response.usage, RequestUsage) or response.usage.unmeasured_requests:
        meter.use_uncounted()
    else:
        _count(meter, response)
    endings.check(response)
    return await run.next(node), response


async def _streamed(
    run: AgentRun[None, Any], node: ModelRequestNode[None, Any], meter: Meter, tell: Tell
) -> ModelResponse:
    with endings.readable():
        async with node.stream(run.ctx) as stream:
            try:
                async for event in stream:
                    await tell(event)
                if endings.is_lost(stream.response):
                    raise AgentFailure("model_unavailable", endings.LOST)
            except (asyncio.CancelledError, AgentFailure, ModelAPIError) as cut:
                if stream.response.parts or isinstance(cut, asyncio.CancelledError):
                    asked = sum(tokens(str(message.parts)) for message in run.all_messages())
                    _count_cut(meter, stream.response, asked)
                raise
        return stream.response


def _count(meter: Meter, response: ModelResponse) -> None:
    usage = response.usage
    meter.use(usage.input_tokens, usage.output_tokens, _microcents(response))


def _count_cut(meter: Meter, response: ModelResponse, asked: int) -> None:
    """A call that was cut off has cost, too, and nobody says what: the lengths are taken."""
    made = sum(tokens(str(getattr(part, "content", ""))) for part in response.parts)
    usage = RequestUsage(input_tokens=response.usage.input_tokens or asked, output_tokens=made)
    _count(meter, replace(response, usage=usage))


def _microcents(response: ModelResponse) -> int:
    """What a call cost by the published prices; 0 for a model that has none, as one's own."""
    try:
        return int(response.cost().total_price * 100 * CENT)
    except (LookupError, ValueError, AssertionError):
        return 0
