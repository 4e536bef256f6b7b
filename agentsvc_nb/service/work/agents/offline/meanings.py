"""Words that mean alike: a small table of English word vectors, read when first asked for.

`meanings.npz` holds 64 small whole numbers a word; `tests/bench/quality/distil.py` makes it. Only directions matter:
the nearer two words' vectors point, the more alike their meanings.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from agentsvc_nb.service.work.agents.offline.words import stem

Vectors = NDArray[np.float32]


class Meanings:
    """Vectors by word. A word that is not among them is looked for by its stem; else it has none (zeros)."""

    def __init__(self, words: Sequence[str], vectors: NDArray[np.int8]) -> None:
        self._rows = {word: row for row, word in enumerate(words)}
        self._stems = {stem(word): row for row, word in reversed(list(enumerate(words)))}
        self._vectors = vectors

    def __contains__(self, word: str) -> bool:
        """Whether it is a word, in this form or another: no slip of the pen."""
        return word in self._rows or stem(word) in self._stems

    def of(self, words: Sequence[str]) -> Vectors:
        """A row a word, of length 1."""
        rows = [self._rows.get(word, self._stems.get(stem(word), -1)) for word in words]
        found = self._vectors[rows].astype(np.float32) * (np.array(rows) >= 0)[:, None]
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found / np.maximum(lengths, 1e-6), np.float32)


@cache
def meanings() -> Meanings:
    """The table that the package ships."""
    with files(__package__).joinpath("meanings.npz").open("rb") as file, np.load(file) as held:
        return Meanings(held["words"].tobytes().decode().split("\n"), held["vectors"])
