"""Store blobs, the contents of files, in a folder. A blob's path contains the blob's SHA-256 hash: `ab/cd/<sha256>`.

A blob is written to a temporary file on the same file system, and renamed when its hash is known. Therefore readers
never find an incomplete blob. The row that refers to the blob is committed afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
import os
import re
import tempfile
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Final

from agentsvc_nb.documents.media_types import HEAD_BYTES

PIECE_MAX_BYTES: Final = 1024 * 1024
"""The maximum number of bytes of one read. A thread executes each read."""
PIECES_MAX_BYTES: Final = 4 * PIECE_MAX_BYTES
"""The memory for all current reads together. Beyond it, each read may still use `PIECE_MIN_BYTES`.

A piece stays in memory until the client has received it, which may take long.
"""
PIECE_MIN_BYTES: Final = 64 * 1024


class LocalBlobs:
    """Implements `ports.Blobs` in a folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.incoming = root / "incoming"
        self.incoming.mkdir(parents=True, exist_ok=True)
        # `remove` and `put_aside` first check a file, and then act. Meanwhile no other thread may place a file there.
        self._placing = threading.Lock()
        self._reads = 0

    def create(self) -> NewLocalBlob:
        return NewLocalBlob(self, self.incoming)

    def put(self, data: bytes) -> NewLocalBlob:
        """Store `data` as a blob and return the blob."""
        blob = self.create()
        blob.write(data)
        blob.keep()
        return blob

    async def store(self, data: bytes) -> NewLocalBlob:
        return await asyncio.to_thread(self.put, data)

    def path(self, sha256: str) -> Path:
        return blob_path(self._root, sha256)

    def file(self, sha256: str) -> contextlib.nullcontext[Path]:
        return contextlib.nullcontext(self.path(sha256))

    async def read(self, sha256: str, start: int, end: int) -> AsyncGenerator[bytes]:
        path = self.path(sha256)
        await asyncio.to_thread(path.stat)
        return self._pieces(path, start, end)

    async def _pieces(self, path: Path, start: int, end: int) -> AsyncGenerator[bytes]:
        self._reads += 1
        try:
            with await asyncio.to_thread(path.open, "rb") as file:
                file.seek(start)
                while piece := await asyncio.to_thread(file.read, min(self._piece_bytes, end - start)):
                    start += len(piece)
                    yield piece
        finally:
            self._reads -= 1

    @property
    def _piece_bytes(self) -> int:
        return max(PIECE_MIN_BYTES, min(PIECE_MAX_BYTES, PIECES_MAX_BYTES // self._reads))

    async def heads(self, sizes: Mapping[str, int]) -> Mapping[str, bytes]:
        return await asyncio.to_thread(self._heads, sizes)

    def _heads(self, sizes: Mapping[str, int]) -> Mapping[str, bytes]:
        found = {}
        for sha256, size in sizes.items():
            with contextlib.suppress(OSError), self.path(sha256).open("rb") as file:
                found[sha256] = file.read(size)
        return found

    def place(self, written: Path, sha256: str) -> None:
        """Move a complete temporary file to the blob's path. Replace an existing blob to renew its storage time."""
        target = self.path(sha256)
        target.parent.mkdir(parents=True, exist_ok=True)
        with self._placing:
            os.replace(written, target)

    async def collect(self, before: int, named: Callable[[], Awaitable[set[str]]]) -> int:
        old = await asyncio.to_thread(lambda: list(self.stored_before(before)))
        kept = await named() if old else set()
        return await asyncio.to_thread(lambda: sum(self.remove(sha256, before) for sha256 in old if sha256 not in kept))

    async def names(self) -> set[str]:
        return await asyncio.to_thread(lambda: set(self.stored_before(math.inf)))

    def stored_before(self, ms: float) -> Iterator[str]:
        """Yield the hashes of the blobs that were last stored before the time `ms`."""
        for folder, _, names in os.walk(self._root):
            for name in names:
                if re.fullmatch(r"[0-9a-f]{64}", name) and _stored_at(Path(folder, name)) < ms:
                    yield name

    def remove(self, sha256: str, before: int) -> bool:
        """Remove a blob. Return False if it is missing, or was stored again at or after the time `before` (ms)."""
        path = self.path(sha256)
        with self._placing:
            if _stored_at(path) >= before:
                return False
            path.unlink(missing_ok=True)
        return True

    def put_aside(self, sha256: str, checked: os.stat_result) -> bool:
        """Rename an altered blob to `<sha256>.altered`, where no reader finds it.

        `checked` identifies the file that was found to be altered. Return False if another file, or none, is now at the
        blob's path. On Windows, the caller must first close the file.
        """
        path = self.path(sha256)
        with self._placing:
            if not path.exists() or not os.path.samestat(checked, path.stat()):
                return False
            path.replace(path.with_name(f"{sha256}.altered"))
        return True

    def prepare(self) -> None:
        for left in self.incoming.iterdir():
            left.unlink(missing_ok=True)


class SpooledBlob:
    """Writes the content of a future blob to a temporary file, and computes the hash of the content."""

    def __init__(self, folder: Path) -> None:
        handle, name = tempfile.mkstemp(dir=folder)
        self._path = Path(name)
        self._file: IO[bytes] = os.fdopen(handle, "wb")
        self._digest = hashlib.sha256()
        self.head = b""  # the first bytes, from which the media type is recognised
        self.size_bytes = 0

    def write(self, data: bytes | memoryview) -> None:
        self._file.write(data)
        self._digest.update(data)
        self.size_bytes += len(data)
        if len(self.head) < HEAD_BYTES:
            self.head += data[: HEAD_BYTES - len(self.head)]

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def close(self) -> Path:
        """Close the file and return its path. Only now does the file contain everything that was written."""
        self._file.close()
        return self._path

    def discard(self) -> None:
        with contextlib.suppress(OSError):  # closing writes the buffer, and the disk may be full
            self._file.close()
        self._path.unlink(missing_ok=True)


class NewLocalBlob(SpooledBlob):
    """Implements `ports.BlobWriter` for `LocalBlobs`."""

    def __init__(self, blobs: LocalBlobs, folder: Path) -> None:
        super().__init__(folder)
        self._blobs = blobs

    async def commit(self) -> None:
        await asyncio.to_thread(self.keep)

    def keep(self) -> None:
        """Write the content to the disk and move the file to the blob's path. This may block for long (fsync)."""
        # Write the content to the disk before the renaming, so that a power failure leaves a complete blob or none.
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._blobs.place(self._path, self.sha256)


def is_intact(path: Path) -> bool:
    """Return whether a blob's content matches the hash in its name. Return False for a file that can't be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == path.name
    except OSError:
        return False


def blob_path(root: Path, sha256: str) -> Path:
    return root / sha256[:2] / sha256[2:4] / sha256


def _stored_at(path: Path) -> float:
    """Return the time at which the file was stored (ms since 1970), or infinity for a missing file."""
    try:
        return path.stat().st_mtime_ns / 1_000_000
    except FileNotFoundError:
        return math.inf
