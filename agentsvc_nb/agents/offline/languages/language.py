"""A language as data, and how the modules of data write it down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from agentsvc_nb.agents.offline.languages.cells import VALUES
from agentsvc_nb.agents.offline.languages.headers import NOUNS, STATES
from agentsvc_nb.formats.normalization import tokens

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
) -> Vocabulary:
    """A language of its data: phrases divided by `|`, words by blanks, sets of nouns by lines; `contracted` are forms
    that the last word of a phrase may have, as `de` has `du`; `articles` may begin a superlative."""
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
    return Vocabulary(
        code, phrases, frozenset(tokens(light)), sets, frozenset(tokens(levels)), frozenset(tokens(unsummed)),
        _translations(code, NOUNS + STATES), _translations(code, STATES + VALUES),
        {"".join(tokens(part)): " ".join(tokens(meant)) for part, meant in parts},
    )  # fmt: skip


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
    return found
