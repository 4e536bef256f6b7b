"""The tokens of a text for the full-text index.

A word's level says how dense it is in its text, from 1 to `TOP_LEVEL`; it is used when too many files match to rank
(docs/decisions/0011-search-at-scale.md).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import log2

from agentsvc_nb.formats.normalization import tokens

TOP_LEVEL = 9
_USUAL_TOKENS = 300
"""The length, in tokens, of a text in which a word that occurs once has level 0. BM25 would take the average length; a
constant does not change while files are added."""
_LEVEL_1 = 2**0.5
"""The lowest density that has a level; `_level` adds one with each factor of the square root of 2."""
_LENGTH_SHARE = 0.75
"""The weight of a text's length: the usual `b` of BM25."""


@dataclass(frozen=True, slots=True)
class IndexedText:
    """A file's text, its tokens (`words`), and the frequent tokens with their levels, as made by `indexed_text`; tokens
    are separated by spaces."""

    text: str = ""
    words: str = ""
    levels: str = ""


def indexed_text(text: str) -> IndexedText:
    """A file's text with its tokens and levels. Takes most of a second per megabyte.

    >>> indexed_text("Sale! Sale, sale.").levels
    '6sale'
    """
    text = text.encode("utf-8", "replace").decode()  # a lone surrogate cannot be stored
    found = tokens(text)
    usual = 1 - _LENGTH_SHARE + _LENGTH_SHARE * len(found) / _USUAL_TOKENS
    levels = (f"{_level(count / usual)}{token}" for token, count in Counter(found).items() if count / usual >= _LEVEL_1)
    return IndexedText(text, " ".join(found), " ".join(levels))


def _level(density: float) -> int:
    return max(1, min(TOP_LEVEL, int(2 * log2(density))))
