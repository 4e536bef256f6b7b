"""What a stand-in answers, the same for every provider; each form in this folder says it in its provider's words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

Body = dict[str, Any]
Event = dict[str, Any]
Headers = Mapping[str, str]

INPUT_TOKENS: Final = 100
OUTPUT_TOKENS: Final = 10
REFUSAL: Final = "I can't help with that."
UNFINISHED: Final = "(unfinished)"
"""Text after which an event ends, in the middle of its JSON."""


@dataclass(frozen=True)
class Refused:
    """An answer without a stream: its status, headers and document."""

    status: int
    document: dict[str, Any]
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Reply:
    """One answer: its text and thinking in pieces, its calls of tools as (name, arguments in JSON).

    `answer` is an object, which Claude gives in the form that was asked for. `end`: why it stops; `lost` is without a
    word of why, `overloaded` an error in mid-stream. `hangs`: it says no more and keeps the connection. With another
    `status` than 200 the request is refused with `error`, or with the document of `fault`. `counts`: it reports its
    tokens; `writes` so many, or as many as the request allows, and a token for each two characters of that.
    """

    text: tuple[str, ...] = ()
    thinking: tuple[str, ...] = ()
    calls: tuple[tuple[str, str], ...] = ()
    answer: dict[str, Any] | None = None
    end: Literal["done", "length", "filtered", "refused", "lost", "overloaded"] = "done"
    hangs: bool = False
    status: int = 200
    error: str = "no such key"
    retry_after: int | None = None
    fault: Refused | None = None
    counts: bool = True
    writes: int | None = None

    @property
    def breaks_off(self) -> bool:
        return self.hangs or self.end in ("lost", "overloaded")

    def tokens(self, body: Body, longest: int | None) -> tuple[int, int]:
        """The tokens of the request and of the answer, of which the request allows `longest`."""
        if self.writes is None:
            return INPUT_TOKENS, OUTPUT_TOKENS
        made = self.writes if longest is None else min(self.writes, longest)
        return len(json.dumps(body, ensure_ascii=False)) // 2, made


class Form:
    """One provider's form. `last` are bytes after the last event of a stream that ended."""

    last = b""

    def takes(self, path: str) -> bool:
        raise NotImplementedError

    def complaint(self, path: str, headers: Headers, body: Body) -> str | None:
        """Why the provider would not take this request; None when it would. The names of headers are in lower case."""
        return None

    def wrong(self, why: str) -> Refused:
        """The answer to a request with a complaint."""
        return self.error(Reply(status=400, error=why))

    def error(self, reply: Reply) -> Refused:
        """The answer to a request that is refused whatever is in it."""
        headers = () if reply.retry_after is None else (("Retry-After", str(reply.retry_after)),)
        return Refused(reply.status, {"error": {"message": reply.error, "type": "error"}}, headers)

    def events(self, reply: Reply, path: str, body: Body) -> Iterator[Event]:
        """What is streamed, in the provider's order."""
        raise NotImplementedError

    def framed(self, event: Event) -> bytes:
        return f"data: {json.dumps(event)}\n\n".encode()
