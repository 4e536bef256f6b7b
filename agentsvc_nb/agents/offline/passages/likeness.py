"""Passages near to a question by sentence embeddings: a better measure than `nearness`, where there is a model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from agentsvc_nb.agents.offline.embeddings.vectors import Embeddings, Vectors
from agentsvc_nb.agents.offline.passages.nearness import scores
from agentsvc_nb.agents.offline.passages.splitting import SENTENCE_CHARS, Passage, sentences

PROSE_MAX: Final = 300
ROWS_MAX: Final = 20
"""Passages that are embedded for a question, 25 ms each; of more, those that are nearest by their words."""
LOOKED_AT: Final = 24
"""Of these, passages whose sentences are compared one by one, too."""
_COVERED: Final = 0.1
"""Weight of the question's words that a passage has, beside the likeness of both."""
_NEAR: Final = 0.2
_NEARLY: Final = 0.6
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
    scored = await asyncio.to_thread(scores, question, passages, covered)
    compared = [passage for passage, _ in scored if passage.is_prose][:PROSE_MAX]
    compared += [passage for passage, _ in scored if not passage.is_prose][:ROWS_MAX]
    texts = [_with_title(passage) for passage in compared]
    vectors = await embeddings.of([question, *texts])
    asked = vectors[question]
    first = _ranked(
        {
            passage: _cosine(asked, vectors[text]) + _COVERED * covered.get(passage, 0.0)
            for passage, text in zip(compared, texts, strict=True)
            if text in vectors
        }
    )
    parts = {passage: _sentences(passage) for passage in first[:LOOKED_AT]}
    said = {**vectors, **await embeddings.of([one for some in parts.values() for one in some])}
    found = {
        passage: (_cosine(asked, said[_with_title(passage)]) + _nearest(asked, some, said)) / 2
        + _COVERED * covered.get(passage, 0.0)
        for passage, some in parts.items()
    }
    best = max(found.values(), default=0.0)
    return [one for one in _ranked(found)[:limit] if found[one] >= max(_NEAR, _NEARLY * best)]


def _ranked(found: Mapping[Passage, float]) -> list[Passage]:
    return sorted(found, key=lambda passage: -found[passage])


def _with_title(passage: Passage) -> str:
    return "\n".join((*passage.headings[-1:], passage.text))[:SENTENCE_CHARS]


def _sentences(passage: Passage) -> list[str]:
    return [one for one in sentences(passage.text) if len(one) >= _SAYING_CHARS] or [passage.text]


def _nearest(asked: Vectors, texts: Sequence[str], vectors: Mapping[str, Vectors]) -> float:
    """The likeness of the nearest text; 0 when there was no time for any of them."""
    return max((_cosine(asked, vectors[one]) for one in texts if one in vectors), default=0.0)


def _cosine(one: Vectors, other: Vectors) -> float:
    return float(np.dot(one, other)) if one.shape == other.shape else 0.0
