"""A question about the files, answered with quoted passages (docs/api/models.md "offline")."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.agents.offline.embeddings import EmbeddingError, Embeddings
from agentsvc_nb.agents.offline.library import Library, title_tokens
from agentsvc_nb.agents.offline.passages.corpus import Corpus, CorpusReading
from agentsvc_nb.agents.offline.passages.nearness import most_alike, nearest
from agentsvc_nb.agents.offline.passages.ranking import Scored, Wanted, choose, rank, terms_of
from agentsvc_nb.agents.offline.passages.splitting import Passage
from agentsvc_nb.agents.offline.requests import is_english
from agentsvc_nb.agents.offline.words import phrases
from agentsvc_nb.agents.offline.writing import AnswerPart, code, quote, without_result
from agentsvc_nb.documents.safe_text import escape
from agentsvc_nb.wire.limits import INDEXED_TEXT_BYTES, MB
from agentsvc_nb.wire.text import plain

PASSAGES_MAX: Final = 5
PARTLY_MAX: Final = 2
"""Passages shown for having a part of the question's words, where meaning can't be compared."""
WORDS_SHOWN: Final = 12


@dataclass(frozen=True)
class Found:
    """What was found for a question: passages that answer it, or (`guessed`) that are only near in meaning. Of its
    words, no file holds the `absent` ones. Of the files `cut` only the beginning was read. `fault`: why meanings could
    not be compared."""

    words: Sequence[str]
    passages: Sequence[Passage]
    guessed: bool = False
    absent: Sequence[str] = ()
    cut: Sequence[str] = ()
    fault: str = ""


async def passages_for(
    question: str,
    library: Library,
    corpus: Corpus,
    limit: int,
    cited: Collection[str],
    embeddings: Embeddings | None = None,
) -> Found:
    """At most `limit` passages that answer the question; `cited` are paths quoted before. Without `embeddings`, single
    words are compared by their meaning."""
    named = library.named(question)
    wanted = Wanted.of(question, but=title_tokens(named))
    looked_for = [*(f'"{phrase}"' for phrase in phrases(question)), *wanted.words]
    reading = await corpus.read(library.entries, named, wanted.stems, looked_for)
    ranking = await asyncio.to_thread(rank, wanted, reading, named)
    if chosen := choose(ranking.scored, limit, cited):
        return Found(wanted.words, _in_order(chosen))
    # From here on nothing is claimed: what follows is shown as near, with the words that no file has.
    held, absent = await _parted(wanted, ranking.absent, reading, corpus)
    meant = await asyncio.to_thread(_suited, wanted, reading.passages, named)
    near, fault = await _near(question, meant, ranking.scored, limit, embeddings)
    return Found([*held, *absent], near, guessed=True, absent=absent, cut=reading.cut, fault=fault)


def _suited(wanted: Wanted, passages: Sequence[Passage], named: Collection[str]) -> list[Passage]:
    return [one for one in passages if (not named or one.path in named) and wanted.suits(one)]


async def _near(
    question: str,
    passages: Sequence[Passage],
    scored: Sequence[Scored],
    limit: int,
    embeddings: Embeddings | None,
) -> tuple[list[Passage], str]:
    """The passages nearest in meaning, else those with much of the words; and why meanings could not be compared by
    `embeddings`."""
    covered = {one.passage: one.covered for one in scored}
    found, fault = list[Passage](), ""
    if limit and embeddings and (not embeddings.english_only or is_english(question)):
        try:
            found = await most_alike(question, passages, limit, covered, embeddings)
        except EmbeddingError as error:
            fault = str(error)
    found = found or await asyncio.to_thread(nearest, question, passages, limit, covered)
    return found or [one.passage for one in scored if one.partly][: min(limit, PARTLY_MAX)], fault


async def _parted(
    wanted: Wanted, stems: Collection[str], reading: CorpusReading, corpus: Corpus
) -> tuple[list[str], list[str]]:
    """The words of the question that some file has, and those that are nowhere; one of which neither is known is in
    none of them."""
    # Of files that were not read the search knows; of a word that it can't look for nothing is said.
    lacking = [word for word in wanted.words if set(terms_of(word)) <= set(stems)]
    known = {word: False if reading.whole else await corpus.knows(word) for word in lacking}
    held = [word for word in wanted.words if known.get(word, True)]
    return held, [word for word in lacking if known[word] is False]


def _in_order(chosen: Sequence[Scored]) -> list[Passage]:
    """The passages of the best file first; those of a file that answer alike in the file's order."""
    paths = list(dict.fromkeys(one.passage.path for one in chosen))
    chosen = sorted(chosen, key=lambda one: (paths.index(one.passage.path), -round(one.score, 1), one.passage.line))
    return [one.passage for one in chosen]


def answer(found: Found) -> AnswerPart:
    """The passages under one line that says where they are from. Nothing of it is bold: it is no result."""
    quoted = "".join(quote(passage.text, source(passage)) for passage in found.passages)
    count = "1 passage" if len(found.passages) == 1 else f"{len(found.passages)} passages"
    if found.guessed:
        near = f"Near, and perhaps no answer: {count}\n\n{quoted}" if found.passages else ""
        return without_result("near" if found.passages else "nothing", _not_found(found) + near)
    paths = list(dict.fromkeys(passage.path for passage in found.passages))
    head = f"{_listed(found.words)}: {count} from {_and(paths)}\n\n"
    return without_result("quoted", head + quoted)


def source(passage: Passage) -> str:
    """The source of a passage as Markdown: `brief.md`, line 12, under “Audience”."""
    under = f", under “{escape(plain(passage.headings[-1]))}”" if passage.headings else ""
    return f"{code(passage.path)}, {passage.place}{under}"


def _not_found(found: Found) -> str:
    """Which words no file holds, and which are somewhere in the files, but in no passage that would answer."""
    held = [word for word in found.words if word not in found.absent]
    cut = (
        f"Read was only the first {INDEXED_TEXT_BYTES // MB} MB of text of {_and(found.cut)}.\n\n" if found.cut else ""
    )
    if not held:
        return nothing(found.words) + cut
    apart = f"No passage answers this. The files have {_listed(held)}"
    if not found.absent:
        return f"{apart}, but not in one passage that covers the question.\n\n{cut}"
    return f"{nothing(found.absent)}{apart}.\n\n{cut}"


def nothing(words: Sequence[str]) -> str:
    return f"nothing found for: {_listed(words) or '(no words to look for)'}\n\n"


def _and(paths: Sequence[str]) -> str:
    return " and ".join(map(code, paths))


def _listed(words: Sequence[str]) -> str:
    return escape(", ".join(words[:WORDS_SHOWN]) + (", …" if len(words) > WORDS_SHOWN else ""))
