"""A question about the files, answered with quoted passages (docs/api/models.md "offline")."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.agents.offline.basis import AnswerPart, without_result
from agentsvc_nb.agents.offline.ranking import Passage, Wanted, choose, nearest, rank
from agentsvc_nb.agents.offline.tables.library import Library
from agentsvc_nb.agents.offline.words import phrases
from agentsvc_nb.agents.offline.writing import code, quote
from agentsvc_nb.formats.queries import tokens
from agentsvc_nb.formats.safe_text import escape

PASSAGES_MAX: Final = 5
OPENING_PASSAGES: Final = 3
WORDS_SHOWN: Final = 12


@dataclass(frozen=True)
class Found:
    """A question's search terms and the passages found. `guessed`: they lack its words, and are only near in
    meaning."""

    wanted: Wanted
    passages: Sequence[Passage]
    guessed: bool = False


async def passages_for(question: str, library: Library, limit: int, cited: Collection[str]) -> Found:
    """At most `limit` passages that answer the question; `cited` are paths quoted before.

    A question that names files and nothing else (`Summarise brief.md`) is answered with how they begin.
    """
    named = library.named(question)
    wanted = Wanted.of(question, but=_title_tokens(named))
    if not wanted.stems:
        return Found(wanted, await _openings(library, named, limit))
    paths = await library.find(wanted.words, phrases(question))
    found = await library.read([*dict.fromkeys([*named, *paths])])
    ranked = await asyncio.to_thread(rank, wanted, found, named)
    if chosen := choose(ranked, limit, cited):
        return Found(wanted, _in_order(chosen, found))
    return Found(wanted, await asyncio.to_thread(nearest, question, found, limit), guessed=True)


def _in_order(chosen: Sequence[Passage], found: Sequence[Passage]) -> list[Passage]:
    """The passages of the best file first, and those of each file in the file's order."""
    paths = list(dict.fromkeys(passage.path for passage in chosen))
    return sorted(chosen, key=lambda passage: (paths.index(passage.path), found.index(passage)))


async def _openings(library: Library, named: Sequence[str], limit: int) -> list[Passage]:
    """How the named files begin, or a passage of each file when none is named."""
    paths = named or [entry.path for entry in library.entries]
    each = max(1, min(OPENING_PASSAGES, limit // max(1, len(paths))))
    found = [passage for path in paths for passage in (await library.read([path]))[:each]]
    return found[:limit]


def answer(found: Found) -> AnswerPart:
    """The passages under one line that says where they are from. Nothing of it is bold: it is no result."""
    if not found.passages:
        return without_result("nothing", nothing(found.wanted))
    paths = list(dict.fromkeys(passage.path for passage in found.passages))
    count = "1 passage" if len(found.passages) == 1 else f"{len(found.passages)} passages"
    about = f"{_listed(found.wanted.words)}: " if found.wanted.stems else ""
    head = f"{about}{count} from {' and '.join(code(path) for path in paths)}\n\n"
    if found.guessed:
        head = f"{nothing(found.wanted)}Near in meaning, and perhaps no answer: {count}\n\n"
    quoted = "".join(quote(passage.text, source(passage)) for passage in found.passages)
    return without_result("near" if found.guessed else "quoted", head + quoted)


def source(passage: Passage) -> str:
    """The source of a passage as Markdown: `brief.md`, line 12, under “Audience”."""
    under = f", under “{escape(passage.headings[-1])}”" if passage.headings else ""
    return f"{code(passage.path)}, {passage.place}{under}"


def nothing(wanted: Wanted) -> str:
    return f"nothing found for: {_listed(wanted.words) or '(no words to look for)'}\n\n"


def _listed(words: Sequence[str]) -> str:
    return escape(", ".join(words[:WORDS_SHOWN]) + (", …" if len(words) > WORDS_SHOWN else ""))


def _title_tokens(paths: Sequence[str]) -> set[str]:
    return {token for path in paths for token in (*tokens(path.rsplit("/", 1)[-1]), *tokens(path))}
