"""Which passages answer a question best: ranked by how much of it they cover, its rare words counting most."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Final

from agentsvc_nb.agents.offline.passages import expecting
from agentsvc_nb.agents.offline.passages.corpus import CorpusReading
from agentsvc_nb.agents.offline.passages.splitting import TEXTS_KEPT, Passage, sentences
from agentsvc_nb.agents.offline.requests import base_forms, expects, function_words, language_of
from agentsvc_nb.agents.offline.words import LIGHT, STOP, content_words, phrases, stem
from agentsvc_nb.documents.normalization import fold
from agentsvc_nb.documents.queries import tokens
from agentsvc_nb.tools.support import stopping

STEMS_MAX: Final = 60
"""A whole page pasted as a question is searched for by its first words."""

# What a passage holds of a word, from 0 to 1, by where it stands.
_IN_HEADING: Final = 0.8
_IN_COMPOUND: Final = 0.7
_IN_NAME: Final = 0.5
_LIGHT: Final = 0.25
"""The weight of a word that ties a row to its values (`guests came in May`)."""
_TITLE: Final = 0.6
"""The factor of titles, which name what they do not say."""
_FAVOUR: Final = 1.5
"""The factor of files that the question names."""

_TOLD: Final = 0.7
"""A passage that covers less of the question's words does not answer it, ..."""
_TOLD_TOGETHER: Final = 0.65
"""... nor one whose best sentence, with its headings, covers less."""
_FEW: Final = 3
"""Of so few words each is what the question is about: none may be lacking."""
_FLOOR: Final = 0.7
"""Passages below this part of the best score are left out, ..."""
_MATCHING: Final = 0.45
"""... but for the best of a second file that covers this much. Where none answers, such passages are near."""

_NAME = re.compile(r"(?<!^)(?<![.?!:] )\b[A-Z][\w-]*\w")
_TEXTS_REPEATED: Final = 256
"""Headings, columns and names of files that many passages have."""
_NUMBER = re.compile(r"\d")
_LIGHT_WORDS: Final = LIGHT - {"name"}
_LEADING = re.compile(
    r"^\s*[Nn]ame\b|\bmay\b|^\s*May(?= (?:I|you|we|they|he|she|it|one|someone|anyone|the|an?|my|our|your|\w+ be)\b)"
)
"""Words that say little as they stand: `name the rivals`, `when may I` (but not May)."""
_COLUMN = re.compile(r"(?:^|(?<=· ))[^:·]+:(?= )")
_ELIDED = re.compile(r"\b(?:qu|[cdjlmnst])['’](?=\w)|['’]s\b", re.I)
"""Articles and endings that are written as a part of a word: `d'apprentis`, `Nora's`."""
_DECIMAL = re.compile(r"\d+(?:[.,:]\d+)+")
_YEAR = re.compile(r"(?:19|20)\d\d")
_THOUSANDS = re.compile(r"(?<=\d)[,.](?=\d{3}(?!\d))")


def term(token: str) -> str:
    """A folded word as questions and passages are compared: the stem of its base form (`sold` is `sell`)."""
    found = stem(token)
    return base_forms().get(found, found)


@dataclass(frozen=True)
class Wanted:
    """The search terms of a question: its words as written, their stems, and exact phrases as tokens. `required` are
    stems of names and numbers, for which nothing else can stand, `light` those of words that say little (`came`);
    `modifiers` stand right before another of the words, which mean something else without them (`rented tents`);
    `expects` is what the answer must hold, beside what is `said` in the question, and `most` whether it must tell the
    most of something. `decimals` are numbers with a mark, as versions and times, which stand in no other number."""

    words: Sequence[str]
    stems: Sequence[str]
    phrases: Sequence[list[str]] = field(default_factory=list)
    required: frozenset[str] = frozenset()
    light: frozenset[str] = frozenset()
    modifiers: frozenset[str] = frozenset()
    expects: str = ""
    said: frozenset[str] = frozenset()
    most: bool = False
    decimals: frozenset[str] = frozenset()

    @classmethod
    def of(cls, question: str, but: Collection[str] = ()) -> Wanted:
        """The search terms of a question. Words whose tokens are in `but` (names of files that are read anyway) are
        light."""
        left = _LEADING.sub("", question)
        every = [word for word in content_words(left) if terms_of(word)]
        words = [word for word in every if not set(tokens(word)) <= set(but)]
        found = list(dict.fromkeys(one for word in every for one in terms_of(word)))[:STEMS_MAX]
        names = set[str]()
        if language_of(question) != "german":  # which writes all nouns with capitals
            names = {one for name in _NAME.findall(question) for one in terms_of(name)}
        numbers = {one for word in words if _NUMBER.search(word) for one in terms_of(word)}
        light = {one for word in every if _LIGHT_WORDS.issuperset(tokens(word)) for one in terms_of(word)}
        light |= {one for word in every if word not in words for one in terms_of(word)}
        quoted = [tokens(phrase) for phrase in phrases(question)]
        required = frozenset((names | numbers) & set(found))
        said = tokens(_joined(left))
        pairs = [(terms_of(one), terms_of(other)) for one, other in pairwise(said)]
        modifiers = {one[0] for one, other in pairs if one and other and one != other and other[0] not in light}
        return cls(
            words,
            found,
            quoted,
            required,
            frozenset(light),
            frozenset(modifiers),
            expects(question),
            frozenset(said),
            expecting.asks_for_most(question),
            frozenset(_DECIMAL.findall(_joined(left))),
        )

    @property
    def telling(self) -> frozenset[str]:
        """The stems that are not light; all of them when there are no others."""
        return frozenset(self.stems) - self.light or frozenset(self.stems)

    def suits(self, passage: Passage) -> bool:
        """Whether the passage holds what is asked for, as far as its kind goes: a number, or anything."""
        return self.expects not in ("number", "money") or expecting.holds_number(passage, self.said)

    def answered_in(self, passage: Passage, shares: Sequence[float]) -> bool:
        """Whether what is asked for is where the passage speaks of it; `shares`: of each sentence, how much it holds of
        the question's words."""
        if self.most and (passage.kind == "row" or not expecting.tells_most(passage.text)):
            return False
        if passage.kind == "row" and self.expects == "name":
            return True  # its columns say what is one
        return expecting.holds(self.expects, expecting.said_of(passage, shares), self.said)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Matches any of the stems: a quick test that spares most passages the folding."""
        forms = [form for form, base in base_forms().items() if base in self.stems]
        # An irregular form need not hold the stem of its base, as `sold` of `sell`.
        return re.compile("|".join(map(re.escape, (*self.stems, *forms))) or r"(?!)")


def terms_of(word: str) -> list[str]:
    whole = _ELIDED.sub(" ", _joined(word))
    return [term(token) for token in tokens(whole) if token not in STOP and token not in function_words()]


def _joined(text: str) -> str:
    """The text with its numbers in one piece: `77,000` is `77000`, and not found where `5,000` is."""
    return _THOUSANDS.sub("", text)


@dataclass(frozen=True, slots=True)
class Scored:
    """A passage and how much of the question it covers, from 0 to 1. `told`: enough to answer it; `partly`: much of it,
    with its names and numbers."""

    score: float
    passage: Passage
    covered: float
    told: bool
    partly: bool


@dataclass(frozen=True)
class Ranking:
    """The passages that hold some of a question's words, best first, and which of its stems no file holds."""

    scored: Sequence[Scored]
    absent: frozenset[str]


def rank(wanted: Wanted, reading: CorpusReading, favoured: Collection[str] = ()) -> Ranking:
    held = [(passage, found) for passage in reading.passages if (found := _held(wanted, passage))]
    weights = _weights(wanted, reading, held)
    whole = sum(weights.values()) or 1.0
    anywhere = {word for _, found in held for word in found} | set(+reading.holding)
    absent = frozenset(set(wanted.stems) - anywhere)
    scored = []
    for passage, found in held:
        covered = sum(weights[word] * share for word, share in found.items()) / whole
        together, shares = covered, [covered] * len(sentences(passage.text))
        if covered >= _TOLD_TOGETHER and passage.is_prose:
            shares = [_covered_by(wanted, passage, one, weights) / whole for one in sentences(passage.text)]
            together = max(shares)
        partly = covered >= _MATCHING and passage.kind != "title" and wanted.required <= set(found)
        told = covered >= _TOLD and together >= _TOLD_TOGETHER and _may_answer(wanted, passage, found, shares)
        # A word that no file holds is mostly the one that was asked for (decision 0044).
        told = told and not wanted.telling & (absent | wanted.modifiers - set(found))
        score = (
            (covered + together) / 2 * _phrase_factor(wanted, passage) * (_TITLE if passage.kind == "title" else 1.0)
        )
        score *= 1 + 0.05 * sum(found.values()) / (8 + len(passage.text.split()))  # of two alike, the shorter
        scored.append(Scored(score * (_FAVOUR if passage.path in favoured else 1.0), passage, covered, told, partly))
    return Ranking(sorted(scored, key=lambda one: -one.score), absent)


def _weights(
    wanted: Wanted, reading: CorpusReading, held: Sequence[tuple[Passage, Mapping[str, float]]]
) -> dict[str, float]:
    """The inverse document frequency of each stem; a stem that no passage holds is the rarest."""
    holding = reading.holding + Counter(word for _, found in held for word in found)
    count = len(reading.passages) + reading.others
    return {
        word: (1 + math.log((count + 1) / (min(holding[word], count) + 1))) * (_LIGHT if word in wanted.light else 1.0)
        for word in wanted.stems
    }


def _held(wanted: Wanted, passage: Passage) -> dict[str, float]:
    """How much the passage holds of each word; words it lacks are left out."""
    stopping.check()
    if not wanted.pattern.search(fold(_joined("\n".join((passage.text, *passage.headings, passage.path))))):
        return {}
    terms = _placed(passage)
    found = {}
    for word in wanted.stems:
        share = 1.0 if word in terms.body else _IN_HEADING if word in terms.above else 0.0
        if not share and len(word) >= 4 and word in terms.written:
            share = _IN_COMPOUND if any(_compounded(word, other) for other in terms.written.split()) else 0.0
        if share := share or (_IN_NAME if word in terms.named else 0.0):
            found[word] = share
    return found if set(found) - terms.named else {}


@dataclass(frozen=True, slots=True)
class _Placed:
    """The terms of a passage by where they stand: in it, above it (of a row the columns, too), in the file's name.
    `written`: the first two, with blanks between."""

    body: frozenset[str]
    above: frozenset[str]
    named: frozenset[str]
    written: str


@lru_cache(maxsize=TEXTS_KEPT)
def _placed(passage: Passage) -> _Placed:
    above = _terms(" ".join(passage.headings))
    body = _terms(passage.text)
    if passage.kind == "row":
        above = above | (columns := _terms(" ".join(_COLUMN.findall(passage.text))))
        body = _terms(_COLUMN.sub(" ", passage.text)) or columns
    return _Placed(body, above, _terms(passage.path.rpartition("/")[2]), " ".join(body | above))


def _compounded(word: str, other: str) -> bool:
    """Whether one word is a part of the other, as `Budget` of `Gesamtbudget`."""
    return len(other) > len(word) and (other.startswith(word) or (len(word) >= 5 and other.endswith(word)))


@lru_cache(maxsize=_TEXTS_REPEATED)
def _terms(text: str) -> frozenset[str]:
    return frozenset(term(token) for token in tokens(_joined(text)))


def _covered_by(wanted: Wanted, passage: Passage, sentence: str, weights: Mapping[str, float]) -> float:
    found = _held(wanted, Passage(passage.path, passage.place, sentence, passage.headings))
    return sum(weights[word] * share for word, share in found.items())


def _may_answer(wanted: Wanted, passage: Passage, found: Mapping[str, float], shares: Sequence[float]) -> bool:
    """Whether the passage has the names and numbers of the question, more than half of its words, all of a few, and
    something of the kind that it asks for."""
    if len(wanted.telling) <= _FEW and not wanted.telling <= set(found):
        return False
    if not wanted.answered_in(passage, shares) or not wanted.decimals <= _decimals(passage):
        return False
    if not wanted.required <= set(found) or 2 * len(wanted.telling & set(found)) <= len(wanted.telling):
        return False
    # The columns' names stand in each row, and the year in most.
    own = (word for word in wanted.telling & set(found) if found[word] == 1 and not _YEAR.fullmatch(word))
    return passage.kind != "row" or any(own)


def _decimals(passage: Passage) -> frozenset[str]:
    return frozenset(_DECIMAL.findall(_joined("\n".join((passage.text, *passage.headings)))))


def _phrase_factor(wanted: Wanted, passage: Passage) -> float:
    if not wanted.phrases:
        return 1.0
    words = tokens(" ".join((*passage.headings, passage.text)))
    held = sum(1 for phrase in wanted.phrases if _holds(words, phrase))
    return 0.3 + 0.7 * held / len(wanted.phrases)


def _holds(words: list[str], phrase: list[str]) -> bool:
    size = len(phrase)
    return any(words[at : at + size] == phrase for at in range(len(words) - size + 1))


def choose(ranked: Sequence[Scored], limit: int, cited: Collection[str] = ()) -> list[Scored]:
    """At most `limit` passages, none twice; none when none answers. When two files match, at least two are quoted
    (docs/api/models.md); `cited` are the paths that the answer has quoted already."""
    best = next((one for one in ranked if one.told), None)
    if best is None:
        return []
    good = _unlike([one for one in ranked if one.told and one.score >= _FLOOR * best.score])
    chosen = good[:limit]
    paths = {one.passage.path for one in chosen} | set(cited)
    other = next((one for one in ranked if one.partly and one.passage.path not in paths), None)
    # The last of the best passages gives way to one of a second file.
    if limit > 1 and len(paths) < 2 and other:
        chosen = [*chosen[: limit - 1], other]
    return chosen


def _unlike(ranked: Sequence[Scored]) -> list[Scored]:
    """The passages without repetitions of a text within one file."""
    return list({(one.passage.path, " ".join(one.passage.text.split())): one for one in reversed(ranked)}.values())[
        ::-1
    ]
