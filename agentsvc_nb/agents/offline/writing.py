"""How the offline agent writes an answer: its parts and what each rests on, Markdown in which quoted text stays plain
text, streamed in pieces, with its words counted (docs/api/models.md "What an answer rests on")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, get_args

from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.documents.safe_text import FOLDED, escape
from agentsvc_nb.documents.tables.results import Result
from agentsvc_nb.wire.limits import HEADLINE_CHARS
from agentsvc_nb.wire.runs import AnswerBasis, Basis
from agentsvc_nb.wire.text import label, plain

RESULTS: Final = ("computed", "looked_up")
_ORDER: Final = get_args(Basis)


@dataclass(frozen=True)
class AnswerPart:
    """A part of an answer, in Markdown, and what it rests on; `found` is what was computed of tables, `after` the
    questions that this one goes on from. `unread` says that a table could not be read: that nothing is found elsewhere
    is no answer then."""

    text: str
    basis: AnswerBasis
    found: Result | None = None
    after: tuple[str, ...] = ()
    unread: bool = False


def result(basis: Basis, headline: str, values: Sequence[str], rest: str) -> AnswerPart:
    """A result: its headline, which is plain text and the only bold text of an answer, and Markdown below it."""
    line = label(headline, HEADLINE_CHARS)
    made = AnswerBasis(basis=basis, headline=line, values=list(values))
    return AnswerPart(f"**{escape(line)}**\n\n{rest}", made)


def without_result(basis: Basis, text: str) -> AnswerPart:
    return AnswerPart(text, AnswerBasis(basis=basis))


def whole(parts: Sequence[AnswerBasis]) -> AnswerBasis | None:
    """What an answer of these parts rests on: the first of its results, with the values of all; without a result, the
    part whose basis comes first in the list of them. None without parts."""
    results = [part for part in parts if part.basis in RESULTS]
    if results:
        values = [value for part in results for value in part.values]
        return AnswerBasis(basis=results[0].basis, headline=results[0].headline, values=values)
    return min(parts, key=lambda part: _ORDER.index(part.basis), default=None)


WRAPPED_CHARS: Final = 60


def code(text: str) -> str:
    """Text as a code span, fenced by more backticks than it holds. Control characters and direction marks are left out:
    they would hide a file's name, or turn what stands around it.

    >>> code("sum(price)"), code("a\u202egnp.md")
    ('`sum(price)`', '`agnp.md`')
    """
    flat = label(text, len(text)) or " "
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", flat)), default=0))
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def block(text: str) -> str:
    """A block that is shown folded where that can be done (`documents.markdown`)."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{FOLDED}\n{text}\n{fence}\n\n"


def quote(text: str, source: str) -> str:
    """A blockquote followed by its source. Line breaks of the text are kept, except within wrapped prose; control
    characters and direction marks are not."""
    kept = [line.strip() for line in plain(text).splitlines() if line.strip()]
    breaks = ["\n> " if _goes_on(line, after) else "\\\n> " for line, after in pairwise(kept)]
    body = "".join(escape(line) + end for line, end in zip(kept, [*breaks, ""], strict=True))
    return f"> {body}\n\n— {source}\n\n"


def _goes_on(line: str, after: str) -> bool:
    """Whether `after` continues a paragraph that was wrapped at the end of `line`."""
    return len(line) >= WRAPPED_CHARS and after[0].isalnum() and not after[0].isdigit()


class Voice:
    """Says Markdown to the reader of a turn.

    Tokens are counted as words, the nearest honest measure without a tokeniser. Input is the message and the passages
    quoted; output is the text said.
    """

    def __init__(self, turn: RunContext) -> None:
        self.turn = turn

    async def say(self, text: str) -> None:
        # Before anything is said: a limit of money ends the run here, not after the answer.
        await self.turn.hold(0, words(text))
        await self.turn.say(text)
        self.turn.use(0, words(text))

    async def count_input(self, text: str) -> None:
        """Count a text that was read as input."""
        await self.turn.hold(words(text), 0)
        self.turn.use(words(text), 0)


def words(text: str) -> int:
    return len(text.split())
