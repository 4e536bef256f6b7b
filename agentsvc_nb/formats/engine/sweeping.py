"""What is removed of the tables that are kept."""

from __future__ import annotations

import contextlib
import shutil
import time
from pathlib import Path
from typing import Final

KEPT_BYTES: Final = 2**30
KEPT_SECONDS: Final = 3600.0


def sweep(folder: Path) -> None:
    """Remove what was not used for long, and the oldest of what is too much."""
    room, now = KEPT_BYTES, time.time()
    found = []
    for path in folder.iterdir() if folder.is_dir() else ():
        with contextlib.suppress(OSError):
            about = path.stat()
            found.append((about.st_mtime, about.st_size, path))
    for used, size, path in sorted(found, reverse=True):
        room -= size
        if room < 0 or now - used > KEPT_SECONDS:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
