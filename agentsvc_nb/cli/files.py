"""`agentsvc files`: list, upload, download and search the files of a chat."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentsvc_nb.cli.arguments import Parser, Subparsers
from agentsvc_nb.cli.connection import (
    UnusableInput,
    connect,
    json_option,
    print_either,
    print_json,
    print_note,
    print_rows,
    require_readable,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentsvc_nb.wire.files import SnippetPart, WorkspaceFile


def add_parsers(commands: Subparsers, data: Parser) -> None:
    files = commands.add_parser("files", help="manage the files of a chat").add_subparsers(
        required=True, metavar="COMMAND"
    )
    chat = Parser(add_help=False)
    chat.add_argument("--chat", required=True, help="the chat (chat_...)")
    shown = [data, chat, json_option()]
    files.add_parser("list", parents=shown, help="list the files by path").set_defaults(run=_list)
    put = files.add_parser("put", parents=shown, help="upload files to the chat")
    put.add_argument("files", type=Path, nargs="+", metavar="FILE", help="the files to upload")
    put.set_defaults(run=_put)
    get = files.add_parser("get", parents=shown, help="download files, and print their paths")
    get.add_argument("paths", nargs="+", metavar="PATH", help="paths as `files list` shows them")
    get.add_argument(
        "--to", default=".", metavar="PLACE", help="a folder, a file name, or - for stdout; default: this folder"
    )
    get.set_defaults(run=_get)
    versions = files.add_parser("versions", parents=shown, help="list the versions of a file, the current one first")
    versions.add_argument("path", metavar="PATH", help="a path as `files list` shows it")
    versions.set_defaults(run=_versions)
    restore = files.add_parser("restore", parents=shown, help="restore an earlier version of a file as a new version")
    restore.add_argument("path", metavar="PATH", help="a path as `files list` shows it")
    restore.add_argument(
        "version", type=int, metavar="VERSION", help="the version's number, as `files versions` shows it"
    )
    restore.set_defaults(run=_restore)
    search = files.add_parser("search", parents=shown, help="search the files of a chat")
    query = 'words and "phrases" to find, with or and -excluded words; the last word may be incomplete'
    search.add_argument("query", metavar="QUERY", help=query)
    search.set_defaults(run=_search)


def _list(args: argparse.Namespace) -> int:
    from agentsvc_nb.wire.text import label

    with connect(args.data) as client:
        found = client.files.list(args.chat).all()
    if args.json:
        print_json(found)
    else:
        rows = ((file.path, f"{file.size_bytes:,}", file.media_type) for file in found)
        print_rows(("path", "bytes", "type"), rows, "The chat has no files.")
        for file in found:
            if file.unreadable:
                print(label(f"{file.path} can't be read: {file.unreadable}", 400))
    return 0


def _put(args: argparse.Namespace) -> int:
    """Upload the files in as few requests as possible.

    If any of the files can't be read, raise `UnusableInput` before the first request.
    """
    from agentsvc_nb.wire.limits import ATTACHMENTS_MAX

    for file in args.files:
        require_readable(file)
    staged: list[Any] = []
    with connect(args.data) as client:
        for first in range(0, len(args.files), ATTACHMENTS_MAX):
            staged += client.files.upload(*args.files[first : first + ATTACHMENTS_MAX], chat=args.chat)
    if args.json:
        print_json(staged)
    else:
        rows = ((file.file_name, f"{file.size_bytes:,}", file.media_type) for file in staged)
        print_rows(("name", "bytes", "type"), rows, "")
    return 0


def _get(args: argparse.Namespace) -> int:
    """Download files. Raises `UnusableInput` if `--to -` and `--json` are both given."""
    import shutil
    import tempfile

    if args.json and args.to == "-":
        raise UnusableInput("--to - and --json both write to stdout. Nothing was downloaded. Leave out one of them.")
    got: list[dict[str, str]] = []
    with connect(args.data) as client, tempfile.TemporaryDirectory(prefix="agentsvc-") as passing:
        to = passing if args.to == "-" else args.to
        to = to if len(args.paths) == 1 else os.path.join(to, "")
        for path in args.paths:
            place = client.files.download(path, chat=args.chat, to=to)
            got.append({"path": path, "place": str(place)})
            if args.to == "-":
                with open(place, "rb") as file:  # copied from a file, so that it is never entirely in memory
                    shutil.copyfileobj(file, sys.stdout.buffer)
            elif not args.json:
                print(place)
    if args.json:
        print_json(got)
    return 0


def _versions(args: argparse.Namespace) -> int:
    with connect(args.data) as client:
        found = client.files.versions(args.path, chat=args.chat)
    if args.json:
        print_json(found)
    else:
        rows = ((str(each.version), f"{each.size_bytes:,}", each.updated_at or "", _author(each)) for each in found)
        print_rows(("version", "bytes", "changed", "from"), rows, "")
        if found[0].removed:
            print_note(f"The file was removed. `agentsvc files restore PATH {found[0].version}` restores it.")
    return 0


def _author(file: WorkspaceFile) -> str:
    if file.kind == "upload":
        return "you"
    return f"run {file.run_id}" if file.run_id else file.kind


def _restore(args: argparse.Namespace) -> int:
    with connect(args.data) as client:
        file = client.files.restore(args.path, args.version, chat=args.chat)
    text = f"{file.path} has the content of version {args.version} again, as version {file.version}."
    print_either(file, text, args.json)
    return 0


def _search(args: argparse.Namespace) -> int:
    """Search the files. As with `grep`, the exit code is 1 if nothing was found."""
    with connect(args.data) as client:
        found = client.files.search(args.query, chat=args.chat)
    if args.json:
        print_json(found.results)
    else:
        rows = ((file.path, file.match, " … ".join(map(_passage, file.snippets))) for file in found.results)
        print_rows(("path", "match", "passage"), rows, "No file matches.")
    return 0 if found.results else 1


def _passage(parts: Sequence[SnippetPart]) -> str:
    return "".join(part.text for part in parts)
