"""What words mean in headers that are in another language, or made of other words; and words that say little there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from agentsvc_nb.agents.offline.tables.columns import UNITS
from agentsvc_nb.agents.offline.tables.question import alike
from agentsvc_nb.documents.normalization import tokens

NAMING_WORDS: Final = frozenset(tokens("name title names titles nom nombre bezeichnung id nr no code number"))
PARTICLES: Final = frozenset(tokens("de du des d la le l les der die das den von el los las del of the"))
PER: Final = frozenset(tokens("per pro je par por"))


def is_unit(word: str, header: Sequence[str]) -> bool:
    """Whether a word of a header is a unit, which needs no saying; `Min` before a noun is no minute."""
    return word in UNITS and (word != "min" or header[0] != "min")


def met(phrases: Iterable[tuple[str, ...]], header: Sequence[str]) -> list[str]:
    """The words of a header that one of the phrases has, the first in any form; none, if no phrase stands there."""
    for at, phrase in enumerate(phrases):
        same = (lambda one, other: one == other) if at else alike
        found = [next((one for one in header if same(word, one)), "") for word in phrase if word not in PARTICLES]
        if found and all(found) and len(set(found)) == len(found):
            return found
    return []


def translated(phrase: tuple[str, ...], header: tuple[str, ...]) -> float | None:
    """How much farther than words that are alike a header is from what words mean elsewhere; other forms of it are no
    sign there. Of several words they have to mean the last, unless it goes on with a particle: `Kosten` is no
    `Cost centre`."""
    if not set(phrase) <= set(header):
        return None
    rest = [word for word in header if not is_unit(word, header) and word not in NAMING_WORDS]
    if set(rest) <= set(phrase):
        return 0.0
    is_head = rest[-1] in phrase or not PARTICLES.isdisjoint(rest)
    return 0.5 if is_head and PER.isdisjoint(header) else None
