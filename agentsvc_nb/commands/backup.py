"""`agentsvc backup` and `agentsvc restore`: what they tell while they work and when they are done."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import Final

from agentsvc_nb.service.backup import Manifest, back_up
from agentsvc_nb.service.backup import restore as restore_folder
from agentsvc_nb.service.folder import DataFolder

QUIET_SECONDS: Final = 1.0
"""What is done by then needs no progress; later, a line as often."""


def backup(folder: DataFolder, file: Path | None) -> int:
    """Write a backup, to a file with the time in its name unless one is given. Raises as `back_up`."""
    target = file or Path(time.strftime("agentsvc-backup-%Y%m%d-%H%M%SZ.tar", time.gmtime()))
    manifest = back_up(folder, target, Shown("backed up"))
    print(f"Wrote {target}: {_contents(manifest)}.")
    _tell_missing(manifest)
    return 0


def restore(file: Path, folder: DataFolder) -> int:
    """Make the folder the service that was backed up. Raises as `service.restore.restore`."""
    manifest = restore_folder(file, folder, Shown("restored"))
    print(f"Restored {_contents(manifest)}, of {manifest.created_at}, into {folder.path}.")
    _tell_missing(manifest)
    print(f"To start it: agentsvc serve --data {shlex.quote(str(folder.path))}")
    return 0


class Shown:
    """Tells on stderr how far it is, once it takes longer than a second."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._next = time.monotonic() + QUIET_SECONDS

    def __call__(self, done: int, total: int) -> None:
        """`done` of `total` bytes."""
        if time.monotonic() >= self._next and total:
            self._next = time.monotonic() + QUIET_SECONDS
            print(f"{self._what}: {done * 100 // total} % of {_size(total)}", file=sys.stderr, flush=True)


def _contents(manifest: Manifest) -> str:
    return f"the database and {manifest.blobs:,} contents of files, {_size(manifest.total_bytes)}"


def _tell_missing(manifest: Manifest) -> None:
    if manifest.missing:
        lost = f"{manifest.missing:,} contents of files were missing from the data folder and are not in the backup"
        print(f"agentsvc: {lost}.", file=sys.stderr)


def _size(count: int) -> str:
    return f"{count / 1_000_000:,.1f} MB"
