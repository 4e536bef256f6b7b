"""What goes to a model, recorded for the people whose data it is (docs/privacy.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from pydantic_ai import BinaryContent, ModelMessage
from pydantic_ai.messages import TextPart, ToolCallPart, ToolSearchReturnPart, UserPromptPart

from agentsvc_nb.agents.language.served import Served
from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.tools.port import Meter, SentCall, SentPart

CHARS: Final = 500
"""Of each part that is recorded."""
_FIRST: Final = (
    "Messages, the texts of attached files, columns and first rows of tables, and what tools find go to {provider} "
    "({model}). This is said once; what each run sent: %agentsvc sent RUN, or the run's page."
)


def part_of(what: str, text: str) -> SentPart:
    return SentPart(what, text[:CHARS], len(text))


class Outbox:
    """The calls of one agent: each is recorded with what was not sent before. `turn`: is told when it is the first that
    this folder sends to a provider."""

    def __init__(self, served: Served, beside: Sequence[SentPart], turn: RunContext | None = None) -> None:
        self._served = served
        self._beside = beside
        self._turn = turn
        self._sent = 0

    async def sending(self, meter: Meter, messages: Sequence[ModelMessage], tokens: int) -> None:
        """Record a call with these messages, of some `tokens`, before it is made."""
        fresh = [each for message in messages[self._sent :] for each in _parts(message)]
        parts = fresh if self._sent else [*self._beside, *fresh]
        self._sent = len(messages)
        served = self._served
        provider = _without_secrets(served.model.base_url) or served.model.system
        call = SentCall(provider, served.hosted, served.model.model_name, tokens, parts)
        if await meter.sending(call) and self._turn is not None:
            await self._turn.warn("leaves_machine", _FIRST.format(provider=call.provider, model=call.model))


def _without_secrets(address: str | None) -> str:
    """An address as it may be recorded and shown: a password, or a key in its query, stays here."""
    parts = urlsplit(address or "")
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _parts(message: ModelMessage) -> Iterator[SentPart]:
    for each in message.parts:
        match each:
            case UserPromptPart(content=content):
                items = [content] if isinstance(content, str) else content
                yield from (part_of("message", item) for item in items if isinstance(item, str))
                pictures = [item for item in items if isinstance(item, BinaryContent)]
                yield from (SentPart("picture", item.media_type, len(item.data)) for item in pictures)
            case TextPart(content=text):
                yield part_of("answer", text)
            case ToolCallPart(tool_name=name):
                yield part_of("call", f"{name} {each.args_as_json_str()}")
            case ToolSearchReturnPart() if each.discovered_tools:
                yield part_of("tools", ", ".join(match["name"] for match in each.discovered_tools))
            case _ if found := getattr(each, "content", None):
                yield part_of("result", str(found))
