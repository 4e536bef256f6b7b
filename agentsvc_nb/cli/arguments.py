"""Kinds of arguments: a text that is typed, read or refused with what to give instead."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from agentsvc_nb.service.folder import DataFolder

Parser: TypeAlias = argparse.ArgumentParser
Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # argparse has no other name for it


def data_option() -> Parser:
    """The `--data` of every command, as a parent."""
    folder = Parser(add_help=False)
    folder.add_argument("--data", type=Path, metavar="DIR", help="data folder (AGENTSVC_DATA, or this user's)")
    return folder


def existing_folder(data: Path | None) -> DataFolder:
    """The folder of `--data`, for commands that need a service to have run there.

    Raises `NoService` when none did: a mistyped name must not become a new service.
    """
    from agentsvc_nb.service.folder import DataFolder
    from agentsvc_nb.settings import data_folder

    return DataFolder(data_folder(os.environ, data)).existing()


def now() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def model(text: str) -> str:
    from agentsvc_nb.settings import MODEL_ADVICE, SETTINGS

    try:
        name: str = SETTINGS["model"].read(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no model: give {MODEL_ADVICE}") from None
    return name


def serve_port(text: str) -> int:
    if text == "last":  # for the embedded starter, and so not in the help
        from agentsvc_nb.service.serve import LAST_PORT

        return LAST_PORT
    return port(text)


def port(text: str) -> int:
    if not (text.isdigit() and int(text) <= 65_535):
        raise argparse.ArgumentTypeError(f"{text!r} is no port: give 0 to 65535")
    return int(text)


def minutes(text: str) -> int:
    if not (text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of minutes from 1")
    return int(text)


def count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds over 0")
    return value


def key_name(text: str) -> str:
    from agentsvc_nb.wire.limits import KEY_NAME_CHARS

    name = text.strip()
    if not 0 < len(name) <= KEY_NAME_CHARS:
        raise argparse.ArgumentTypeError(f"a name has 1 to {KEY_NAME_CHARS} characters")
    return name


def new_file(text: str) -> Path:
    path = Path(text).absolute()
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"the folder of {text!r} does not exist")
    return path
