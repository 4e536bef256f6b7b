"""A download as it arrives, hashed on the way: on disk in a `.part` file beside its target, or in memory."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import secrets
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, Final

_AT_ONCE: Final = 64 * 1024
"""Bytes that are hashed before another thread would have begun."""


class Hashing:
    """A SHA-256 digest that hashes large blocks in a thread. Call `close` at the end; the digest stays readable."""

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


PARTIAL: Final = 206
_BLOCK: Final = 1 << 20


class PartialDownload:
    """A partial download in memory: its first `done` bytes. `sha256` is None if unknown."""

    def __init__(self, sha256: str | None) -> None:
        self.sha256 = sha256
        self.done = 0
        self.total: int | None = None
        self.spoiled = False
        self._digest = Hashing()
        self._file: BinaryIO = io.BytesIO()

    @property
    def range(self) -> dict[str, str]:
        """Headers that ask for the rest only, if it is still the same content."""
        if not (self.done and self.sha256):
            return {}
        return {"range": f"bytes={self.done}-", "if-range": f'"{self.sha256}"'}

    @property
    def whole(self) -> bool:
        """True if the content is known to be complete."""
        return self.sha256 is not None and self._digest.hexdigest() == self.sha256

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """Read an answer's headers: its bytes go on where we are, or begin anew."""
        if status != PARTIAL or not headers.get("content-range", "").startswith(f"bytes {self.done}-"):
            self.restart()
        length = headers.get("content-length", "")
        self.total = self.done + int(length) if length.isdigit() else None

    def restart(self) -> None:
        self._digest.close()
        self.done, self._digest = 0, Hashing()
        self._file.seek(0)

    def take(self, chunk: bytes | bytearray) -> None:
        self._digest.update(chunk)
        self._file.write(chunk)
        self.done += len(chunk)

    def keep(self) -> None:
        """Keep the complete content, without the tail of a longer one that stood there before."""
        self._file.truncate(self.done)

    def content(self) -> bytes:
        self._file.seek(0)
        return self._file.read()

    def leave(self) -> None:
        """Stop, complete or not."""
        self._digest.close()


class PartialFile(PartialDownload):
    """On the way to `target`.

    What is left of a download that broke off is named by its hash, and continued by the next one. Two processes that
    fetch one content write the same bytes to the same places, so neither spoils the other's file.
    """

    def __init__(self, target: Path, sha256: str | None) -> None:
        super().__init__(sha256)
        self._target = target
        mark = sha256[:16] if sha256 else secrets.token_hex(8)
        self._part = target.with_name(f"{target.name}.{mark}.part")
        self._there = matches(target, sha256)
        if not self._there:
            self._file = _opened(self._part)
            self._measure()

    def _measure(self) -> None:
        while block := self._file.read(_BLOCK):
            self._digest.update(block)
            self.done += len(block)

    @property
    def whole(self) -> bool:
        return self._there or super().whole

    def keep(self) -> None:
        """Give the whole file its name."""
        if self._there:
            return
        super().keep()
        self._file.close()
        try:
            self._part.replace(self._target)
        except FileNotFoundError:
            # Another download of the same content was faster.
            if not matches(self._target, self.sha256):
                raise

    def leave(self) -> None:
        """Stop, and remove a file that no later download could continue."""
        super().leave()
        self._file.close()
        if self.spoiled or self.sha256 is None or not self.done:
            self._part.unlink(missing_ok=True)


def _opened(part: Path) -> BinaryIO:
    """Begin a file, or go on with one; not through a link. `os.open` would do it at once, but a Ctrl-C between it and
    `os.fdopen` leaves a descriptor open that nobody knows."""
    while True:
        with contextlib.suppress(FileExistsError):
            return part.open("x+b")
        if part.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(part))
        # Another download may give it its name, or somebody put a link there, in just this moment.
        with contextlib.suppress(FileNotFoundError), contextlib.ExitStack() as undone:
            file = undone.enter_context(part.open("r+b"))
            if os.path.samestat(os.fstat(file.fileno()), part.lstat()):
                undone.pop_all()
                return file


def matches(place: Path, sha256: str | None, size: int | None = None) -> bool:
    """Whether the file at `place` has this content; another size is answered without reading it."""
    try:
        if sha256 is None or not place.is_file() or (size is not None and place.stat().st_size != size):
            return False
        with place.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == sha256
    except FileNotFoundError:
        return False
