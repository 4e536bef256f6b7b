"""Queries in the language of FTS5's MATCH. A token is written behind the bucket of its chat and one character of these.

Tokens hold neither quotes nor blanks, so that nothing needs escaping.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from agentsvc_nb.service.rules.indexing import TOP_LEVEL
from agentsvc_nb.service.rules.search import Phrase, Query

WORD: Final = "w"
FILE_NAME: Final = "f"
OWN_NAME: Final = "m"
"""The member's own name for the file. Levels are digits."""


def by_words(bucket: str, query: Query) -> str:
    """The files whose contents answer the query."""
    return _but(bucket, query, _all(bucket + WORD, query))


def by_name(bucket: str, query: Query) -> str:
    """The files of which one name, by itself, answers the query."""
    return _but(bucket, query, f"{_all(bucket + FILE_NAME, query)} OR {_all(bucket + OWN_NAME, query)}")


def by_level(bucket: str, query: Query, floor: int) -> str:
    """Of the files whose contents answer the query, those that have one of its words at the level `floor` or above.

    The levels come first: FTS5 goes through what is leftmost and looks the rest up.
    """
    levels = range(floor, TOP_LEVEL + 1)
    strong = " OR ".join(f'"{bucket}{level}{token}"{star}' for level in levels for token, star in _tokens(query))
    one_word_is_enough = len(query.groups) == 1 and all(len(phrase.tokens) == 1 for phrase in query.groups[0])
    return _but(bucket, query, strong if one_word_is_enough else f"({strong}) AND {_all(bucket + WORD, query)}")


def _but(bucket: str, query: Query, wanted: str) -> str:
    """Less the files that hold an exclusion, in their contents or in a name."""
    if not query.exclusions:
        return wanted
    return f"({wanted}) NOT {_any([bucket + tag for tag in (WORD, FILE_NAME, OWN_NAME)], query.exclusions)}"


def _tokens(query: Query) -> Iterator[tuple[str, str]]:
    """Each token that is looked for, with a star when it is a prefix."""
    for phrase in chain.from_iterable(query.groups):
        *whole, last = phrase.tokens
        yield from ((token, "") for token in whole)
        yield last, " *" if phrase.open else ""


def _all(tag: str, query: Query) -> str:
    return "(" + " AND ".join(_any([tag], group) for group in query.groups) + ")"


def _any(tags: Iterable[str], phrases: Iterable[Phrase]) -> str:
    return "(" + " OR ".join(_phrase(tag, phrase) for tag in tags for phrase in phrases) + ")"


def _phrase(tag: str, phrase: Phrase) -> str:
    return '"' + " ".join(tag + token for token in phrase.tokens) + '"' + (" *" if phrase.open else "")
