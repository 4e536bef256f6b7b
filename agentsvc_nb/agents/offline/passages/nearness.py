"""Passages near to a question in meaning, for where none has its words: a second ranking, and always a guess.

A better measure of meaning takes the place of `_scores`; the bounds belong to the measure.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np

from agentsvc_nb.agents.offline.passages.splitting import Passage
from agentsvc_nb.agents.offline.words import STOP, Vectors, meanings, stem
from agentsvc_nb.formats.queries import tokens
from agentsvc_nb.tools import stopping

PASSAGES_COMPARED: Final = 5_000
_COVERED: Final = 0.1
"""Weight of the words that question and passage share, beside the nearness of all."""
_NEAR: Final = 0.46
"""A lower score is no nearer than any two texts are: when the nearest passage has less, none is shown."""
_NEARLY: Final = 0.8
"""Passages with at least this part of the nearest one's score are shown, too: which of them answers is a guess."""
_ROW: Final = 0.9
"""The factor of rows of tables: being short, they are near to much."""
_WHOLE: Final = 0.7
"""Weight of the likeness of the whole texts; the rest is how near each word of the question is to its nearest word."""
_FAR, _SAME = 0.2, 0.8
"""Two words with a likeness of `_FAR` or less have nothing in common; of `_SAME` or more, they mean the same."""
_NAME = re.compile(r"(?<!^)(?<![.?!] )\b[A-Z]\w+")


def nearest(
    question: str, passages: Sequence[Passage], limit: int, covered: Mapping[Passage, float] = MappingProxyType({})
) -> list[Passage]:
    """At most `limit` passages, nearest in meaning first; `covered` is how much of the question's own words a passage
    has. None when the question has a name that no passage has, or no English words."""
    asked = _words(question)
    compared = [passage for passage in passages if passage.kind != "title"][:PASSAGES_COMPARED]
    texts = [_words(" ".join((passage.text, *passage.headings[-1:]))) for passage in compared]
    if not asked or not any(texts) or _names(question) - {stem(word) for words in texts for word in words}:
        return []
    factors = np.array([_ROW if one.kind == "row" else 1.0 for one in compared], np.float32)
    shared = np.array([covered.get(one, 0.0) for one in compared], np.float32)
    scores = _scores(asked, texts) * factors + _COVERED * shared
    order = np.argsort(-scores, kind="stable")[:limit]
    best = scores[order[0]]
    return [compared[row] for row in order if scores[row] >= _NEARLY * best] if best > _NEAR else []


def _words(text: str) -> list[str]:
    stopping.check()
    return [token for token in dict.fromkeys(tokens(text)) if token not in STOP]


def _names(question: str) -> set[str]:
    """The stems of words written like names, which no other word can replace."""
    return {stem(token) for name in _NAME.findall(question) for token in tokens(name)}


def _scores(asked: Sequence[str], texts: Sequence[Sequence[str]]) -> Vectors:
    """How near each text is to the question in meaning, from 0 to 1. Rare words count more, as they do in `rank`."""
    held = Counter(word for words in texts for word in words)
    places = {word: place for place, word in enumerate(held)}
    known, wanted = meanings().of(list(held)), meanings().of(asked)
    weights, asking = _rarity(list(held), held, len(texts)), _rarity(asked, held, len(texts))
    alike = np.clip((wanted @ known.T - _FAR) / (_SAME - _FAR), 0, 1)
    for row, word in enumerate(asked):
        if word in places:
            alike[row, places[word]] = 1
    sense, found = _unit((wanted * asking[:, None]).sum(axis=0)), np.zeros(len(texts), np.float32)
    for row, words in enumerate(texts):
        stopping.check()
        if words:
            at = [places[word] for word in words]
            whole = _unit((known[at] * weights[at, None]).sum(axis=0)) @ sense
            each = alike[:, at].max(axis=1) @ asking / asking.sum()
            found[row] = _WHOLE * max(float(whole), 0.0) + (1 - _WHOLE) * each
    return found


def _rarity(words: Sequence[str], held: Counter[str], count: int) -> Vectors:
    return np.array([math.log(1 + (count - held[word] + 0.5) / (held[word] + 0.5)) for word in words], np.float32)


def _unit(vector: Vectors) -> Vectors:
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-6), np.float32)
