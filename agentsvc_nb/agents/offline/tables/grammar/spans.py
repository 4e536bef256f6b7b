"""The meanings that a span of words may have, and what others ask of the words before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.agents.offline.languages.language import PHRASE_MAX, Vocabulary
from agentsvc_nb.agents.offline.tables.grammar.rules import Item
from agentsvc_nb.agents.offline.tables.linking import ALIKE, EXACT, FORM, PART, TRANSLATED, Link, TableLinks
from agentsvc_nb.agents.offline.tables.question import Word

WORD: Final = 1.0
LIGHT_BESIDES: Final = 0.5
"""A word that may have a meaning is rather read as one that has."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the links of a single word tell of it."""

    any: bool
    known: bool
    """It is a value, or a header by more than its sense."""
    done: bool
    named: bool
    exact: bool
    """It is a header as it stands."""
    amount: bool
    """It is the header of an amount as it stands, so that it is never without a meaning."""
    translated: bool
    nearest: float
    """How far the nearest header of texts is; 0 without one."""


def told_by(found: Sequence[Link], links: TableLinks) -> Told:
    texts = [one for one in found if one.cell is None and links.profile(one.column).kind == "text"]
    return Told(
        any=bool(found),
        known=any(not PART <= one.distance < ALIKE or one.cell is not None for one in found),
        done=any(one.cell is not None or PART < one.distance < ALIKE for one in found),
        named=any(one.distance < FORM for one in found),
        exact=any(one.distance == EXACT and one.cell is None for one in found),
        amount=any(
            one.distance == EXACT and one.cell is None and links.adds_up(links.profile(one.column)) for one in found
        ),
        translated=any(one.cell is not None and one.distance == TRANSLATED for one in found),
        nearest=min((one.distance for one in texts), default=0.0),
    )


Meaning = tuple[Item, int, float]
"""An item, how many words it has, and how far it is from them."""


def is_count(before: Sequence[Word], language: Vocabulary) -> bool:
    """Whether the words end with those that count: `how many`."""
    ends = (phrase_of(before[-length:]) for length in range(1, PHRASE_MAX + 1))
    return any(part == "count" for phrase in ends for part, _ in language.phrases.get(phrase, ()))


def is_counting(words: Sequence[Word], language: Vocabulary) -> bool:
    spans = (words[at : at + length] for at in range(len(words)) for length in (1, 2))
    return any(part == "count" for span in spans for part, _ in language.phrases.get(phrase_of(span), ()))


def phrase_of(words: Sequence[Word]) -> tuple[str, ...]:
    return tuple(token for one in words for token in one.tokens)
