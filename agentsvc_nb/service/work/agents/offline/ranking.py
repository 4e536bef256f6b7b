"""Which passages answer a question best: rare words count more, and so do passages that hold more of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from agentsvc_nb.service.rules.search import tokens
from agentsvc_nb.service.work.agents.offline.passages import Passage
from agentsvc_nb.service.work.agents.offline.words import LIGHT_STEMS, STOP, phrases, stem, stems, telling

STEMS_MAX: Final = 60
"""A whole page pasted as a question is looked for by its first words."""
_HEADING_WEIGHT: Final = 0.6
_PREFIX_WEIGHT: Final = 0.4
_FRAGMENT_WEIGHT: Final = 0.6
"""Titles and rows of tables hold few words and so weigh much for their length; an answer is more often a sentence."""
_FAVOUR: Final = 5.0
_SECOND_FILE_FLOOR: Final = 0.1
_TOLD_SHARE: Final = 0.5
_TOLD_WORDS: Final = 3
"""A passage answers when it has half of what the question's words weigh, or so many of them."""
_FLOOR: Final = 0.3
"""Passages below this part of the best one's score are left out."""
_FRAGMENT_FLOOR: Final = 0.75
"""The same for titles and rows where a sentence answers."""


@dataclass(frozen=True)
class Wanted:
    """What is looked for: word stems, and exact phrases as tokens."""

    words: Sequence[str]
    stems: Sequence[str]
    phrases: Sequence[list[str]] = field(default_factory=list)

    @classmethod
    def of(cls, question: str, but: Collection[str] = ()) -> Wanted:
        """From a question, without the words whose tokens are in `but` (names of files that are read anyway)."""
        words = [word for word in telling(question) if not set(tokens(word)) <= set(but)]
        found = [stem(token) for word in words for token in tokens(word) if token not in STOP]
        return cls(words, list(dict.fromkeys(found))[:STEMS_MAX], [tokens(phrase) for phrase in phrases(question)])


@dataclass(frozen=True, slots=True)
class Scored:
    score: float
    passage: Passage
    told: bool = True
    """Whether it has enough of the question to answer it, and not one of its words by chance."""


def rank(wanted: Wanted, passages: Iterable[Passage], favoured: Collection[str] = ()) -> list[Scored]:
    """Passages that hold some of what is wanted, best first; those of `favoured` paths count fivefold."""
    weighed = [(passage, _weights(wanted, passage)) for passage in passages]
    holding = Counter(word for _, weights in weighed for word in weights)
    rarity = {word: math.log(1 + (len(weighed) - count + 0.5) / (count + 0.5)) for word, count in holding.items()}
    unheard = math.log(1 + 2 * (len(weighed) + 0.5))
    whole = sum(rarity.get(word, 0.0) for word in wanted.stems) or 1.0
    all_told = sum(rarity.get(word, 0.0 if word in LIGHT_STEMS else unheard) for word in wanted.stems)
    found = []
    for passage, weights in weighed:
        if weights:
            held = sum(rarity[word] for word in weights)
            covered = held / whole
            whole_words = [word for word, weight in weights.items() if weight != _PREFIX_WEIGHT]
            enough = sum(rarity[word] for word in whole_words) >= _TOLD_SHARE * all_told
            told = enough or len(whole_words) >= _TOLD_WORDS
            score = sum(rarity[word] * weight for word, weight in weights.items()) * (0.3 + 0.7 * covered)
            score *= _phrase_factor(wanted, passage) * (_FAVOUR if passage.path in favoured else 1.0)
            score *= 1.0 if passage.is_prose else _FRAGMENT_WEIGHT
            found.append(Scored(score, passage, told))
    return sorted(found, key=lambda one: -one.score)


def _weights(wanted: Wanted, passage: Passage) -> dict[str, float]:
    """How much the passage holds of each word, from 0 to 1; words it lacks are left out."""
    if _plainly_without(wanted, passage):
        return {}
    body, above = Counter(stems(passage.text)), set(stems(" ".join(passage.headings)))
    length = 0.5 + 0.5 * sum(body.values()) / 60
    found = {}
    for word in wanted.stems:
        count = body[word]
        weight = count / (count + 0.6 * length) if count else 0.0
        if not weight and len(word) >= 4 and any(token.startswith(word) for token in body):
            weight = _PREFIX_WEIGHT
        weight = max(weight, _HEADING_WEIGHT if word in above else 0.0)
        if weight:
            found[word] = weight
    return found


def _plainly_without(wanted: Wanted, passage: Passage) -> bool:
    """A quick refusal for the many passages that hold nothing: folding is needed only beyond ASCII."""
    whole = "\n".join((passage.text, *passage.headings))
    return whole.isascii() and not any(word in lowered for lowered in [whole.lower()] for word in wanted.stems)


def _phrase_factor(wanted: Wanted, passage: Passage) -> float:
    if not wanted.phrases:
        return 1.0
    words = tokens(" ".join((*passage.headings, passage.text)))
    held = sum(1 for phrase in wanted.phrases if _holds(words, phrase))
    return 0.3 + 1.7 * held / len(wanted.phrases)


def _holds(words: list[str], phrase: list[str]) -> bool:
    size = len(phrase)
    return any(words[at : at + size] == phrase for at in range(len(words) - size + 1))


def choose(ranked: Sequence[Scored], limit: int, cited: Collection[str] = ()) -> list[Passage]:
    """At most `limit` passages, none twice. When two files match, at least two are quoted (contract §9); `cited` are
    those that the answer has quoted already."""
    if not any(one.told for one in ranked):
        return []
    best = ranked[0]
    fragments = _FRAGMENT_FLOOR if best.passage.is_prose else _FLOOR
    floors = ((one, _FLOOR if one.passage.is_prose else fragments) for one in ranked)
    good = _unlike([one for one, floor in floors if one.score >= floor * best.score])
    chosen = good[:limit]
    paths = {one.passage.path for one in chosen} | set(cited)
    matching = [one for one in ranked if one.score >= _SECOND_FILE_FLOOR * ranked[0].score]
    other = next((one for one in matching if one.passage.path not in paths), None)
    if limit > 1 and len(paths) < 2 and other:
        chosen = [*chosen[: limit - 1], other]
    return [one.passage for one in chosen]


def _unlike(ranked: Sequence[Scored]) -> list[Scored]:
    """Without repetitions of a text within one file."""
    return list({(one.passage.path, " ".join(one.passage.text.split())): one for one in reversed(ranked)}.values())[
        ::-1
    ]
