"""Passages near to a question in meaning, for where none has its words: by vectors of single words, or of whole
sentences where there is a model of them. Always a guess."""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Final

import numpy as np

from agentsvc_nb.agents.offline.embeddings import Embeddings
from agentsvc_nb.agents.offline.passages.splitting import SENTENCE_CHARS, TEXTS_KEPT, Passage, sentences
from agentsvc_nb.agents.offline.words import STOP, Vectors, meanings, stem
from agentsvc_nb.documents.queries import tokens
from agentsvc_nb.tools.support import stopping

PASSAGES_COMPARED: Final = 5_000
_WORDS_COVERED: Final = 0.1
"""Weight of the words that question and passage share, beside the nearness of all."""
_WORDS_NEAR: Final = 0.36
"""A lower score is no nearer than any two texts are: when the nearest passage has less, none is shown."""
_FEW, _FEW_NEAR = 2, 0.46
"""The same for questions and remarks of so few words, of which each decides: `lovely` is near to `loved`."""
_NAME_LACKING: Final = 0.85
"""The factor of all passages when the question has a name that none of them has: another one's are mostly no answer."""
_OF_ANOTHER: Final = 0.4
"""A passage with this part of the question's words that lacks its name says it of another one."""
_WORDS_NEARLY: Final = 0.7
"""Passages with at least this part of the nearest one's score are shown, too: which of them answers is a guess."""
_ROW: Final = 0.8
"""The factor of rows of tables: being short, they are near to much, and what is asked in other words than theirs is
mostly said in prose."""
_WHOLE: Final = 0.55
"""Weight of the likeness of the whole texts; the rest is how near each word of the question is to its nearest word."""
_SENTENCE: Final = 0.4
"""Weight of a passage's nearest sentence, beside that of the passage: what answers is said in one, ..."""
_SENTENCES_OF: Final = 100
"""... which is compared in this many passages, the nearest."""
_FAR, _SAME = 0.2, 0.7
"""Two words with a likeness of `_FAR` or less have nothing in common; of `_SAME` or more, they mean the same."""
_TOGETHER: Final = 500
"""Texts that are compared at once."""
_NAME = re.compile(r"(?<!^)(?<![.?!] )\b[A-Z]\w+")


def nearest(
    question: str, passages: Sequence[Passage], limit: int, covered: Mapping[Passage, float] = MappingProxyType({})
) -> list[Passage]:
    """At most `limit` passages, nearest in meaning first; `covered` is how much of the question's own words a passage
    has. None when the question has no English words, or nothing is near."""
    names = _names(question)
    scored = [
        (passage, score)
        for passage, score in scores(question, passages, covered)
        if covered.get(passage, 0.0) < _OF_ANOTHER or names <= _passage_stems(passage)
    ]
    if not scored:
        return []
    held = {word for passage, _ in scored for word in _passage_stems(passage)} if names else set[str]()
    best = scored[0][1]
    near = _FEW_NEAR if len(_words(question)) <= _FEW else _WORDS_NEAR
    if best * (_NAME_LACKING if names - held else 1.0) <= near:
        return []
    return [passage for passage, score in scored[:limit] if score >= _WORDS_NEARLY * best]


def scores(question: str, passages: Sequence[Passage], covered: Mapping[Passage, float]) -> list[tuple[Passage, float]]:
    """The passages, nearest first, each with a score; none when the question or the passages have no words."""
    asked = _words(question)
    compared = [passage for passage in passages if passage.kind != "title"][:PASSAGES_COMPARED]
    texts = [_passage_words(passage) for passage in compared]
    if not asked or not any(texts):
        return []
    factors = np.array([_ROW if one.kind == "row" else 1.0 for one in compared], np.float32)
    shared = np.array([covered.get(one, 0.0) for one in compared], np.float32)
    found = _with_sentences(asked, compared, _scores(asked, texts)) * factors + _WORDS_COVERED * shared
    return [(compared[row], float(found[row])) for row in np.argsort(-found, kind="stable")]


def _with_sentences(asked: Sequence[str], compared: Sequence[Passage], whole: Vectors) -> Vectors:
    """The scores of the passages, those of prose together with their nearest sentence."""
    prose = np.array([one.is_prose for one in compared])
    first = [row for row in np.argsort(-np.where(prose, whole, -1.0), kind="stable")[:_SENTENCES_OF] if prose[row]]
    said = [(row, words) for row in first for one in sentences(compared[row].text) if (words := _words(one))]
    nearest = np.zeros(len(compared), np.float32)
    if said:
        for (row, _), score in zip(said, _scores(asked, [words for _, words in said]), strict=True):
            nearest[row] = max(nearest[row], score)
    return np.asarray(np.where(prose, (1 - _SENTENCE) * whole + _SENTENCE * nearest, whole), np.float32)


def _passage_words(passage: Passage) -> Sequence[str]:
    return _words(" ".join((passage.text, *passage.headings[-1:])))


def _passage_stems(passage: Passage) -> set[str]:
    return {stem(word) for word in _passage_words(passage)}


def _words(text: str) -> Sequence[str]:
    stopping.check()
    return _kept_words(text)


@lru_cache(maxsize=TEXTS_KEPT)
def _kept_words(text: str) -> Sequence[str]:
    return tuple(token for token in dict.fromkeys(tokens(text)) if token not in STOP)


def _names(question: str) -> set[str]:
    """The stems of words written like names, which no other word can replace."""
    return {stem(token) for name in _NAME.findall(question) for token in tokens(name)}


def _scores(asked: Sequence[str], texts: Sequence[Sequence[str]]) -> Vectors:
    """How near each text is to the question in meaning, from 0 to 1. Rare words count more, as they do in `rank`."""
    held = Counter(word for words in texts for word in words)
    places = {word: place for place, word in enumerate(held)}
    known, wanted = meanings().of(list(held)), meanings().of(asked)
    weights, asking = _rarity(list(held), held, len(texts)), _rarity(asked, held, len(texts))
    # Most pairs of words have some likeness: the scale begins where it means something.
    alike = np.clip((wanted @ known.T - _FAR) / (_SAME - _FAR), 0, 1)
    for row, word in enumerate(asked):
        if word in places:
            alike[row, places[word]] = 1
    sense, found = _unit((wanted * asking[:, None]).sum(axis=0)), np.zeros(len(texts), np.float32)
    weighted = known * weights[:, None]
    rows = [row for row, words in enumerate(texts) if words]
    for first in range(0, len(rows), _TOGETHER):
        stopping.check()
        some = rows[first : first + _TOGETHER]
        at = [places[word] for row in some for word in texts[row]]
        starts = np.cumsum([0, *(len(texts[row]) for row in some[:-1])])
        whole = _unit(np.add.reduceat(weighted[at], starts)) @ sense
        each = asking @ np.maximum.reduceat(alike[:, at], starts, axis=1) / asking.sum()
        found[some] = _WHOLE * np.maximum(whole, 0) + (1 - _WHOLE) * each
    return found


def _rarity(words: Sequence[str], held: Counter[str], count: int) -> Vectors:
    return np.array([math.log(1 + (count - held[word] + 0.5) / (held[word] + 0.5)) for word in words], np.float32)


def _unit(vectors: Vectors) -> Vectors:
    """The vectors, or the one, with a length of 1."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-6), np.float32)


_PROSE_MAX: Final = 300
_ROWS_MAX: Final = 8
"""Passages that are compared; of more, those that are nearest by their words, ..."""
_EMBEDDED: Final = 64
"""... and of those that were not before, as many are embedded for one question, 25 ms each."""
_LOOKED_AT: Final = 20
"""Of these, passages whose sentences are compared one by one, too."""
_SENTENCES_COVERED: Final = 0.1
"""Weight of the question's words that a passage has, beside the likeness of both."""
_SENTENCES_NEAR: Final = 0.2
_SENTENCES_NEARLY: Final = 0.6
"""Passages with this part of the best one's score are shown, too."""
_SAYING_CHARS: Final = 9
"""A shorter sentence, as the number of a paragraph, says nothing by itself."""


async def most_alike(
    question: str,
    passages: Sequence[Passage],
    limit: int,
    covered: Mapping[Passage, float],
    embeddings: Embeddings,
) -> list[Passage]:
    """At most `limit` passages, the most alike first. Raises `EmbeddingError`."""
    # Vectors of words choose what is embedded: an embedding takes 20 ms, a comparison of words next to nothing.
    scored = await asyncio.to_thread(scores, question, passages, covered)
    compared = [passage for passage, _ in scored if passage.is_prose][:_PROSE_MAX]
    compared += [passage for passage, _ in scored if not passage.is_prose][:_ROWS_MAX]
    texts = [_with_title(passage) for passage in compared]
    vectors = await embeddings.of([question, *texts], anew=_EMBEDDED)
    asked = vectors[question]
    first = _ranked(
        {
            passage: _cosine(asked, vectors[text]) + _SENTENCES_COVERED * covered.get(passage, 0.0)
            for passage, text in zip(compared, texts, strict=True)
            if text in vectors
        }
    )
    parts = {passage: _sentences(passage) for passage in first[:_LOOKED_AT]}
    said = {**vectors, **await embeddings.of([one for some in parts.values() for one in some])}
    found = {
        passage: (_cosine(asked, said[_with_title(passage)]) + _nearest_sentence(asked, some, said)) / 2
        + _SENTENCES_COVERED * covered.get(passage, 0.0)
        for passage, some in parts.items()
    }
    best = max(found.values(), default=0.0)
    return [one for one in _ranked(found)[:limit] if found[one] >= max(_SENTENCES_NEAR, _SENTENCES_NEARLY * best)]


def _ranked(found: Mapping[Passage, float]) -> list[Passage]:
    return sorted(found, key=lambda passage: -found[passage])


def _with_title(passage: Passage) -> str:
    return "\n".join((*passage.headings[-1:], passage.text))[:SENTENCE_CHARS]


def _sentences(passage: Passage) -> list[str]:
    return [one for one in sentences(passage.text) if len(one) >= _SAYING_CHARS] or [passage.text]


def _nearest_sentence(asked: Vectors, texts: Sequence[str], vectors: Mapping[str, Vectors]) -> float:
    """The likeness of the nearest text; 0 when there was no time for any of them."""
    return max((_cosine(asked, vectors[one]) for one in texts if one in vectors), default=0.0)


def _cosine(one: Vectors, other: Vectors) -> float:
    return float(np.dot(one, other)) if one.shape == other.shape else 0.0
