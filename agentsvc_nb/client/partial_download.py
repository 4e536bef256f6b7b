"""A download in progress, hashed as it arrives: in a `.part` file beside its target, or in memory."""

from __future__ import annotations

import _thread
import contextlib
import errno
import hashlib
import io
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO, Final

_Blocks = SimpleQueue[tuple[bytes | bytearray, _thread.LockType] | None]
_AT_ONCE: Final = 64 * 1024
"""Blocks up to this size are hashed directly: starting work in another thread would take longer."""


class Hashing:
    """A SHA-256 digest that hashes large blocks in a thread. Call `close` at the end; the digest stays readable.

    On locks and queues written in C: Ctrl-C within `Thread.start` or `Future.result` comes out as a `RuntimeError`, for
    it ends the wait of a condition, in Python, without the lock that is released after it.
    """

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._blocks: _Blocks | None = None
        self._pending: _thread.LockType | None = None

    def update(self, block: bytes | bytearray) -> None:
        """Add a block; a large one is hashed in the background, so the caller must not change it any more."""
        self._wait()
        if len(block) <= _AT_ONCE:
            self._digest.update(block)
            return
        if self._blocks is None:
            blocks: _Blocks = SimpleQueue()
            _thread.start_new_thread(_hash, (self._digest, blocks))
            self._blocks = blocks  # not before the thread is there: nothing would ever be hashed
        hashed = _thread.allocate_lock()
        hashed.acquire()
        self._blocks.put((block, hashed))
        self._pending = hashed

    def hexdigest(self) -> str:
        self._wait()
        return self._digest.hexdigest()

    def close(self) -> None:
        if self._blocks is not None:
            self._blocks.put(None)
            self._blocks = None

    def _wait(self) -> None:
        if self._pending is not None:
            with self._pending:
                pass
            self._pending = None


def _hash(digest: Any, blocks: _Blocks) -> None:
    while given := blocks.get():
        block, hashed = given
        digest.update(block)
        hashed.release()


PARTIAL: Final = 206
_BLOCK: Final = 1 << 20


class PartialDownload:
    """A partial download in memory: the first `done` bytes of a content of `total` bytes (None: unknown).

    `sha256` is the expected hash, None if unknown. `spoiled` is set if the bytes turned out wrong.
    """

    def __init__(self, sha256: str | None) -> None:
        self.sha256 = sha256
        self.done = 0
        self.total: int | None = None
        self.spoiled = False
        self._digest = Hashing()
        self._file: BinaryIO = io.BytesIO()

    @property
    def range(self) -> dict[str, str]:
        """Request headers for the missing bytes only, provided that the content is still the same (`If-Range`)."""
        if not (self.done and self.sha256):
            return {}
        return {"range": f"bytes={self.done}-", "if-range": f'"{self.sha256}"'}

    @property
    def whole(self) -> bool:
        """True if the content is known to be complete."""
        return self.sha256 is not None and self._digest.hexdigest() == self.sha256

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """Read a response's status and headers; if its bytes do not continue at `done`, restart from zero."""
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
        """Finish the complete content: cut off what an earlier, longer one left behind it."""
        self._file.truncate(self.done)

    def content(self) -> bytes:
        self._file.seek(0)
        return self._file.read()

    def leave(self) -> None:
        """End the download, complete or not, and release its resources."""
        self._digest.close()


class PartialFile(PartialDownload):
    """A partial download on disk, in a `.part` file beside `target`.

    The file is named by the content's hash, so the next download of the same content resumes it. Two processes that
    download the same content at once write the same bytes to the same offsets, so neither damages the other's file.
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
        """Rename the complete file to its target."""
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
        """End the download, and remove a `.part` file that no later download could resume."""
        super().leave()
        self._file.close()
        if self.spoiled or self.sha256 is None or not self.done:
            self._part.unlink(missing_ok=True)


def _opened(part: Path) -> BinaryIO:
    """Create a `.part` file, or open the existing one. Raises `OSError` (ELOOP) for a symbolic link.

    `os.open` with O_NOFOLLOW would need one step, but a Ctrl-C between it and `os.fdopen` would leak the descriptor.
    """
    while True:
        with contextlib.suppress(FileExistsError):
            return part.open("x+b")
        if part.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(part))
        # At this moment another download may rename the file, or a link may take its place: hence the check.
        with contextlib.suppress(FileNotFoundError), contextlib.ExitStack() as undone:
            file = undone.enter_context(part.open("r+b"))
            if os.path.samestat(os.fstat(file.fileno()), part.lstat()):
                undone.pop_all()
                return file


def matches(place: Path, sha256: str | None, size: int | None = None) -> bool:
    """True if `place` is a file with this content; False without reading it if `size` is given and differs."""
    try:
        if sha256 is None or not place.is_file() or (size is not None and place.stat().st_size != size):
            return False
        with place.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == sha256
    except FileNotFoundError:
        return False
