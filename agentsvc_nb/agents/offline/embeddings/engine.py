"""all-MiniLM-L6-v2, an English model of sentence embeddings, in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np

from agentsvc_nb.agents.offline.embeddings.vectors import EmbeddingError, Vectors
from agentsvc_nb.formats.children.pool import ChildPool, NoAnswer
from agentsvc_nb.formats.sandbox import Limits

MODEL: Final = "all-MiniLM-L6-v2"
DIMENSIONS: Final = 384
AT_ONCE: Final = 16
"""Texts of one question to the child: half a second, after which others have their turn."""
SECONDS: Final = 30.0
_CHILD: Final = "agentsvc_nb.agents.offline.embeddings.child"
_LIMITS: Final = Limits(memory_bytes=2 * 2**30, file_bytes=0)
_KEPT_BYTES: Final = 2**29


class MiniLM:
    """`vectors.EmbeddingModel`. Its child starts when it is first needed, and ends with this process."""

    name: Final = MODEL
    at_once: Final = AT_ONCE
    english_only: Final = True

    def __init__(self, file: Path) -> None:
        self._file = file
        self._pool = ChildPool(_CHILD, _LIMITS, count=1, kept_bytes=_KEPT_BYTES)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        question = json.dumps({"file": str(self._file), "texts": texts}).encode()
        length = len(texts) * DIMENSIONS * 2
        try:
            said = await self._pool.ask(question, SECONDS, length, account="")
        except NoAnswer:
            raise EmbeddingError(
                f"The model {self._file.name} could not be run: `agentsvc model pull minilm`"
            ) from None
        return np.frombuffer(said, np.float16).reshape(len(texts), -1).astype(np.float32)


def lacking(file: Path) -> str | None:
    """Why the engine can't run here, and what to do about it; None when no reason is found."""
    if find_spec("onnxruntime") is None:
        return "its engine is not installed: pip install 'agentsvc-nb[semantic]'"
    return None if file.is_file() else "its weights are not here: agentsvc model pull minilm"
