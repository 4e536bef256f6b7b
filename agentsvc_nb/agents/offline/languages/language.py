"""A language as data: what its words mean in questions about tables, by which words a message wants something else, and
how a question goes on from the one before; and how the modules of data write it down."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from agentsvc_nb.agents.offline.languages.cells import VALUES
from agentsvc_nb.agents.offline.languages.headers import NOUNS, STATES
from agentsvc_nb.documents.normalization import tokens

Meaning = tuple[str, str]
"""The part that a phrase plays in a question (`op`, `cmp`, `not`), and which one (`sum`, `>`)."""
Phrase = tuple[str, ...]
"""Folded words."""
PHRASE_MAX: Final = 6
"""Words of the longest phrase."""
_CODES: Final = ("en", "de", "fr", "es")
"""The languages in the order of a line of translations."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """`phrases` are folded words and what they may mean, `light` words add no meaning, `alike` are nouns that name the
    same thing in headers and in questions; `nouns` and `values` are what headers and cells may say instead."""

    code: str
    phrases: Mapping[Phrase, tuple[Meaning, ...]]
    light: frozenset[str]
    alike: tuple[frozenset[str], ...]
    levels: frozenset[str]
    """Nouns of numbers of which the largest is rather meant than their sum, as populations."""
    unsummed: frozenset[str]
    """Nouns of numbers that have no sum, as prices."""
    nouns: Mapping[Phrase, frozenset[Phrase]]
    values: Mapping[Phrase, frozenset[Phrase]]
    compounds: Mapping[str, str]
    """Words that are part of one with a noun, and what they mean there."""
    verbs: Mapping[Phrase, str] = field(default_factory=dict)
    """Verbs of `how much did we ...`, and what they ask for."""
    rows: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Nouns for rows, and words of headers of which a table has some where its rows are called so."""
    ties: Mapping[str, tuple[Phrase, ...]] = field(default_factory=dict)
    """Verbs that only tie rows to a value of a column, and what such a column is called."""

    def knows(self, word: str) -> bool:
        return word in self.light or any((word,) in known for known in (self.phrases, self.nouns, self.values))


def language(
    code: str,
    meanings: Mapping[str, str],
    light: str,
    alike: str,
    levels: str,
    unsummed: str,
    months: str,
    weekdays: str,
    numbers: str,
    compounds: str = "",
    contracted: str = "",
    articles: str = "",
    verbs: Mapping[str, str] | None = None,
    rows: str = "",
    ties: str = "",
) -> Vocabulary:
    """A language of its data: phrases divided by `|`, words by blanks, sets of nouns by lines; `contracted` are forms
    that the last word of a phrase may have, as `de` has `du`; `articles` may begin a superlative; `ties` are verbs, and
    behind `=` nouns divided by commas."""
    forms = {one: others.split() for one, _, others in (line.partition("=") for line in contracted.split("|"))}
    found: dict[Phrase, list[Meaning]] = {}
    for meaning, written in meanings.items():
        part, _, which = meaning.partition(":")
        for phrase in written.split("|"):
            *first, last = tuple(tokens(phrase)) or (phrase,)
            for one in (last, *(forms.get(last, ()) if first else ())):
                for before in ((), *((article,) for article in articles.split() if part in ("sup", "implied"))):
                    found.setdefault((*before, *first, one), []).append((part, which))
    for part, written in (("month", months), ("weekday", weekdays), ("number", numbers)):
        for place, names in enumerate(written.split("|"), 0 if part == "number" else 1):
            for name in names.split():
                found.setdefault(tuple(tokens(name)), []).append((part, str(place)))
    found.pop((), None)
    sets = tuple(
        frozenset(tokens(group)) for line in alike.strip().splitlines() for group in line.strip(" |").split(" | ")
    )
    phrases = {phrase: tuple(dict.fromkeys(some)) for phrase, some in found.items()}
    parts = (one.split("=") for one in compounds.split("|") if one)
    tied = (one.split("=") for one in ties.split("|") if one)
    return Vocabulary(
        code, phrases, frozenset(tokens(light)), sets, frozenset(tokens(levels)), frozenset(tokens(unsummed)),
        _translations(code, NOUNS + STATES), _translations(code, STATES + VALUES),
        {"".join(tokens(part)): " ".join(tokens(meant)) for part, meant in parts},
        {tuple(tokens(verb)): what for what, some in (verbs or {}).items() for verb in some.split("|")},
        _row_nouns(rows),
        {verb: tuple(tuple(tokens(noun)) for noun in nouns.split(","))
         for verbs, nouns in tied for verb in tokens(verbs)},
    )  # fmt: skip


def _row_nouns(written: str) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for line in filter(None, written.strip().split(" |\n")):
        nouns, _, signs = line.partition(":")
        for noun in tokens(nouns):
            found[noun] = found.get(noun, frozenset()) | frozenset(tokens(signs))
    return found


def _translations(code: str, lines: str) -> dict[Phrase, frozenset[Phrase]]:
    """What each phrase of the language is called elsewhere; synonyms of English nouns are `alike`, where they are."""
    found: dict[Phrase, frozenset[Phrase]] = {}
    for places in _lines(lines):
        own = places[_CODES.index(code)]
        there = {phrase for place in places if code != "en" or place is not own for phrase in place}
        for phrase in own:
            found[phrase] = found.get(phrase, frozenset()) | (there - {phrase})
    return found


def _lines(lines: str) -> Iterator[list[list[Phrase]]]:
    for line in filter(None, lines.replace("\n    ", " ").splitlines()):
        yield [[tuple(tokens(phrase)) for phrase in place.split(",")] for place in line.split("|")]


@cache
def in_english(word: str) -> frozenset[str]:
    """What single words of headers mean in English."""
    return _english().get(word, frozenset())


@cache
def _english() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for english, *others in _lines(NOUNS):
        meant = frozenset(phrase[0] for phrase in english if len(phrase) == 1)
        for word in (phrase[0] for place in others for phrase in place if len(phrase) == 1):
            found[word] = found.get(word, frozenset()) | meant
    return {word: meant - _AS_VERBS.get(word, frozenset()) for word, meant in found.items()}


_AS_VERBS: Final[dict[str, frozenset[str]]] = {"kosten": frozenset(("price", "prices"))}
"""What words of headers, which are nouns, mean in questions as verbs alone: `was kosten die Zelte` asks for prices, and
a column `Kosten` has none, so that it adds up."""


ANY: Final = "*"
"""In a phrase: up to six words."""


@dataclass(frozen=True)
class Requests:
    """Folded phrases, divided by `|`; `*` in one stands for up to six words.

    markers: words that occur in no other of our languages, and so tell the language of a question.
    polite: what may stand before a command. commands: what needs a model when a message begins with it; infinitives:
    when a question that begins politely ends with it. verbs need one of `objects` behind them, makers one of `texts`.
    opinions: what asks for a judgement anywhere, judged: as the last word of a question that begins with `is_it`.
    describes: what asks for a description of one of `pictures`. summaries: what asks for a summary, at the beginning;
    shapes: words that say how it is to look. amounts: beginnings of questions whose answer holds a number or a time;
    numbers: words that are one. prices: beginnings of questions whose answer is an amount of money; free: what says
    that there is nothing to pay; named: beginnings of questions whose answer is a name. irregular: forms of a word
    whose beginning differs, the word first.
    """

    markers: str
    polite: str
    commands: str
    infinitives: str
    verbs: str
    objects: str
    makers: str
    texts: str
    opinions: str
    is_it: str
    judged: str
    describes: str
    pictures: str
    summaries: str
    shapes: str
    amounts: str
    numbers: str
    prices: str = ""
    free: str = ""
    named: str = ""
    irregular: str = ""


def phrases_of(data: str) -> list[str]:
    """The phrases of a field as they are compared: folded, words divided by a blank.

    >>> phrases_of("qu'est-ce que|résume")
    ['qu est ce que', 'resume']
    """
    return [" ".join(ANY if word == ANY else " ".join(tokens(word)) for word in one.split()) for one in data.split("|")]


_LEADS_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class FollowingWords:
    """Phrases, divided by `|`: `leads` begin what goes on from the question before, `of_them` speaks of its result,
    `theirs` does within a question, `instead` takes one thing for another, and `compares` asks for both, which is none
    of this. `refers` are words that may stand with a chart of it (`draw it`), `best` and
    `worst` judge, which takes more than a number where less is better."""

    leads: str
    of_them: str
    theirs: str
    instead: str
    compares: str
    refers: str
    best: str
    worst: str

    def without_lead(self, text: str) -> tuple[str, bool]:
        """The text without what begins it, and whether something did."""
        found = re.match(rf"[\s¿¡]*(?:(?:{_any(self.leads)})(?![\w'’])[\s,:]*){{1,{_LEADS_MAX}}}", text, re.IGNORECASE)
        return (text[found.end() :], True) if found else (text, False)

    def without(self, phrases: str, text: str) -> tuple[str, bool]:
        """The text without any of the phrases, and whether it had one."""
        left = re.sub(rf"(?<!\w)(?:{_any(phrases)})(?!\w)", " ", text, flags=re.IGNORECASE)
        return left, left != text

    def only_refers(self, text: str) -> bool:
        """Whether the text says nothing beside what it is about: the result before."""
        known = {*tokens(self.refers), *tokens(self.leads)}
        return all(word in known for word in tokens(text))


def _any(phrases: str) -> str:
    longest_first = sorted(phrases.split("|"), key=len, reverse=True)
    return "|".join(re.escape(phrase).replace(r"\ ", r"\s+").replace("'", "['’]") for phrase in longest_first)
