"""Describe disk errors for users, and write files atomically."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from pathlib import Path
from typing import Final


def disk_fault(error: BaseException) -> str | None:
    """Return why the disk failed, as a clause such as "the disk is full", or None for errors of other kinds."""
    if isinstance(error, OSError):
        return _ERRNO_FAULTS.get(error.errno or 0)
    if getattr(error, "sqlstate", None) == _DISK_FULL:
        return "the database's disk is full"
    import sqlite3

    code = getattr(error, "sqlite_errorcode", 0) if isinstance(error, sqlite3.Error) else 0
    return {
        sqlite3.SQLITE_FULL: _FULL,
        sqlite3.SQLITE_IOERR: "the disk is full or failed",  # SQLite reports an exceeded quota with the same code
        sqlite3.SQLITE_READONLY: _READ_ONLY,
        sqlite3.SQLITE_CANTOPEN: "the database's files can't be opened: they are missing, the service lacks "
        "permission, or too many files are open",
    }.get(code & 0xFF)


_DISK_FULL: Final = "53100"  # PostgreSQL's code; its library, which has a name for it, may not be installed
_FULL: Final = "the disk is full"
_READ_ONLY: Final = "the disk or a file of the data folder is read-only"
_ERRNO_FAULTS: Final = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.EROFS: _READ_ONLY,
    errno.EIO: "the disk failed",
}


def inode(path: Path) -> tuple[int, int] | None:
    """Return a file's device and inode number, or None if it is missing. Raises `OSError` if it can't be checked."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def write_private(path: Path, text: str) -> None:
    """Atomically write `text` to `path`, readable by this user only (mode 0600). Raises `OSError`."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
