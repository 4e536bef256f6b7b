"""`agentsvc backup` writes all data to one file; `agentsvc restore` makes a data folder from it."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentsvc_nb.cli import arguments
from agentsvc_nb.cli.arguments import Parser, Subparsers

if TYPE_CHECKING:
    from agentsvc_nb.service.backup import Manifest

PROGRESS_SECONDS: Final = 1.0
"""Time between two lines of progress; a backup that takes less prints none."""


def add_parsers(commands: Subparsers, data: Parser) -> None:
    backup = commands.add_parser("backup", parents=[data], help="write all data to one file; the service may run")
    backup.add_argument("file", nargs="?", type=arguments.new_file, metavar="FILE", help="default: here, by the time")
    backup.set_defaults(run=_backup)
    restore = commands.add_parser("restore", parents=[data], help="make a folder the service of a backup")
    restore.add_argument("file", type=Path, metavar="FILE")
    restore.set_defaults(run=_restore)


def _backup(args: argparse.Namespace) -> int:
    """Write a backup, by default to a file named after the time. Raises the errors of `service.backup.back_up`."""
    from agentsvc_nb.service.backup import back_up

    folder = arguments.existing_folder(args.data)
    target = args.file or Path(time.strftime("agentsvc-backup-%Y%m%d-%H%M%SZ.tar", time.gmtime()))
    manifest = back_up(folder, target, ProgressPrinter("backed up"))
    print(f"Wrote {target}: {_summary(manifest)}.")
    _warn_of_missing(manifest)
    return 0


def _restore(args: argparse.Namespace) -> int:
    """Restore a backup into the data folder. Raises the errors of `service.backup.restore`."""
    import shlex

    from agentsvc_nb.service.backup import restore

    folder = arguments.data_folder(args.data)
    manifest = restore(args.file, folder, ProgressPrinter("restored"))
    print(f"Restored {_summary(manifest)}, of {manifest.created_at}, into {folder.path}.")
    _warn_of_missing(manifest)
    print(f"To start it: agentsvc serve --data {shlex.quote(str(folder.path))}")
    return 0


class ProgressPrinter:
    """Prints the progress of a copy to stderr, once a second, beginning after the first second."""

    def __init__(self, verb: str) -> None:
        self._verb = verb
        self._next = time.monotonic() + PROGRESS_SECONDS

    def __call__(self, done: int, total: int) -> None:
        """Report `done` of `total` bytes."""
        if time.monotonic() >= self._next and total:
            self._next = time.monotonic() + PROGRESS_SECONDS
            print(f"{self._verb}: {done * 100 // total} % of {_megabytes(total)}", file=sys.stderr, flush=True)


def _summary(manifest: Manifest) -> str:
    return f"the database and {manifest.blobs:,} contents of files, {_megabytes(manifest.total_bytes)}"


def _warn_of_missing(manifest: Manifest) -> None:
    if manifest.missing:
        lost = f"{manifest.missing:,} contents of files were missing from the data folder or altered, and are not in it"
        print(f"agentsvc: {lost}.", file=sys.stderr)


def _megabytes(count: int) -> str:
    return f"{count / 1_000_000:,.1f} MB"
