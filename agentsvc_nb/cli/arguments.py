"""Code that several commands use: argument types, the data folder and its database.

An argument type is a function that parses the text of an argument. It raises `argparse.ArgumentTypeError` with a
message that says what to type instead.
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
    """An argument parser whose error messages never repeat an API key that the user typed in place of an argument."""

    def error(self, message: str) -> NoReturn:
        from agentsvc_nb.key_forms import without_keys

        super().error(without_keys(message))


Subparsers: TypeAlias = "argparse._SubParsersAction[Parser]"  # argparse has no public name for this class


def data_option() -> Parser:
    """Return a parent parser with the option `--data`, which nearly every command has."""
    parent = Parser(add_help=False)
    parent.add_argument(
        "--data", type=Path, metavar="DIR", help="the data folder (default: AGENTSVC_DATA, or this user's folder)"
    )
    return parent


def data_folder(data: Path | None) -> DataFolder:
    """Return the data folder: `--data`, else `AGENTSVC_DATA`, else this user's default. The folder may be missing."""
    from agentsvc_nb.service.config import find_folder

    return find_folder(data)


def existing_folder(data: Path | None) -> DataFolder:
    """Return the data folder. Raises `NoService` if no service has run in it.

    So a mistyped name does not create a folder.
    """
    return data_folder(data).require_service()


def database(data: Path | None) -> AbstractContextManager[DatabaseEngine]:
    """Open the database of `existing_folder`. No service needs to run. A running service sees changes immediately."""
    from agentsvc_nb.service.keyring import open_database

    return open_database(existing_folder(data))


def now() -> int:
    """Return the current time in milliseconds since 1970, as the database stores it."""
    return clock.now_ms()


def model(text: str) -> str:
    from agentsvc_nb.model_names import MODEL_ADVICE, check_model

    try:
        return check_model(text.strip())
    except ValueError:
        service_model(text)
        raise argparse.ArgumentTypeError(f"{text!r} is not a valid model name: use {MODEL_ADVICE}") from None


def service_model(text: str) -> str:
    """Return the name of a model, which only the service can check. Reject a text that looks like an API key."""
    from agentsvc_nb.key_forms import A_NAME_IS_WANTED, LOOKS_LIKE_KEY, looks_like_key

    if looks_like_key(text):
        raise argparse.ArgumentTypeError(f"{LOOKS_LIKE_KEY} {A_NAME_IS_WANTED}")
    return text


def serve_port(text: str) -> int:
    if text == "last":  # not in the help, because only `embedded` uses it
        from agentsvc_nb.service.serve import LAST_PORT

        return LAST_PORT
    return port(text)


def port(text: str) -> int:
    if not (text.isdigit() and int(text) <= 65_535):
        raise argparse.ArgumentTypeError(f"{text!r} is not a valid port: use 0 to 65535")
    return int(text)


def at_least_one(text: str) -> int:
    if not (text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def budget(text: str) -> int:
    if not (text.isdigit() and int(text) <= CENTS_MAX):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of cents between 0 and {CENTS_MAX:,}")
    return int(text)


def cents(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= CENTS_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of cents above 0 and up to {CENTS_MAX:,}")
    return value


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
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
        raise argparse.ArgumentTypeError(f"the folder of the file {text!r} does not exist; create it first")
    return path
