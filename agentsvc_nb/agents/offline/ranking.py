"""Which passages answer a question best: ranked by its words, weighted by rarity, or else by nearness in meaning."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from agentsvc_nb.agents.offline.words import LIGHT_STEMS, STOP, Vectors, content_words, meanings, phrases, stem, stems
from agentsvc_nb.formats.queries import tokens
from agentsvc_nb.formats.safe_text import HEADING, blocks
from agentsvc_nb.formats.tables.plain import is_table, parse
from agentsvc_nb.tools import stopping

PASSAGE_CHARS: Final = 600
_PROSE_WORDS: Final = 8
_SENTENCE_ENDS: Final = (".", "!", "?", "…", "。", "！", "？")

_MUCH = f".{{1,{PASSAGE_CHARS}}}"
_CHUNK = re.compile(rf"(?s){_MUCH}(?:(?<=[.!?。！？])\s+|$)|{_MUCH}(?:\s+|$)|{_MUCH}")


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a file that can be quoted. `place` is such as `page 2, line 12` or `row 3`; `headings` are those above
    it, outermost first."""

    path: str
    place: str
    text: str
    headings: tuple[str, ...] = ()

    @property
    def is_prose(self) -> bool:
        """Whether it reads like sentences, and not like a title or a row of a table."""
        if self.place.startswith("row "):
            return False
        return self.text.rstrip(" \"'”“»)*_").endswith(_SENTENCE_ENDS) or len(self.text.split()) >= _PROSE_WORDS


def passages(path: str, media_type: str, text: str) -> list[Passage]:
    """The passages of a file's readable text, in order. Lines and rows are counted from 1."""
    if is_table(path, media_type) and (table := parse(path, text)):
        return [
            Passage(path, f"row {number}", _row(table.columns, row))
            for number, row in enumerate(table.rows, 1)
            if any(row)
        ]
    pages = text.split("\f")
    found: list[Passage] = []
    for number, page in enumerate(pages, 1):
        prefix = f"page {number}, " if len(pages) > 1 else ""
        found += _prose(path, page, prefix)
    return found


def _row(columns: Sequence[str], row: Sequence[str]) -> str:
    return " · ".join(f"{column}: {cell}" for column, cell in zip(columns, row, strict=True) if cell)


def _prose(path: str, text: str, prefix: str) -> Iterator[Passage]:
    """The passages of a text that is no table. A heading without text below it is a passage by itself."""
    trail: dict[int, str] = {}
    alone: Passage | None = None
    for line, block in blocks(text):
        heading = HEADING.fullmatch(block)
        if heading:
            level, title = len(heading[1]), heading[2].rstrip("#").strip() or heading[2]
            if alone:
                yield alone
            alone = Passage(path, f"{prefix}line {line}", title, tuple(trail.values()))
            trail = {above: title for above, title in trail.items() if above < level} | {level: title}
            continue
        alone = None
        for piece in _CHUNK.findall(block) if len(block) > PASSAGE_CHARS else [block]:
            yield Passage(path, f"{prefix}line {line}", piece.strip(), tuple(trail.values()))
    if alone:
        yield alone


STEMS_MAX: Final = 60
"""A whole page pasted as a question is searched for by its first words."""
_HEADING_WEIGHT: Final = 0.6
_PREFIX_WEIGHT: Final = 0.4
_FRAGMENT_WEIGHT: Final = 0.6
"""Factor for titles and rows of tables: being short, they score high, but an answer is more often a sentence."""
_FAVOUR: Final = 5.0
_SECOND_FILE_FLOOR: Final = 0.1
_TOLD_SHARE: Final = 0.5
_TOLD_WORDS: Final = 3
"""A passage answers when its words have half of the weight of the question's words, or are at least this many."""
_FLOOR: Final = 0.3
"""Passages below this part of the best score are left out."""
_FRAGMENT_FLOOR: Final = 0.75
"""The same for titles and rows when the best passage is a sentence."""


@dataclass(frozen=True)
class Wanted:
    """The search terms of a question: word stems, and exact phrases as tokens."""

    words: Sequence[str]
    stems: Sequence[str]
    phrases: Sequence[list[str]] = field(default_factory=list)

    @classmethod
    def of(cls, question: str, but: Collection[str] = ()) -> Wanted:
        """The search terms of a question, without words whose tokens are in `but` (names of files that are read
        anyway)."""
        words = [word for word in content_words(question) if not set(tokens(word)) <= set(but)]
        found = [stem(token) for word in words for token in tokens(word) if token not in STOP]
        return cls(words, list(dict.fromkeys(found))[:STEMS_MAX], [tokens(phrase) for phrase in phrases(question)])


@dataclass(frozen=True, slots=True)
class Scored:
    score: float
    passage: Passage
    told: bool = True
    """Whether it has enough of the question's words to answer it, and not just one of them by chance."""


def rank(wanted: Wanted, passages: Iterable[Passage], favoured: Collection[str] = ()) -> list[Scored]:
    """Passages that hold some of the wanted words, best first; scores in files of `favoured` paths count fivefold."""
    weighed = [(passage, _weights(wanted, passage)) for passage in passages]
    holding = Counter(word for _, weights in weighed for word in weights)
    # Inverse document frequency as in BM25, over these passages.
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
    stopping.check()
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
    """Whether the passage is ASCII and has none of the stems: a quick test that spares most passages the folding."""
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
    """At most `limit` passages, none twice. When two files match, at least two are quoted (docs/api/models.md); `cited`
    are the paths that the answer has quoted already."""
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
    """The passages without repetitions of a text within one file."""
    return list({(one.passage.path, " ".join(one.passage.text.split())): one for one in reversed(ranked)}.values())[
        ::-1
    ]


PASSAGES_COMPARED: Final = 5_000
_NEAR: Final = 0.46
"""A lower score is no nearer than any two texts are: when the nearest passage has less, none is shown."""
_NEARLY: Final = 0.75
"""Passages with at least this part of the nearest one's score are shown, too: which of them answers is a guess."""
_WHOLE: Final = 0.7
"""Weight of the likeness of the whole texts; the rest is how near each word of the question is to its nearest word."""
_FAR, _SAME = 0.2, 0.8
"""Two words with a likeness of `_FAR` or less have nothing in common; of `_SAME` or more, they mean the same."""
_NAME = re.compile(r"(?<!^)(?<![.?!] )\b[A-Z]\w+")


def nearest(question: str, passages: Sequence[Passage], limit: int) -> list[Passage]:
    """At most `limit` passages of sentences, nearest in meaning first. None when the question has a name that no
    passage has, or no English words."""
    asked = _words(question)
    prose = [passage for passage in passages if passage.is_prose][:PASSAGES_COMPARED]
    texts = [_words(" ".join((passage.text, *passage.headings[-1:]))) for passage in prose]
    if not asked or not any(texts) or _names(question) - {stem(word) for words in texts for word in words}:
        return []
    scores = _scores(asked, texts)
    order = np.argsort(-scores, kind="stable")[:limit]
    best = scores[order[0]]
    return [prose[row] for row in order if scores[row] >= _NEARLY * best] if best > _NEAR else []


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
