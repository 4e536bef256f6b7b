"""The vectors of texts, each computed once: a model, and what it said before."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from agentsvc_nb.agents.offline.embeddings.kept import KeptVectors

Vectors = NDArray[np.float32]

PATIENCE_SECONDS: Final = 10.0
"""How long one question waits for vectors of passages; what is left then is for the next one."""


class EmbeddingError(Exception):
    """The model gave no vectors; the message says why."""


class EmbeddingModel(Protocol):
    """A model of sentence embeddings. `at_once`: texts of one call."""

    @property
    def name(self) -> str: ...
    @property
    def at_once(self) -> int: ...
    @property
    def english_only(self) -> bool: ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """A row for each text. Raises `EmbeddingError`."""
        ...


class Embeddings:
    """A model, and the vectors that it made within the last day."""

    def __init__(self, model: EmbeddingModel, kept: KeptVectors) -> None:
        self._model, self._kept = model, kept

    @property
    def english_only(self) -> bool:
        return self._model.english_only

    async def of(self, texts: Sequence[str], seconds: float = PATIENCE_SECONDS) -> Mapping[str, Vectors]:
        """The vectors of the texts, of length 1; those that there was no time for are left out, the last ones first.
        Raises `EmbeddingError`."""
        until = time.monotonic() + seconds
        found = await asyncio.to_thread(self._kept.get, self._model.name, texts)
        lacking = [text for text in dict.fromkeys(texts) if text not in found]
        for at in range(0, len(lacking), self._model.at_once):
            if at and time.monotonic() > until:
                break
            asked = lacking[at : at + self._model.at_once]
            rows = _unit(await self._model.embed(asked))
            made = dict(zip(asked, rows, strict=True))
            await asyncio.to_thread(self._kept.put, self._model.name, made)
            found |= made
        return found


def _unit(rows: Vectors) -> Vectors:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-6), np.float32)
