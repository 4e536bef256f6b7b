"""Whether texts are compared by their meaning here, and by which model."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from agentsvc_nb.agents.offline.embeddings.engine import MiniLM, lacking
from agentsvc_nb.agents.offline.embeddings.kept import KeptVectors
from agentsvc_nb.agents.offline.embeddings.server import EmbeddingServer
from agentsvc_nb.agents.offline.embeddings.vectors import Embeddings
from agentsvc_nb.settings import Settings

WEIGHTS: Final = "models/all-MiniLM-L6-v2-int8.onnx"
"""Where `agentsvc model pull minilm` leaves them in the data folder."""
_KEPT: Final = "embeddings.sqlite3"


def embeddings(settings: Settings) -> Embeddings | None:
    """Those of the server that is set, else of the engine; None when its package or its weights are not here."""
    kept = KeptVectors(settings.data / _KEPT)
    if settings.embedding_url:
        return Embeddings(
            EmbeddingServer(settings.embedding_url, settings.embedding_key, settings.embedding_model), kept
        )
    file = _weights(settings)
    return None if lacking(file) else Embeddings(MiniLM(file), kept)


def told(settings: Settings) -> tuple[bool, str]:
    """Whether meanings of sentences are compared, and by what, or what that lacks, in a clause."""
    if settings.embedding_url:
        host = urlsplit(settings.embedding_url).netloc.rpartition("@")[2]  # the rest may hold a password or a key
        return True, f"meanings are compared by the server at {host}"
    file = _weights(settings)
    if reason := lacking(file):
        return False, f"meanings of sentences are not compared: {reason}"
    return True, f"meanings of English sentences are compared by {file.name}"


def _weights(settings: Settings) -> Path:
    return settings.embedding_file or settings.data / WEIGHTS
