"""A server of embeddings that the operator set: any that speaks OpenAI's `/embeddings`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from agentsvc_nb.agents.offline.embeddings.vectors import EmbeddingError, Vectors
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.tools.support.upstream import Upstream

AT_ONCE: Final = 32
DIMENSIONS_MAX: Final = 8_192
SECONDS: Final = 20.0


class EmbeddingServer:
    """`vectors.EmbeddingModel`. The key goes to this address alone: redirects are not followed."""

    at_once: Final = AT_ONCE
    english_only: Final = False

    def __init__(self, url: str, key: str | None, model: str | None) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.name = f"{url} {model or ''}"
        self._model = model
        self._upstream = Upstream("The server of embeddings", url, headers, SECONDS)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        body = {"input": list(texts), "encoding_format": "float"} | ({"model": self._model} if self._model else {})
        try:
            return _rows(await self._upstream.post("/embeddings", json=body), len(texts))
        except WorkFailure as failure:
            raise EmbeddingError(failure.message) from None


def _rows(said: Any, count: int) -> Vectors:
    """The vectors of an answer in their order. Raises `EmbeddingError`."""
    try:
        found = sorted(said["data"], key=lambda one: one["index"])
        rows = np.array([one["embedding"] for one in found], np.float32)
    except (LookupError, TypeError, ValueError):
        rows = np.empty(0, np.float32)
    if rows.ndim != 2 or len(rows) != count or not 0 < rows.shape[1] <= DIMENSIONS_MAX or not np.isfinite(rows).all():
        raise EmbeddingError("The server of embeddings answered with no list of vectors.")
    return rows
