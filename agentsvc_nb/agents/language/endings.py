"""How a model's answer ended: whole, cut, held back, or lost on its way (docs/decisions/0026).

A provider ends an answer with the reason why it ends. One that ends without may look whole, and is the half of one.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Iterator
from typing import Final

from openai._streaming import ServerSentEvent, SSEDecoder
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel

from agentsvc_nb.tools.port import WorkFailure

LOST: Final = "The model's answer broke off in the middle: the connection to its server ended. Ask again."
_NO_REASON: Final = frozenset({"xai"})
"""Providers whose library does not hand on the reason as it came."""
_REASON: Final = re.compile(r'"finish_reason"\s*:\s*"[^"]')
_STOP: Final = '{"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}'


def check(response: ModelResponse) -> None:
    """Raises `WorkFailure` for an answer that was held back, or that its provider could not end."""
    said = response.provider_details or {}
    if response.finish_reason == "content_filter":
        reason = said.get("refusal") or said.get("refusal_category") or said.get("finish_reason") or "content filter"
        raise WorkFailure("content_filtered", f"The model or its provider's filter held the answer back: {reason}")
    if response.finish_reason == "error" and response.text and not response.tool_calls:
        reason = said.get("finish_reason", "error")
        raise WorkFailure("model_failed", f"The model's provider ended the answer with an error: {reason}")


def is_lost(response: ModelResponse) -> bool:
    """Whether the stream ended without a reason: of OpenAI's chat completions the library makes that a `stop`."""
    said = response.provider_details or {}
    if said.get("finish_reason") or response.finish_reason not in (None, "stop"):
        return False
    return response.finish_reason is None or response.provider_name not in _NO_REASON


@contextlib.contextmanager
def readable() -> Iterator[None]:
    """Raises `WorkFailure` for a stream that is empty or can't be read."""
    try:
        yield
    except UnexpectedModelBehavior as error:
        raise WorkFailure("model_unavailable", f"The model's server sent no answer: {error.message}") from error


def attend(model: Model) -> Model:
    """The same model, whose `[DONE]` counts as a reason: some servers of one's own send that and no other."""
    if isinstance(model, OpenAIChatModel):
        # The SDK has no other place where `[DONE]` is to be seen.
        model.client._make_sse_decoder = _Decoder  # type: ignore[method-assign]
    return model


class _Decoder(SSEDecoder):
    async def aiter_bytes(self, iterator: AsyncIterator[bytes]) -> AsyncIterator[ServerSentEvent]:
        ended = False
        async for event in super().aiter_bytes(iterator):
            ended = ended or bool(_REASON.search(event.data))
            if event.data.startswith("[DONE]") and not ended:
                yield ServerSentEvent(data=_STOP)
            yield event
