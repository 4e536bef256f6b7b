"""Vectors that were computed before, in a file of the data folder, by the hash of model and text."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

KEPT_SECONDS: Final = 86_400
KEPT_VECTORS: Final = 100_000
"""80 MB of 384 numbers each."""
_TABLE: Final = "CREATE TABLE IF NOT EXISTS vector (key BLOB PRIMARY KEY, used INTEGER, numbers BLOB) WITHOUT ROWID"
_SWEEP: Final = """
DELETE FROM vector WHERE used < ? OR key NOT IN (SELECT key FROM vector ORDER BY used DESC LIMIT ?)
"""
_SWEEP_SECONDS: Final = 3600
_AT_ONCE: Final = 500


class KeptVectors:
    """A cache that may be removed at any time: what can't be read or written counts as not there."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._swept = 0.0

    def get(self, model: str, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        keys = {_key(model, text): text for text in texts}
        found, now = dict[str, NDArray[np.float32]](), int(time.time())
        with contextlib.suppress(sqlite3.Error, OSError, ValueError), closing(self._open()) as kept, kept:
            for at in range(0, len(keys), _AT_ONCE):
                asked = [*keys][at : at + _AT_ONCE]
                these = f"key IN ({','.join('?' * len(asked))})"
                rows = kept.execute(f"SELECT key, numbers FROM vector WHERE {these}", asked)
                found |= {keys[key]: np.frombuffer(numbers, np.float16).astype(np.float32) for key, numbers in rows}
                used = f"UPDATE vector SET used = ? WHERE {these} AND used < ?"
                kept.execute(used, [now, *asked, now - _SWEEP_SECONDS])
        return found

    def put(self, model: str, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        now = int(time.time())
        rows = [(_key(model, text), now, numbers.astype(np.float16).tobytes()) for text, numbers in vectors.items()]
        with contextlib.suppress(sqlite3.Error, OSError), closing(self._open()) as kept, kept:
            if now - self._swept > _SWEEP_SECONDS:
                kept.execute(_SWEEP, [now - KEPT_SECONDS, KEPT_VECTORS])
                self._swept = now
            kept.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?)", rows)

    def _open(self) -> sqlite3.Connection:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        kept = sqlite3.connect(self._file, timeout=1.0)
        kept.execute(_TABLE)
        return kept


def _key(model: str, text: str) -> bytes:
    return hashlib.sha256(f"{model}\0{text}".encode("utf-8", "replace")).digest()
