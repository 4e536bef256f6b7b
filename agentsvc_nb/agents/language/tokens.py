"""Estimate the number of tokens of a request, and divide a model's context length among the parts of a request."""

from __future__ import annotations

import json
import math
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic_ai import BinaryContent, ModelMessage
from pydantic_ai.tools import ToolDefinition


@dataclass(frozen=True, slots=True)
class TokenEstimate:
    """An estimated number of tokens: `usual` for most tokenizers, and `most` for the least efficient tokenizers."""

    usual: float = 0
    most: float = 0

    def __add__(self, other: TokenEstimate) -> TokenEstimate:
        return TokenEstimate(self.usual + other.usual, self.most + other.most)

    def __mul__(self, times: int) -> TokenEstimate:
        return TokenEstimate(self.usual * times, self.most * times)


_LETTER: Final = TokenEstimate(0.28, 0.6)
"""The tokens of an ASCII letter or blank, given that a word has one to three tokens."""
_SIGN: Final = TokenEstimate(1, 1.1)
"""The tokens of a digit, a punctuation mark or a line break."""
_FOREIGN_BYTE: Final = TokenEstimate(0.55, 1.05)
"""The tokens of one UTF-8 byte of a character outside ASCII."""
_SCHEMA_CHAR: Final = TokenEstimate(0.34, 0.7)
"""The tokens per character of a JSON Schema. They are few, as tokenizers have tokens for pairs of punctuation marks."""
_PICTURE: Final = TokenEstimate(1_600, 5_000)
_MESSAGE: Final = TokenEstimate(6, 40)
"""The tokens that a provider adds to each part of a message."""
_LETTERS: Final = (string.ascii_letters + " \t").encode()
_ASCII: Final = bytes(range(128))
_REPORT_LEAST: Final = 0.5
ADDED_MOST: Final = 1_000
"""The maximum tokens that a provider and its library add to a request, such as instructions for calling tools."""


def estimate_text(text: str) -> TokenEstimate:
    data = text.encode("utf-8", "surrogatepass")
    others, foreign = (len(data.translate(None, known)) for known in (_LETTERS, _ASCII))
    return _LETTER * (len(data) - others) + _SIGN * (others - foreign) + _FOREIGN_BYTE * foreign


def estimate_schema(document: Mapping[str, Any]) -> TokenEstimate:
    return _SCHEMA_CHAR * len(json.dumps(document, ensure_ascii=False))


def estimate_tool(tool: ToolDefinition) -> TokenEstimate:
    described = {"name": tool.name, "description": tool.description}
    return estimate_schema({**described, "parameters": tool.parameters_json_schema})


def estimate_overhead(
    instructions: Iterable[str], tools: Iterable[ToolDefinition], schema: Mapping[str, Any] | None
) -> TokenEstimate:
    """Return the size of what a request contains besides messages: instructions, tools and the answer's schema."""
    size = sum(map(estimate_text, instructions), estimate_schema(schema or {}))
    return sum(map(estimate_tool, tools), size)


def estimate_messages(messages: Iterable[ModelMessage]) -> TokenEstimate:
    parts = [part for message in messages for part in message.parts]
    contents = [_estimate_content(getattr(part, "content", None) or getattr(part, "args", "")) for part in parts]
    return sum(contents, _MESSAGE * len(parts))


def _estimate_content(content: object) -> TokenEstimate:
    if isinstance(content, list | tuple):
        return sum(map(_estimate_content, content), TokenEstimate())
    return _PICTURE if isinstance(content, BinaryContent) else estimate_text(str(content))


CUT: Final = "\n[... shortened ...]\n"


class TokenCounter:
    """Estimates numbers of tokens for one model, and learns from the counts that the provider reports."""

    def __init__(self) -> None:
        self._scale = 1.1  # deliberately too high until a provider reports a count

    def usual(self, size: TokenEstimate) -> int:
        return math.ceil(size.usual * self._scale)

    def most(self, size: TokenEstimate) -> int:
        """Return the number of tokens with the least efficient tokenizer. Cost limits use this number."""
        return max(math.ceil(size.most), self.usual(size))

    def text(self, text: str) -> int:
        return self.usual(estimate_text(text))

    def messages(self, messages: Iterable[ModelMessage]) -> int:
        return self.usual(estimate_messages(messages))

    def is_plausible(self, size: TokenEstimate, reported: int) -> bool:
        """Return False if the reported count is implausibly low. Some servers leave out cached tokens."""
        return reported >= size.usual * _REPORT_LEAST

    def learn(self, size: TokenEstimate, reported: int) -> None:
        """Correct later estimates with the count that the provider reported for a request of this size."""
        if self.is_plausible(size, reported):
            self._scale = min(reported / size.usual, 4)

    def shorten(self, text: str, limit: int) -> str:
        """Shorten a text to at most `limit` tokens: keep its beginning and a short end, and leave out the middle."""
        needed = self.text(text)
        if needed <= limit:
            return text
        room = max(int(len(text) * limit / needed) - len(CUT), 0)
        # The remaining text may have more tokens per character than the whole text, for example if it begins with
        # numbers.
        while room and self.text(cut := _ends(text, room)) > limit:
            room = int(room * min(0.95, limit / self.text(cut)))
        return _ends(text, room)


def _ends(text: str, room: int) -> str:
    end = room // 5
    return text[: room - end] + CUT + (text[-end:] if end else "")


ANSWER_SHARE: Final = 4
"""An answer may take at most the context length divided by this number."""
_MARGIN: Final = 0.95
"""The share of the space for messages that may be used. The rest stays free, because estimates may be too low."""
_MESSAGES_LEAST: Final = 300
_RESULT_SHARE: Final = 0.3


@dataclass(frozen=True, slots=True)
class Budget:
    """Divides a model's context length among the parts of a request and the answer. All numbers are tokens.

    Attributes:
        answer: the number to keep free for the answer.
        overhead: the size of what a request contains besides messages (`estimate_overhead`).
    """

    tokens: TokenCounter
    context: int
    answer: int
    overhead: TokenEstimate = TokenEstimate()

    @property
    def messages(self) -> int:
        left = self.context - self.answer - self.tokens.usual(self.overhead)
        return max(int(left * _MARGIN), _MESSAGES_LEAST)

    @property
    def earlier(self) -> int:
        """The maximum for all earlier turns. They never fill a large context, because each call pays for them again."""
        return min(self.messages // 2, 30_000)

    def question(self, before: int) -> int:
        """Return the maximum for the message and its attachments.

        This is 35 % of the space for messages, or more if earlier turns, which take `before` tokens, leave more free.
        It is at most 150,000 tokens.
        """
        free = int(self.messages * (1 - _RESULT_SHARE)) - self.files - before
        return min(max(int(self.messages * 0.35), free), 150_000)

    @property
    def files(self) -> int:
        """The maximum for the list of files and the columns of tables."""
        return min(int(self.messages * 0.15), 8_000)

    @property
    def result(self) -> int:
        """The maximum for one tool result."""
        return min(int(self.messages * _RESULT_SHARE), 20_000)
