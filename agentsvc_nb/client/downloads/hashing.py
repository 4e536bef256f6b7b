"""SHA-256 of a content as it comes: in a thread of its own once it is large, so that the network need not wait."""

from __future__ import annotations

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

_AT_ONCE: Final = 64 * 1024
"""Bytes that are hashed before another thread would have begun."""


class Hashing:
    """Use `close` in the end; what was hashed until then can still be asked for."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._thread: ThreadPoolExecutor | None = None
        self._pending: Future[None] | None = None

    def update(self, block: bytes | bytearray) -> None:
        """Takes one block while the one before is hashed; `block` must not be changed any more."""
        self._wait()
        if len(block) <= _AT_ONCE:
            self._digest.update(block)
            return
        self._thread = self._thread or ThreadPoolExecutor(1, "agentsvc-sha256")
        self._pending = self._thread.submit(self._digest.update, block)

    def hexdigest(self) -> str:
        self._wait()
        return self._digest.hexdigest()

    def close(self) -> None:
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None

    def _wait(self) -> None:
        if self._pending is not None:
            self._pending.result()
            self._pending = None
