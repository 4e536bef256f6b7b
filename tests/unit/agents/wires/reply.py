"""What a stand-in answers, the same for every provider; each form in this folder says it in its provider's words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

Body = dict[str, Any]
Event = dict[str, Any]
Headers = Mapping[str, str]

End = Literal["done", "length", "filtered", "refused", "lost", "overloaded"]
"""Why an answer stops: `lost` is without a word of why, `overloaded` an error in the middle of the stream."""
Fault = Literal["no_key", "no_model", "limited", "spent", "broken", "too_long", "too_large"]
"""Why a request is refused whatever is in it."""

INPUT_TOKENS: Final = 100
OUTPUT_TOKENS: Final = 10
TOKENIZED: Final = ("instructions", "system", "systemInstruction", "tools", "messages", "input", "contents")
"""The fields of requests that the model reads."""
PIECE_CHARS: Final = 12
REFUSAL: Final = "I can't help with that."
UNFINISHED: Final = "(unfinished)"
"""Text after which an event ends, in the middle of its JSON."""
NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What providers take as the name of a function or of a schema."""


@dataclass(frozen=True)
class Refused:
    """An answer without a stream: its status, headers and document."""

    status: int
    document: dict[str, Any]
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Reply:
    """One answer: its thinking and text in pieces, its calls of tools as (name, arguments in JSON).

    `answer` is an object, which Claude gives in the form that was asked for.
    `hangs`: it says no more and keeps the connection. `fault`: the request is refused, with `retry_after` seconds, or
    with exactly this document. `thinking` is said only where the request asks to see it, as providers do. `pause` are
    the seconds between events. `repeats_usage`: each event repeats the tokens that the call has cost so far.
    `writes`: it reports so many tokens, or as many as the request allows, and a token for each two characters of that.
    """

    text: tuple[str, ...] = ()
    thinking: tuple[str, ...] = ()
    calls: tuple[tuple[str, str], ...] = ()
    answer: dict[str, Any] | None = None
    end: End = "done"
    hangs: bool = False
    fault: Fault | Refused | None = None
    retry_after: int | None = None
    pause: float = 0.0
    repeats_usage: bool = False
    writes: int | None = None

    def tokens(self, body: Body, longest: int | None) -> tuple[int, int]:
        """The tokens of the request and of the answer, of which the request allows `longest`."""
        if self.writes is None:
            return INPUT_TOKENS, OUTPUT_TOKENS
        made = self.writes if longest is None else min(self.writes, longest)
        return len(json.dumps([body.get(name) for name in TOKENIZED], ensure_ascii=False)) // 2, made


class Form(Protocol):
    """One provider's form. `last` are bytes after the last event of a stream that ended."""

    last: bytes
    media_type: str

    def takes(self, path: str) -> bool:
        """Whether requests come at this path."""
        ...

    def complaint(self, path: str, headers: Headers, body: Body) -> str | None:
        """Why the provider would not take this request; None when it would. The names of headers are in lower case."""
        ...

    def wrong(self, why: str) -> Refused:
        """The answer to a request with a complaint."""
        ...

    def refused(self, reply: Reply, body: Body) -> Refused:
        """The answer to a request that is refused whatever is in it (`reply.fault`)."""
        ...

    def events(self, reply: Reply, path: str, body: Body) -> Iterator[Event]:
        """What is streamed, in the provider's order."""
        ...

    def framed(self, event: Event) -> bytes: ...


def pieces(text: str) -> list[str]:
    return [text[start : start + PIECE_CHARS] for start in range(0, len(text), PIECE_CHARS)]
