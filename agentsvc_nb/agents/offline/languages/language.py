"""A language as data, and how the modules of data write it down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.formats.normalization import tokens

Meaning = tuple[str, str]
"""The part that a phrase plays in a question (`op`, `cmp`, `not`), and which one (`sum`, `>`)."""
PHRASE_MAX: Final = 5
"""Words of the longest phrase."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """`phrases` are folded words and what they may mean, `light` words add no meaning, `alike` are nouns that name the
    same thing in headers and in questions."""

    code: str
    phrases: Mapping[tuple[str, ...], tuple[Meaning, ...]]
    light: frozenset[str]
    alike: tuple[frozenset[str], ...]
    levels: frozenset[str]
    """Nouns of numbers of which the largest is rather meant than their sum, as populations."""
    unsummed: frozenset[str]
    """Nouns of numbers that have no sum, as prices."""

    def knows(self, word: str) -> bool:
        return word in self.light or (word,) in self.phrases


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
) -> Vocabulary:
    """A language of its data: phrases divided by `|`, words by blanks, sets of nouns by lines."""
    found: dict[tuple[str, ...], list[Meaning]] = {}
    for meaning, written in meanings.items():
        part, _, which = meaning.partition(":")
        for phrase in written.split("|"):
            found.setdefault(tuple(tokens(phrase)) or (phrase,), []).append((part, which))
    for part, written in (("month", months), ("weekday", weekdays), ("number", numbers)):
        for place, names in enumerate(written.split("|"), 0 if part == "number" else 1):
            for name in names.split():
                found.setdefault(tuple(tokens(name)), []).append((part, str(place)))
    found.pop((), None)
    sets = tuple(frozenset(tokens(line)) for line in alike.strip().splitlines())
    phrases = {phrase: tuple(dict.fromkeys(some)) for phrase, some in found.items()}
    return Vocabulary(
        code, phrases, frozenset(tokens(light)), sets, frozenset(tokens(levels)), frozenset(tokens(unsummed))
    )
