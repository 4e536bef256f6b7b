"""Which words of a text stand right after which, as a Bloom filter: PostgreSQL's index has no positions, and a phrase
of common words would be looked for in the words of most files (docs/decisions/0069-pairs-of-words.md).

A filter has two bits set for each pair of neighbours. Their number is a power of two, and bits are counted as by
PostgreSQL's `get_bit`: the first is the lowest of the first byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import xor
from typing import Final
from zlib import crc32

BITS: Final = 8
"""The fewest bits for each pair, and nearly twice as many are the most: of the files that have no such pair, one in 20
to 70 looks as if it had."""
_HALF: Final = 30
_ODD: Final = 0x9E3779B97F4A7C15
_ALL: Final = 2 ** (2 * _HALF) - 1


def filter_of(words: Sequence[str]) -> bytes | None:
    """The filter of a text's words; None without any pair.

    >>> filter_of(["summer", "sale"]).hex(), filter_of(["sale"])
    ('0801', None)
    """
    found = set(_hashes(words))
    if not found:
        return None
    size = 1 << (len(found) * BITS // 8).bit_length()
    last = 8 * size - 1
    ones = bytearray(b"0") * (8 * size)  # a text of digits: setting bits in bytes takes twice as long
    for pair in found:
        ones[pair & last] = ones[pair >> _HALF & last] = 0x31
    ones.reverse()
    return int(ones, 2).to_bytes(size, "little")


def places(words: Sequence[str]) -> list[tuple[int, int]]:
    """Where the bits of each pair are in a filter, modulo their number."""
    return [(pair & 2**_HALF - 1, pair >> _HALF) for pair in _hashes(words)]


def _hashes(words: Sequence[str]) -> list[int]:
    """The hash of each pair of neighbours, of twice 30 bits."""
    known = {word: crc32(word.encode()) * _ODD & _ALL for word in set(words)}
    moved = {word: value >> 1 for word, value in known.items()}
    return list(map(xor, map(known.__getitem__, words), map(moved.__getitem__, words[1:])))
