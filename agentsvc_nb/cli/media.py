"""`agentsvc media`: videos, sounds and pictures of ads, beside a running service or without one."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from agentsvc_nb.cli import arguments
from agentsvc_nb.cli.arguments import Commands, Parser


def add(commands: Commands, folder: Parser) -> None:
    verbs = commands.add_parser("media", help="media of ads").add_subparsers(required=True, metavar="COMMAND")
    adding = verbs.add_parser("add", parents=[folder], help="store a video, sound or picture and print its id")
    adding.add_argument("file", type=Path, metavar="FILE")
    adding.add_argument("--url", help="where it comes from")
    adding.add_argument(
        "--captions",
        type=Path,
        metavar="FILE",
        help="its transcript, .srt or .vtt; else a file of that name beside it is taken",
    )
    adding.set_defaults(run=_add)


def _add(given: argparse.Namespace) -> int:
    from agentsvc_nb.commands.media import add

    record = add(arguments.existing_folder(given.data), given.file, url=given.url, captions=given.captions)
    print(record.id)
    length = "" if record.duration_s is None else f", {record.duration_s:.1f} s"
    said = "with a transcript" if record.transcript else "without a transcript"
    print(f"{record.kind} ({record.media_type}{length}), {said}", file=sys.stderr)
    return 0
