"""`agentsvc export`: a folder's service moved to a database and a bucket that several processes may share."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agentsvc_nb.cli.arguments import Parser, Subparsers
from agentsvc_nb.cli.service import ProgressPrinter, megabytes
from agentsvc_nb.extras import pip_install

if TYPE_CHECKING:
    from agentsvc_nb.service.export import Target


def add_parsers(commands: Subparsers, data: Parser) -> None:
    export = commands.add_parser("export", help="move a folder's service to AGENTSVC_DATABASE and AGENTSVC_BLOBS")
    export.add_argument("folder", type=_folder, metavar="DATA", help="the data folder; nothing in it is removed")
    for typed in ("--database", "--blobs"):  # not in the help: refused, where argparse would repeat a password
        export.add_argument(typed, type=_no_target, help=argparse.SUPPRESS)
    export.add_argument("target", nargs="*", type=_no_target, help=argparse.SUPPRESS)
    instead = export.add_mutually_exclusive_group()
    instead.add_argument(
        "--secret", action="store_true", help="print the secret of the folder's keys, for AGENTSVC_SECRET"
    )
    instead.add_argument("--undo", action="store_true", help="let the folder be served again")
    export.set_defaults(run=_export)


def _folder(text: str) -> Path:
    return Path(text) if "://" not in text else _no_target(text)


def _no_target(_: str) -> Path:
    # What was typed is not repeated: it may have a password.
    raise argparse.ArgumentTypeError(
        "the target is named by AGENTSVC_DATABASE and AGENTSVC_BLOBS: others on this machine see what is typed"
    )


def _export(args: argparse.Namespace) -> int:
    """Raises the errors of `service.export.export`, and `SettingsError` without a target."""
    from agentsvc_nb.service.folder import DataFolder
    from agentsvc_nb.service.ports import StoreUnusable

    folder = DataFolder(args.folder).existing()
    try:
        from agentsvc_nb.service import export
    except ImportError as error:
        raise StoreUnusable(f"This needs packages: {pip_install('scale')} ({error}).") from None
    if args.secret:
        print(export.own_secret(folder))
        return 0
    if args.undo:
        return _undone(folder.path, export.undo(folder))
    target = _target(folder.path)
    try:
        done = export.export(folder, target, ProgressPrinter("contents"), ProgressPrinter("rows", "{:,}".format))
    except KeyboardInterrupt:
        print("agentsvc: Interrupted; the folder is as it was. The same again goes on.", file=sys.stderr)
        raise
    for sha256 in done.contents.missing:
        print(f"agentsvc: The content {sha256} was missing from the data folder or altered.", file=sys.stderr)
    size = megabytes(done.contents.size_bytes)
    print(f"Moved to {done.target}: {done.rows:,} rows and {done.contents.contents:,} contents of files ({size}).")
    print("To start it, with the same variables: agentsvc serve --work --data ANOTHER_FOLDER")
    return 0


def _target(folder: Path) -> Target:
    """Raises `SettingsError`."""
    from agentsvc_nb.service.config import BLOBS, DATABASE, SECRET
    from agentsvc_nb.service.export import Target
    from agentsvc_nb.settings import Settings, SettingsError

    given = {name: os.environ[name] for name in (BLOBS, DATABASE, SECRET) if os.environ.get(name)}
    settings = Settings.from_env(given, data=folder)
    if settings.database is None or settings.blobs is None:
        raise SettingsError(
            "AGENTSVC_DATABASE (postgresql://...) and AGENTSVC_BLOBS (s3://BUCKET/PREFIX) name the target: set both."
        )
    return Target(settings.blobs, settings.database, settings.secret)


def _undone(folder: Path, target: str | None) -> int:
    if target is None:
        print(f"{folder} is not marked as moved.")
        return 0
    print(f"{folder} can be served again. What was done since at {target} is not in it: serve only one of the two.")
    return 0
