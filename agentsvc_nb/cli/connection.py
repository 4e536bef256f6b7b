"""Connect a command to the service, and print the service's records, as text for people or as JSON."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agentsvc_nb.cli import arguments
from agentsvc_nb.cli.arguments import Parser
from agentsvc_nb.cli.colours import BOLD, DIM, colour_text, colour_word

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from agentsvc_nb.client.api import AgentService, AsyncAgentService


_Record = TypeVar("_Record")


class UnusableInput(OSError):
    """Raised if input can't be sent to the service. The message says which input, and why."""


def json_option() -> Parser:
    """Return a parent parser with the option `--json`, for commands that can print their result as JSON."""
    parent = Parser(add_help=False)
    parent.add_argument("--json", action="store_true", help="print JSON, for programs")
    return parent


def list_options() -> Parser:
    """Return a parent parser with the options that filter a list of runs or jobs."""
    parent = Parser(add_help=False)
    parent.add_argument("--chat", help="only entries of this chat (chat_...)")
    parent.add_argument("--status", help="only entries with this status, such as running or failed")
    parent.add_argument(
        "--limit", type=arguments.count, default=20, metavar="N", help="the maximum number of entries; default: 20"
    )
    return parent


def format_minute(time: str | None) -> str:
    """Return a time from the service as local time, without seconds, or "" for None."""
    from datetime import datetime

    return datetime.fromisoformat(time).astimezone().strftime("%Y-%m-%d %H:%M") if time else ""


def connect(data: Path | None, *, existing: bool = True) -> AbstractContextManager[AgentService]:
    """Return a client of the service at `AGENTSVC_BASE_URL`, as a context manager.

    If `data` is given or this variable is not set, return a client of the data folder's embedded service. Entering the
    context then starts the service if necessary, and raises the errors of `embedded.find_or_start`.

    Raises `NoService` if `existing` is True and no service has ever run in the folder. Raises `EmbeddedError` if `data`
    is None and the environment has a key but no address: then it is not known to which service the key may be sent
    (docs/api/embedded.md "Address and key").
    """
    from agentsvc_nb.client.api import AgentService
    from agentsvc_nb.embedded import local

    if url := _address(data):
        return AgentService(base_url=url)
    if existing:
        arguments.existing_folder(data)
    return local(data)


def connect_async(data: Path | None) -> AbstractAsyncContextManager[AsyncAgentService]:
    """Return an asyncio client of the same service as `connect(data, existing=False)`."""
    from agentsvc_nb.client.api import AsyncAgentService
    from agentsvc_nb.embedded import local

    url = _address(data)
    return AsyncAgentService(base_url=url) if url else local(data)


def _address(data: Path | None) -> str | None:
    from agentsvc_nb.client.origin import KEY_VARIABLE, URL_VARIABLE
    from agentsvc_nb.embedded import EmbeddedError

    url = os.environ.get(URL_VARIABLE) if data is None else None
    if data is None and not url and os.environ.get(KEY_VARIABLE):
        raise EmbeddedError(
            f"{KEY_VARIABLE} is set, but the address of its service is not: set {URL_VARIABLE}, or unset "
            f"{KEY_VARIABLE} to use the service on this machine."
        )
    return url


def require_readable(file: Path) -> None:
    """Raise `UnusableInput` if the file can't be read. Call this before anything is sent."""
    if file.is_dir():
        raise UnusableInput(f"{file} is a folder. Nothing was sent. Name each of its files.")
    if not os.path.exists(file):
        raise UnusableInput(f"The file {file} does not exist. Nothing was sent. Check the path.")
    if not os.access(file, os.R_OK):  # not by opening the file, because a pipe such as <(date) can be read only once
        raise UnusableInput(f"The file {file} can't be read. Nothing was sent. Check its permissions.")


def read_text(text: str) -> str:
    """Return `text`, or, if it is `-`, the text on standard input. Raises `UnusableInput` if it is not UTF-8."""
    if text != "-":
        return text
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise UnusableInput("Standard input is not UTF-8 text. Nothing was sent.") from None


def read_object(text: str, what: str) -> dict[str, Any]:
    """Return the JSON object in `text`. If `text` is `@FILE`, read it from that file, and if `text` is `-`, from stdin.

    Raises `UnusableInput`, whose message names the input with `what`.
    """
    from agentsvc_nb.wire.reading import read_json

    if text.startswith("@"):
        require_readable(Path(text[1:]))
    try:
        text = Path(text[1:]).read_text(encoding="utf-8") if text.startswith("@") else text
        found = read_json(read_text(text))
    except ValueError as error:
        raise UnusableInput(f"{what} is not valid JSON ({error}). Nothing was sent.") from None
    if not isinstance(found, dict):
        raise UnusableInput(f"{what} is not a JSON object. Nothing was sent.")
    return found


def print_json(value: Any) -> None:
    """Print a record, or a list of records, as one JSON document."""
    print(json.dumps(_plain_data(value), ensure_ascii=False, indent=1))


def _plain_data(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain_data(each) for each in value]
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


def print_rows(columns: Sequence[str], rows: Iterable[Sequence[object]], none: str) -> None:
    """Print the rows as a table. Without rows, print the sentence `none` to stderr.

    Cells are sanitised, because their texts must not control the terminal.
    """
    from agentsvc_nb.client.cards import align_columns
    from agentsvc_nb.wire.text import label

    cells = [["" if value is None else label(value) for value in row] for row in rows]
    if not cells:
        print(none, file=sys.stderr)
        return
    head, *lines = align_columns([list(columns), *cells])
    print(colour_text(head, BOLD, sys.stdout))
    for line, row in zip(lines, cells, strict=True):
        status = row[columns.index("status")] if "status" in columns else ""
        print(colour_word(line, status, sys.stdout))


def print_list(
    found: Iterable[_Record],
    columns: Sequence[str],
    row: Callable[[_Record], Sequence[object]],
    none: str,
    args: argparse.Namespace,
) -> int:
    """Print the first `args.limit` records, as JSON if `args.json` is True, otherwise as a table (`print_rows`)."""
    first = list(islice(found, args.limit))
    if args.json:
        print_json(first)
    else:
        print_rows(columns, map(row, first), none)
    return 0


def print_record(record: Any, as_json: bool) -> None:
    """Print a record as JSON if `as_json` is True, otherwise as the text that a notebook without HTML would show."""
    if as_json:
        print_json(record)
    else:
        print(record._repr_mimebundle_()["text/plain"])


def print_either(record: Any, text: str, as_json: bool) -> None:
    """Print the record as JSON if `as_json` is True, otherwise print the text."""
    if as_json:
        print_json(record)
    else:
        print(text)


def print_note(line: str, colour: str = DIM) -> None:
    """Print a line to stderr that is not part of the command's output."""
    from agentsvc_nb.wire.text import plain

    print(colour_text(plain(line), colour, sys.stderr), file=sys.stderr, flush=True)
