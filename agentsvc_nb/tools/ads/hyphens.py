"""Where a word may be parted at the end of a line: between its syllables, as its language has them."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyphen import Pyphen

_LETTERS = re.compile(r"[^\W\d_]+")
_LEAST: Final = 3
"""Letters that stay together at either end of a word."""
_DICTIONARIES: Final = {"de": "de_DE", "en": "en_US", "fr": "fr", "es": "es"}
_OF_SCRIPTS: Final = {"GREEK": "el_GR", "CYRILLIC": "ru_RU"}


def joints(word: str, language: str) -> list[int]:
    """After how many of its characters the word may be parted. A word of no known language is taken for German, which
    has most of the words that are too long for a line.

    >>> joints("Krankenversicherung", "de")
    [4, 7, 10, 12, 15]
    """
    found = {at for at in range(1, len(word)) if word[at - 1] in "-–/" and word[at].isalnum()}
    for run in _LETTERS.finditer(word):
        found.update(run.start() + at for at in _dictionary(_name(run[0], language)).positions(run[0]))
    return sorted(found)


def _name(word: str, language: str) -> str:
    script = unicodedata.name(word[0], "").partition(" ")[0]
    return _OF_SCRIPTS.get(script) or _DICTIONARIES.get(language, _DICTIONARIES["de"])


@lru_cache(maxsize=8)
def _dictionary(name: str) -> Pyphen:
    """The patterns of a language; a megabyte at most, read when they are first needed."""
    from pyphen import Pyphen

    return Pyphen(lang=name, left=_LEAST, right=_LEAST)
