"""How many tokens a text takes: estimated by the kinds of its characters, and corrected by what the provider reports of
each call (docs/decisions/0064-lengths-are-learned.md)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic_ai import BinaryContent, ModelMessage

LETTERS: Final = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
DIGITS: Final = b"0123456789"
SPACES: Final = b" \t"


@dataclass(frozen=True, slots=True)
class Weight:
    """Tokens of one character of a kind: at first, and at least and at most of any tokenizer."""

    first: float
    least: float
    most: float


WEIGHTS: Final = (
    Weight(0.3, 0.18, 0.6),  # ASCII letters: a word is one token to three
    Weight(1.05, 0.33, 1.1),  # digits: many tokenizers have no numbers
    Weight(0.95, 0.3, 1.1),  # punctuation and line breaks
    Weight(0.15, 0.01, 0.5),  # blanks, which most tokenizers add to the word behind them
    Weight(0.9, 0.2, 2.1),  # letters of two bytes: accents, Cyrillic, Greek, Hebrew, Arabic
    Weight(1.8, 0.25, 3.1),  # characters of three bytes: Chinese, Japanese, Korean, Thai, Hindi
    Weight(3.0, 0.8, 4.1),  # characters of four bytes, such as emoji
    Weight(0.34, 0.2, 0.7),  # characters of JSON Schemas, whose punctuation comes in known pairs
    Weight(1_600, 250, 5_000),  # pictures
    Weight(6, 2, 40),  # messages: what stands around each
)
"""By the kinds of a `Count`, in its order."""
SCHEMAS: Final = 7
PICTURES: Final = 8
MESSAGES: Final = 9
Count = tuple[int, ...]
"""How many there are of each kind."""
NOTHING: Final[Count] = (0,) * len(WEIGHTS)
ADDED_MOST: Final = 1_000
"""Tokens that providers and their libraries add to a request: how to call tools, and who may give orders."""
UNLEARNED: Final = 1.1
"""What lengths are raised by until a first report."""
SCALE_MOST: Final = 4.0
"""What reports may still raise all lengths by, once each kind has its largest weight."""
SHRINK: Final = 0.75
"""What is left of a context when the model's server found a request too long for it."""
CONTEXT_LEAST: Final = 1_000


def count(text: str) -> Count:
    """The characters of a text by their kinds.

    >>> count("Ada, 36")
    (3, 2, 1, 1, 0, 0, 0, 0, 0, 0)
    """
    ascii_only = text.encode("ascii", "ignore")
    letters, digits, spaces = (len(ascii_only) - len(ascii_only.translate(None, kind)) for kind in _KINDS)
    marks = len(ascii_only) - letters - digits - spaces
    # Of the other characters the lengths in UTF-16 and UTF-8 tell how many have two, three and four bytes.
    four = len(text.encode("utf-16-le", "surrogatepass")) // 2 - len(text)
    wide = len(text) - len(ascii_only) - four
    three = len(text.encode("utf-8", "surrogatepass")) - len(ascii_only) - 4 * four - 2 * wide
    return (letters, digits, marks, spaces, wide - three, three, four, 0, 0, 0)


_KINDS: Final = (LETTERS, DIGITS, SPACES)


def added(counts: Iterable[Count]) -> Count:
    return tuple(map(sum, zip(NOTHING, *counts, strict=True)))


def count_message(message: ModelMessage) -> Count:
    """What a message has of each kind."""
    contents = (getattr(part, "content", None) or getattr(part, "args", "") for part in message.parts)
    parts = [added([_counted(content), _FRAME]) for content in contents]
    return added(parts)


def count_schema(document: Mapping[str, Any]) -> Count:
    """What a description in JSON has: a tool's, or the schema of the answer."""
    return _only(SCHEMAS, len(json.dumps(document, ensure_ascii=False)))


def _only(kind: int, number: int) -> Count:
    return tuple(number if place == kind else 0 for place in range(len(WEIGHTS)))


_FRAME: Final = _only(MESSAGES, 1)
_PICTURE: Final = _only(PICTURES, 1)


def _counted(content: object) -> Count:
    if isinstance(content, list | tuple):
        return added(map(_counted, content))
    return _PICTURE if isinstance(content, BinaryContent) else count(str(content))


class Lengths:
    """The lengths of one model's tokens. What its provider reports corrects the weights; a report below what any
    tokenizer gives is not believed (some servers leave out what they have cached)."""

    def __init__(self) -> None:
        self._weights = [weight.first for weight in WEIGHTS]
        self._scale = UNLEARNED

    def of(self, counted: Count) -> int:
        return math.ceil(self._sum(counted) * self._scale)

    def most(self, counted: Count) -> int:
        """Return the most tokens that any tokenizer makes of these characters. Money is reckoned with it."""
        most = sum(each * weight.most for each, weight in zip(counted, WEIGHTS, strict=True))
        return max(math.ceil(most), self.of(counted))

    def text(self, text: str) -> int:
        return self.of(count(text))

    def messages(self, messages: Iterable[ModelMessage]) -> int:
        return self.of(added(map(count_message, messages)))

    def learn(self, counted: Count, reported: int) -> bool:
        """A request of these characters had `reported` tokens. Returns False if that can't be believed."""
        if reported < sum(each * weight.least for each, weight in zip(counted, WEIGHTS, strict=True)):
            return False
        shares = [(each * weight) ** 2 for each, weight in zip(counted, self._weights, strict=True)]
        missing = reported - self._sum(counted)
        # What makes up most of the request is corrected most; what it has none of stays.
        self._weights = [
            min(max(weight + missing * share / sum(shares) / each, bounds.least), bounds.most) if each else weight
            for weight, share, each, bounds in zip(self._weights, shares, counted, WEIGHTS, strict=True)
        ]
        self._scale = min(max(reported / self._sum(counted), 1.0), SCALE_MOST)
        return True

    def shortened(self, text: str, limit: int) -> str:
        """The text cut to about `limit` tokens: its beginning and a little of its end."""
        needed = self.text(text)
        if needed <= limit:
            return text
        room = max(int(len(text) * limit / needed) - len(CUT), 0)
        # Its parts may be denser than the whole: numbers at its beginning.
        while room and self.text(found := _ends(text, room)) > limit:
            room = int(room * min(0.95, limit / self.text(found)))
        return _ends(text, room)

    def _sum(self, counted: Count) -> float:
        return sum(each * weight for each, weight in zip(counted, self._weights, strict=True))


CUT: Final = "\n[... shortened ...]\n"


def _ends(text: str, room: int) -> str:
    end = room // 5
    return text[: room - end] + CUT + (text[-end:] if end else "")


MARGIN: Final = 0.95
"""Part of what is left for messages that is used: what is estimated may be a little longer."""
ANSWER_PART: Final = 4
"""An answer may take a quarter of the context at most."""
MESSAGES_LEAST: Final = 300
EARLIER_SHARE: Final = 0.5
EARLIER_MOST: Final = 30_000
"""For the turns before. Large contexts are not filled with them: each call pays for all."""
QUESTION_SHARE: Final = 0.35
QUESTION_MOST: Final = 150_000
"""For the message with what is attached."""
FILES_SHARE: Final = 0.15
FILES_MOST: Final = 8_000
"""For the list of files and the schema of tables."""
RESULT_SHARE: Final = 0.3
RESULT_MOST: Final = 20_000
"""For one result of a tool."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How the context of a call is parted. `beside` is what goes along with the messages: instructions, tools, the
    schema of the answer; `answer` are the tokens kept free for the answer."""

    lengths: Lengths
    context: int
    answer: int
    beside: Count = NOTHING

    @property
    def messages(self) -> int:
        left = self.context - self.answer - self.lengths.of(self.beside)
        return max(int(left * MARGIN), MESSAGES_LEAST)

    @property
    def earlier(self) -> int:
        return min(int(self.messages * EARLIER_SHARE), EARLIER_MOST)

    def question(self, before: int) -> int:
        """For the message with what is attached: its share, or what the turns before have left free."""
        free = int(self.messages * (1 - RESULT_SHARE)) - self.files - before
        return min(max(int(self.messages * QUESTION_SHARE), free), QUESTION_MOST)

    @property
    def files(self) -> int:
        return min(int(self.messages * FILES_SHARE), FILES_MOST)

    @property
    def result(self) -> int:
        return min(int(self.messages * RESULT_SHARE), RESULT_MOST)
