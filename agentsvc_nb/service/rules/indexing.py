"""What the index keeps of a text: its words, and how much the text is about each (decision 11).

A word's level compares how often it stands in the text with the text's length; it is on a scale of half octaves that
is the same for all files, so that the best of very many files can be found by level, without ranking them all.
"""

from __future__ import annotations

from collections import Counter
from math import log2

from agentsvc_nb.service.ports.storage import Reading
from agentsvc_nb.service.rules.folding import tokens

TOP_LEVEL = 9
_USUAL_TOKENS = 300
"""The length of text in which a word that stands once is at level 0. A constant: an average would move."""
_LEVEL_1 = 2**0.5
_LENGTH_SHARE = 0.75
"""How much length counts: the usual `b` of BM25."""


def reading(text: str) -> Reading:
    """A file's text, ready to be indexed. A megabyte takes most of a second: not for the writer's thread.

    >>> reading("Sale! Sale, sale.").levels
    '6sale'
    """
    text = text.encode("utf-8", "replace").decode()  # a lone surrogate cannot be stored
    found = tokens(text)
    usual = 1 - _LENGTH_SHARE + _LENGTH_SHARE * len(found) / _USUAL_TOKENS
    levels = (f"{_level(count / usual)}{token}" for token, count in Counter(found).items() if count / usual >= _LEVEL_1)
    return Reading(text, " ".join(found), " ".join(levels))


def _level(density: float) -> int:
    return max(1, min(TOP_LEVEL, int(2 * log2(density))))
