"""What calls of a language model cost, and the most that the next one may."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from pydantic_ai import ModelMessage, ModelResponse
from pydantic_ai.usage import RequestUsage

from agentsvc_nb.agents.language.conversation import length, tokens
from agentsvc_nb.agents.language.served import Served
from agentsvc_nb.tools.port import Meter, Tool
from agentsvc_nb.wire.runs import CENT

ANSWER_TOKENS: Final = 32_000
"""The largest answer of a hosted model that does not say how long its answers may get."""


def microcents(response: ModelResponse) -> int:
    """What a call cost by the published prices; 0 for a model without a price, such as a self-hosted one."""
    try:
        return int(response.cost().total_price * 100 * CENT)
    except (LookupError, ValueError, AssertionError):
        return 0


async def hold(meter: Meter, served: Served, messages: Iterable[ModelMessage], described: int) -> None:
    """Hold the worst case of a call: its request, of the messages and `described` tokens beside them, and the model's
    largest answer. Raises `WorkFailure("limit_reached")`."""
    asked, answer = min(sum(map(length, messages)) + described, served.context), largest_answer(served)
    await meter.hold(asked, answer, _price(served, asked, answer))


def largest_answer(served: Served) -> int:
    """The tokens of the longest answer that the model gives."""
    if served.settings and "max_tokens" in served.settings:
        return served.settings["max_tokens"]
    known: object = served.model.profile.get("anthropic_max_output_tokens")
    return known if isinstance(known, int) else min(served.context, ANSWER_TOKENS)


def described(tools: Iterable[Tool]) -> int:
    """An estimate of the tokens of the tools' descriptions."""
    return sum(tokens(tool.description) + tokens(json.dumps(tool.Input.model_json_schema())) for tool in tools)


def _price(served: Served, asked: int, answer: int) -> int:
    model = served.model
    usage = RequestUsage(input_tokens=asked, output_tokens=answer)
    return microcents(
        ModelResponse(
            parts=[],
            usage=usage,
            model_name=model.model_name,
            provider_name=model.system,
            provider_url=model.base_url,
        )
    )
