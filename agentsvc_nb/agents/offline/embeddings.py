"""Sentence embeddings: vectors of texts that are near to each other when the texts mean alike, by a small model in a
child process or by a server, each computed once (docs/decisions/0049-meaning-by-sentence-embeddings.md)."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from agentsvc_nb.documents.children.pool import ChildPool, NoAnswer
from agentsvc_nb.documents.sandbox import Limits
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.tools.support.upstream import Upstream

Vectors = NDArray[np.float32]

PATIENCE_SECONDS: Final = 4.0
"""How long one question waits for vectors of passages, and again for those of sentences; what is left then is for the
next one."""


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

    async def of(
        self, texts: Sequence[str], seconds: float = PATIENCE_SECONDS, anew: int | None = None
    ) -> Mapping[str, Vectors]:
        """The vectors of the texts, of length 1: those that are kept, and of the others at most `anew`; those that
        there was no time for are left out, the last ones first. Raises `EmbeddingError`."""
        until = time.monotonic() + seconds
        found = await asyncio.to_thread(self._kept.get, self._model.name, texts)
        lacking = [text for text in dict.fromkeys(texts) if text not in found][:anew]
        # In portions: each is kept once it is made, so that a question that runs out of time helps the next.
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


WEIGHTS: Final = "models/all-MiniLM-L6-v2-int8.onnx"
"""Where `agentsvc model pull minilm` leaves them in the data folder."""
_CACHE_FILE: Final = "embeddings.sqlite3"


def choose_embeddings(settings: Settings) -> Embeddings | None:
    """Those of the server that is set, else of the engine; None when its package or its weights are not here."""
    kept = KeptVectors(settings.data / _CACHE_FILE)
    if settings.embedding_url:
        return Embeddings(
            EmbeddingServer(settings.embedding_url, settings.embedding_key, settings.embedding_model), kept
        )
    file = _weights(settings)
    return None if _lacking(file) else Embeddings(MiniLM(file), kept)


def availability(settings: Settings) -> tuple[bool, str]:
    """Whether meanings of sentences are compared, and by what, or what that lacks, in a clause."""
    if settings.embedding_url:
        host = urlsplit(settings.embedding_url).netloc.rpartition("@")[2]  # the rest may hold a password or a key
        return True, f"meanings are compared by the server at {host}"
    file = _weights(settings)
    if reason := _lacking(file):
        return False, f"meanings of sentences are not compared: {reason}"
    return True, f"meanings of English sentences are compared by {file.name}"


def _weights(settings: Settings) -> Path:
    return settings.embedding_file or settings.data / WEIGHTS


KEPT_SECONDS: Final = 86_400
KEPT_VECTORS: Final = 100_000
"""80 MB of 384 numbers each."""
_TABLE: Final = "CREATE TABLE IF NOT EXISTS vector (key BLOB PRIMARY KEY, used INTEGER, numbers BLOB) WITHOUT ROWID"
_SWEEP: Final = """
DELETE FROM vector WHERE used < ? OR key NOT IN (SELECT key FROM vector ORDER BY used DESC LIMIT ?)
"""
_SWEEP_SECONDS: Final = 3600
_KEYS_AT_ONCE: Final = 500


class KeptVectors:
    """A cache that may be removed at any time: what can't be read or written counts as not there."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._swept = 0.0

    def get(self, model: str, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        keys = {_key(model, text): text for text in texts}
        found, now = dict[str, NDArray[np.float32]](), int(time.time())
        with contextlib.suppress(sqlite3.Error, OSError, ValueError), closing(self._open()) as kept, kept:
            for at in range(0, len(keys), _KEYS_AT_ONCE):
                asked = [*keys][at : at + _KEYS_AT_ONCE]
                these = f"key IN ({','.join('?' * len(asked))})"
                rows = kept.execute(f"SELECT key, numbers FROM vector WHERE {these}", asked)
                found |= {keys[key]: np.frombuffer(numbers, np.float16).astype(np.float32) for key, numbers in rows}
                used = f"UPDATE vector SET used = ? WHERE {these} AND used < ?"
                kept.execute(used, [now, *asked, now - _SWEEP_SECONDS])
        return found

    def put(self, model: str, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        now = int(time.time())
        rows = [(_key(model, text), now, numbers.astype(np.float16).tobytes()) for text, numbers in vectors.items()]
        # A vector that is not kept is computed again: no reason for an answer to fail.
        with contextlib.suppress(sqlite3.Error, OSError), closing(self._open()) as kept, kept:
            if now - self._swept > _SWEEP_SECONDS:
                kept.execute(_SWEEP, [now - KEPT_SECONDS, KEPT_VECTORS])
                self._swept = now
            kept.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?)", rows)

    def _open(self) -> sqlite3.Connection:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        kept = sqlite3.connect(self._file, timeout=1.0)
        try:
            kept.execute(_TABLE)
        except BaseException:
            kept.close()
            raise
        return kept


def _key(model: str, text: str) -> bytes:
    return hashlib.sha256(f"{model}\0{text}".encode("utf-8", "replace")).digest()


_MODEL: Final = "all-MiniLM-L6-v2"
_DIMENSIONS: Final = 384
_CHILD_AT_ONCE: Final = 16
"""Texts of one question to the child: half a second, after which others have their turn."""
_CHILD_SECONDS: Final = 30.0
_CHILD: Final = "agentsvc_nb.agents.offline.embeddings_child"
_LIMITS: Final = Limits(memory_bytes=2 * 2**30, file_bytes=0)
_KEPT_BYTES: Final = 2**29


class MiniLM:
    """`EmbeddingModel`. Its child starts when it is first needed, and ends with this process."""

    name: Final = _MODEL
    at_once: Final = _CHILD_AT_ONCE
    english_only: Final = True

    def __init__(self, file: Path) -> None:
        self._file = file
        self._pool = ChildPool(_CHILD, _LIMITS, count=1, kept_bytes=_KEPT_BYTES)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        question = json.dumps({"file": str(self._file), "texts": texts}).encode()
        length = len(texts) * _DIMENSIONS * 2
        try:
            said = await self._pool.ask(question, _CHILD_SECONDS, length, account="")
        except NoAnswer:
            raise EmbeddingError(
                f"The model {self._file.name} could not be run: `agentsvc model pull minilm`"
            ) from None
        return np.frombuffer(said, np.float16).reshape(len(texts), -1).astype(np.float32)


def _lacking(file: Path) -> str | None:
    """Why the engine can't run here, and what to do about it; None when no reason is found."""
    if find_spec("onnxruntime") is None:
        return "its engine is not installed: pip install 'agentsvc-nb[semantic]'"
    return None if file.is_file() else "its weights are not here: agentsvc model pull minilm"


_SERVER_AT_ONCE: Final = 32
_DIMENSIONS_MAX: Final = 8_192
_SERVER_SECONDS: Final = 20.0


class EmbeddingServer:
    """`EmbeddingModel`. The key goes to this address alone: redirects are not followed."""

    at_once: Final = _SERVER_AT_ONCE
    english_only: Final = False

    def __init__(self, url: str, key: str | None, model: str | None) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.name = f"{url} {model or ''}"
        self._model = model
        self._upstream = Upstream("The server of embeddings", url, headers, _SERVER_SECONDS)

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
    # The answer is not trusted: one number that is infinite, or none, would spoil the order of all passages.
    if rows.ndim != 2 or len(rows) != count or not 0 < rows.shape[1] <= _DIMENSIONS_MAX or not np.isfinite(rows).all():
        raise EmbeddingError("The server of embeddings answered with no list of vectors.")
    return rows
