"""Argument types, the data folder and its database, shared by all commands.

An argument type parses typed text. It raises `argparse.ArgumentTypeError` with a message that says what to type
instead.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from agentsvc_nb import clock
from agentsvc_nb.wire.limits import CENTS_MAX

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from agentsvc_nb.service.folder import DataFolder
    from agentsvc_nb.service.ports import DatabaseEngine


class Parser(argparse.ArgumentParser):
    """A parser whose error messages never repeat a key that was typed in the wrong place."""

    def error(self, message: str) -> NoReturn:
        from agentsvc_nb.key_forms import without_keys

        super().error(without_keys(message))


Subparsers: TypeAlias = "argparse._SubParsersAction[Parser]"  # argparse has no public name for it


def data_option() -> Parser:
    """Return a parent parser with the option `--data`, which nearly every command has."""
    parent = Parser(add_help=False)
    parent.add_argument(
        "--data", type=Path, metavar="DIR", help="the data folder (default: AGENTSVC_DATA, or this user's folder)"
    )
    return parent


def data_folder(data: Path | None) -> DataFolder:
    """Return the data folder: that of `--data`, else of `AGENTSVC_DATA`, else this user's default. It need not
    exist.
    """
    from agentsvc_nb.service.config import folder_of

    return folder_of(data)


def existing_folder(data: Path | None) -> DataFolder:
    """Return `data_folder` for commands that require that a service has run there before.

    Raises `NoService` otherwise, because a mistyped name must not create a new service.
    """
    return data_folder(data).existing()


def database(data: Path | None) -> AbstractContextManager[DatabaseEngine]:
    """Return the opened database of `existing_folder`, whether or not a service runs. A running service sees writes at
    once.
    """
    from agentsvc_nb.service.keyring import open_beside

    return open_beside(existing_folder(data))


def now() -> int:
    """Return the current time in milliseconds since 1970, as the database stores it."""
    return clock.now_ms()


def model(text: str) -> str:
    from agentsvc_nb.model_names import MODEL_ADVICE, check_model

    try:
        return check_model(text.strip())
    except ValueError:
        named_model(text)
        raise argparse.ArgumentTypeError(f"{text!r} is not a valid model name: use {MODEL_ADVICE}") from None


def named_model(text: str) -> str:
    """Return the name of a model. Refuse a text that looks like a key. Only the service knows whether the model
    exists.
    """
    from agentsvc_nb.key_forms import A_NAME_IS_WANTED, LOOKS_LIKE_KEY, looks_like_key

    if looks_like_key(text):
        raise argparse.ArgumentTypeError(f"{LOOKS_LIKE_KEY} {A_NAME_IS_WANTED}")
    return text


def serve_port(text: str) -> int:
    if text == "last":  # not in the help: only the embedded starter uses it
        from agentsvc_nb.service.serve import LAST_PORT

        return LAST_PORT
    return port(text)


def port(text: str) -> int:
    if not (text.isdigit() and int(text) <= 65_535):
        raise argparse.ArgumentTypeError(f"{text!r} is not a valid port: use 0 to 65535")
    return int(text)


def at_least_one(text: str) -> int:
    if not (text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def budget(text: str) -> int:
    if not (text.isdigit() and int(text) <= CENTS_MAX):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of cents from 0 to {CENTS_MAX:,}")
    return int(text)


def cents(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= CENTS_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of cents over 0 and at most {CENTS_MAX:,}")
    return value


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
        raise argparse.ArgumentTypeError(f"a name must have 1 to {KEY_NAME_CHARS} characters")
    return name


def new_file(text: str) -> Path:
    path = Path(text).absolute()
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"the folder of {text!r} does not exist")
    return path
