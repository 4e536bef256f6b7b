"""Write the offline agent's answers as Markdown in which text from files can't become markup."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, get_args

from agentsvc_nb.agents.offline.lexicon import words_of
from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.documents.safe_text import FOLDED, escape
from agentsvc_nb.documents.tables.results import Result
from agentsvc_nb.wire.limits import HEADLINE_CHARS
from agentsvc_nb.wire.runs import AnswerBasis, Basis
from agentsvc_nb.wire.text import label, plain

RESULTS: Final = ("computed", "looked_up")
SWITCH: Final = "agentsvc model anthropic:claude-sonnet-4-6"
HOW_TO_SWITCH: Final = f"To switch to a language model: `%{SWITCH}` in a notebook, `{SWITCH}` in a terminal.\n\n"
ENGLISH_ONLY: Final = "I understand questions in English only; names of columns and values may be in any language.\n\n"
_OTHER_LANGUAGES: Final = words_of(
    "wie was welche welcher welches wer wann warum wieviel viele hoch sind ist und oder der die das den dem pro nach "
    "für im gesamt gesamte combien quel quelle quels quelles est les des cuánto cuánta cuál cuáles qué los las por "
    "para quanto quale quali sono della delle welk welke hoeveel zijn"
)
_ORDER: Final = get_args(Basis)


@dataclass(frozen=True)
class AnswerPart:
    """The answer to one question in Markdown, with its basis. The agent saves `table`, if there is one, as a file.

    `limited` is True if the answer uses only the rows of a table that match conditions.
    """

    text: str
    basis: AnswerBasis
    table: Result | None = None
    limited: bool = False


def result(basis: Basis, headline: str, values: Sequence[str], rest: str, table: Result | None = None) -> AnswerPart:
    """Return an answer with a result: a headline, which is its only bold text, followed by the Markdown `rest`."""
    line = label(headline, HEADLINE_CHARS)
    return AnswerPart(
        f"**{escape(line)}**\n\n{rest}", AnswerBasis(basis=basis, headline=line, values=list(values)), table
    )


def language_note(unused: Sequence[str]) -> str:
    """If the unused words are not English, return a note that the agent understands only English, else ""."""
    return ENGLISH_ONLY if len(_OTHER_LANGUAGES.intersection(word.casefold() for word in unused)) > 1 else ""


def without_result(basis: Basis, text: str) -> AnswerPart:
    return AnswerPart(text, AnswerBasis(basis=basis))


def join_bases(parts: Sequence[AnswerBasis]) -> AnswerBasis | None:
    """Return one basis for the answers to all questions: the basis of the first result, with the values of all results.

    If no result exists, return the basis whose kind comes first in `wire.runs.Basis`, or None if no basis exists.
    """
    results = [part for part in parts if part.basis in RESULTS]
    if results:
        values = [value for part in results for value in part.values]
        return AnswerBasis(basis=results[0].basis, headline=results[0].headline, values=values)
    return min(parts, key=lambda part: _ORDER.index(part.basis), default=None)


WRAPPED_CHARS: Final = 60


def code(text: str) -> str:
    """Return the text as a Markdown code span, delimited by more backticks than the text contains.

    Remove control characters and direction marks, which could disguise a file's name or reverse the text around it.

    >>> code("sum(price)"), code("a\u202egnp.md")
    ('`sum(price)`', '`agnp.md`')
    """
    flat = label(text, len(text)) or " "
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", flat)), default=0))
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def block(text: str, info: str = FOLDED) -> str:
    """Return the text as a Markdown code block. By default, viewers may collapse it (`documents.markdown`)."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{info}\n{text}\n{fence}\n\n"


def quote(text: str, source: str) -> str:
    """Return a Markdown blockquote followed by its source. Line breaks stay, except in wrapped paragraphs."""
    lines = [line.strip() for line in plain(text).splitlines() if line.strip()]
    breaks = ["\n> " if _is_wrapped(line, after) else "\\\n> " for line, after in pairwise(lines)]
    body = "".join(escape(line) + end for line, end in zip(lines, [*breaks, ""], strict=True))
    return f"> {body}\n\n— {source}\n\n"


def _is_wrapped(line: str, after: str) -> bool:
    """Return True if the line `after` probably continues a paragraph that was wrapped at the end of `line`."""
    return len(line) >= WRAPPED_CHARS and after[0].isalnum() and not after[0].isdigit()


class Voice:
    """Streams Markdown as the run's output, and counts each word as a token.

    The message and quoted passages count as input tokens, and the streamed text as output tokens.
    """

    def __init__(self, turn: RunContext) -> None:
        self._turn = turn

    async def say(self, text: str) -> None:
        # Reserve the money first, so that a reached limit ends the run before the text is streamed.
        await self._turn.hold(0, words(text))
        await self._turn.say(text)
        self._turn.use(0, words(text))

    async def count_input(self, text: str) -> None:
        """Count the words of a text that the agent has read."""
        await self._turn.hold(words(text), 0)
        self._turn.use(words(text), 0)


def words(text: str) -> int:
    return len(text.split())
