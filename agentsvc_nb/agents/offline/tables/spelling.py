"""Mistyped words of a question, mended by the one word of the table or of the language that is near."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from agentsvc_nb.agents.offline.languages.language import Vocabulary
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.agents.offline.tables.question import Word, edits
from agentsvc_nb.agents.offline.words import meanings

_LETTERS_MIN: Final = 5
_SHORT: Final = 4
"""Shorter words have to have the same letters, in another order."""
_PARTS: Final = ("op", "count", "most", "sup", "than", "distinct", "share", "cmp", "month", "weekday", "top", "bottom")


def mended(asked: Sequence[Word], links: TableLinks) -> tuple[list[Word], tuple[str, ...]]:
    """The words, those mended that nobody writes so, and sentences that tell it."""
    made: list[Word] = []
    told: list[str] = []
    for word in asked:
        meant = _meant(word, links)
        if meant:
            told.append(f"{word.text} was read as {meant}.")
        made.append(Word(meant, (meant,)) if meant else word)
    return made, tuple(told)


def _meant(word: Word, links: TableLinks) -> str:
    """Two words at the same distance are a guess, and so is a word that may be a name."""
    written = word.tokens[0] if len(word.tokens) == 1 and not word.quoted else ""
    language = links.language
    if len(written) < _SHORT or not written.isalpha() or meanings().spells(written) or language.knows(written):
        return ""
    if links.stands(written) or links.links((word,)) or links.is_title(written) or any(links.mistyped(word, language)):
        return ""
    found = _nearest(written, _here(links)) or _nearest(written, _known(language))
    return found if len(written) >= _LETTERS_MIN or sorted(found) == sorted(written) else ""


def _nearest(written: str, words: Iterable[str]) -> str:
    near = {word: far for word in words if (far := edits(written, word)) is not None}
    least = min(near.values(), default=0)
    best = [word for word, far in near.items() if far == least]
    return best[0] if len(best) == 1 else ""


def _here(links: TableLinks) -> frozenset[str]:
    """The longer words of headers, values and titles."""
    return _long(links.value_words() | links.vocabulary | links.title_words)


def _long(words: Iterable[str]) -> frozenset[str]:
    return frozenset(word for word in words if len(word) >= _SHORT and word.isalpha())


def _known(language: Vocabulary) -> frozenset[str]:
    """What is computed, and nouns of rows; other words of the language are too many to tell which is meant."""
    parts = (phrase for phrase, meant in language.phrases.items() if any(part in _PARTS for part, _ in meant))
    return _long({*(word for phrase in parts for word in phrase), *language.rows})
