"""German compounds as the words that they are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final

from agentsvc_nb.agents.offline.languages.german import GERMAN
from agentsvc_nb.agents.offline.languages.language import Vocabulary
from agentsvc_nb.agents.offline.tables.question import Word

_PART_MIN: Final = 3
_JOINTS: Final = ("", "s", "n", "en", "es", "e")
"""What may stand between two parts."""
_NAMES: Final = frozenset(("name", "nummer", "nr", "datum", "art", "typ", "code"))
_OPERATIONS: Final = frozenset(("op", "share", "count", "along", "difference", "ratio", "distinct", "sup"))


def parted(words: Sequence[Word], language: Vocabulary, stands: Callable[[str], bool]) -> list[Word]:
    """Words of a question; those that no table has (`stands`) in parts, what is computed first: `Umsatzanteil` is
    `Anteil Umsatz`."""
    return [part for word in words for part in _parted(word, language, stands)]


def _parted(word: Word, language: Vocabulary, stands: Callable[[str], bool]) -> Iterator[Word]:
    [written, *more] = word.tokens or ("",)
    if language.code != "de" or word.quoted or more or language.knows(written) or stands(written):
        yield word
        return
    parts = _divided(written)
    if len(parts) == 1:
        yield word
        return
    if len(parts) == 2 and any(part in _OPERATIONS for part, _ in language.phrases.get((parts[1],), ())):
        parts = parts[::-1]
    for part in parts:
        for one in language.compounds.get(part, part).split():
            yield Word(one, (one,))


def opened(header: Sequence[str]) -> tuple[str, ...]:
    """The folded words of a header, compounds divided."""
    return tuple(part for word in header for part in ((word,) if GERMAN.knows(word) else _divided(word)))


@cache
def _divided(word: str) -> tuple[str, ...]:
    """The two parts of a word, the longest second one that is known; itself, if there are none."""
    for at in range(_PART_MIN, len(word) - _PART_MIN + 1):
        head, tail = word[:at], word[at:]
        if _is_second(tail) and (first := _first(head)):
            return (first, tail)
    return (word,)


def _is_second(word: str) -> bool:
    operations = {part for part, _ in GERMAN.phrases.get((word,), ())}
    return (word,) in GERMAN.nouns or word in _NAMES or not operations.isdisjoint(_OPERATIONS)


def _first(word: str) -> str:
    if word in GERMAN.compounds:
        return word
    for joint in _JOINTS:
        noun = word.removesuffix(joint)
        if word.endswith(joint) and len(noun) >= _PART_MIN and (noun,) in GERMAN.nouns:
            return noun
    return ""
