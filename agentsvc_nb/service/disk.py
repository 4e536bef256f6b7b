"""Files on disk: what a failed write means, and writing one whole."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from pathlib import Path
from typing import Final


def disk_fault(error: BaseException) -> str | None:
    """What a disk did not do, as a clause; None for any other error."""
    if isinstance(error, OSError):
        return _ERRNO_FAULTS.get(error.errno or 0)
    if getattr(error, "sqlstate", None) == _DISK_FULL:
        return "the database's disk is full"
    import sqlite3

    code = getattr(error, "sqlite_errorcode", 0) if isinstance(error, sqlite3.Error) else 0
    return {
        sqlite3.SQLITE_FULL: _FULL,
        sqlite3.SQLITE_IOERR: "the disk is full or fails",  # a quota, for one: SQLite does not tell them apart
        sqlite3.SQLITE_READONLY: _READ_ONLY,
        sqlite3.SQLITE_CANTOPEN: "the database's files can't be opened: they are gone, not ours to read, or too many "
        "files are open",
    }.get(code & 0xFF)


_DISK_FULL: Final = "53100"  # PostgreSQL's, whose library may not be installed
_FULL: Final = "the disk is full"
_READ_ONLY: Final = "the disk, or a file of the data folder, can't be written to"
_ERRNO_FAULTS: Final = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.EROFS: _READ_ONLY,
    errno.EIO: "the disk fails",
}


def inode(path: Path) -> tuple[int, int] | None:
    """Device and number of a file; None when there is none. Raises `OSError` when that can't be told now."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def write_private(path: Path, text: str) -> None:
    """Replace the file at `path` atomically by one that only this user can read (0600). Raises `OSError`."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
