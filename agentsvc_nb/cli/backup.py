"""`agentsvc backup` and `agentsvc restore`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from agentsvc_nb.cli import arguments
from agentsvc_nb.cli.arguments import Commands, Parser


def add(commands: Commands, folder: Parser) -> None:
    backup = commands.add_parser("backup", parents=[folder], help="write all data to one file; the service may run")
    backup.add_argument("file", nargs="?", type=arguments.new_file, metavar="FILE", help="default: here, by the time")
    backup.set_defaults(run=_backup)
    restore = commands.add_parser("restore", parents=[folder], help="make a folder the service of a backup")
    restore.add_argument("file", type=Path, metavar="FILE")
    restore.set_defaults(run=_restore)


def _backup(given: argparse.Namespace) -> int:
    from agentsvc_nb.commands.backup import backup

    return backup(arguments.existing_folder(given.data), given.file)


def _restore(given: argparse.Namespace) -> int:
    from agentsvc_nb.commands.backup import restore
    from agentsvc_nb.service.folder import DataFolder
    from agentsvc_nb.settings import data_folder

    return restore(given.file, DataFolder(data_folder(os.environ, given.data)))
