"""The command line `agentsvc` (docs/api/embedded.md), with one module for each group of commands.

Each module defines the arguments of its commands in `add_parsers`, and implements the commands. At the top, it imports
only what `add_parsers` needs. The functions import slow modules themselves, so that `--version` and error messages
about arguments appear immediately.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

from agentsvc_nb import __version__
from agentsvc_nb.cli import (
    accounts,
    ask,
    check,
    completion,
    docs,
    doctor,
    files,
    jobs,
    lab,
    mcp,
    media,
    models,
    runs,
    service,
)
from agentsvc_nb.cli.arguments import Parser, data_option
from agentsvc_nb.cli.colours import RED, colour_text
from agentsvc_nb.cli.examples import add_examples
from agentsvc_nb.cli.own_pip import name_own_pip

GROUPS: Final = (
    service.add_parsers,
    accounts.add_parsers,
    accounts.add_feedback_parsers,
    media.add_parsers,
    models.add_parsers,
    media.add_page_parsers,
    lab.add_parsers,
    mcp.add_parsers,
    ask.add_parsers,
    check.add_parsers,
    runs.add_parsers,
    files.add_parsers,
    jobs.add_parsers,
    service.add_backup_parsers,
    doctor.add_parsers,
    docs.add_parsers,
)
"""The functions that add the commands of each group, in the order of `agentsvc --help`."""

EXIT_ERROR: Final = 1
EXIT_USAGE: Final = 2
EXIT_TIMEOUT: Final = 124  # as the command `timeout` reports it
EXIT_INTERRUPTED: Final = 130  # 128 + SIGINT, as shells report it
EXIT_CODES: Final = {
    0: "success",
    EXIT_ERROR: "failure, as stderr shows; a run did not complete; `check` found a wrong answer; nothing was "
    "found, or no service is running",
    EXIT_USAGE: "an argument or a setting is not valid; nothing was done",
    75: "`serve`, `restore`: another service uses the data folder",
    EXIT_TIMEOUT: "the time of `--timeout` is over; the run or job continues",
    EXIT_INTERRUPTED: "interrupted with Ctrl-C; `serve`, `worker` and `lab`, which run until then, end with 0",
}
"""The exit codes' meanings. 75 is `service.serve.EXIT_HELD`, which is not imported here because its module is slow."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. An expected failure prints one sentence to stderr, and no traceback."""
    args = parser().parse_args(argv)
    try:
        code: int = args.run(args)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe such as `ask ... | head` has exited; the flush at exit must not fail
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_ERROR
    except Exception as error:
        failure = _exit_code(error)
        if failure is None:
            raise
        from agentsvc_nb.key_forms import without_keys

        print(colour_text("agentsvc:", RED, sys.stderr), without_keys(name_own_pip(_message(error))), file=sys.stderr)
        return failure
    return code


def parser() -> Parser:
    """Return the parser of all commands."""
    made = Parser(prog="agentsvc", description="Ask an agent, watch it work, keep what it made.")
    made.add_argument("--version", action="version", version=f"agentsvc {__version__}")
    commands = made.add_subparsers(required=True, metavar="COMMAND")
    data = data_option()
    for add_parsers in GROUPS:
        add_parsers(commands, data)
    completion.add_parsers(commands, made)
    add_examples(made)
    exit_codes = "".join(f"  {code:<4} {when.replace('`', '')}\n" for code, when in EXIT_CODES.items())
    made.epilog = f"{made.epilog}\nexit codes:\n{exit_codes}"
    return made


def _exit_code(error: Exception) -> int | None:
    """Return the exit code for an expected failure, or None if the error is a bug."""
    from agentsvc_nb.service.disk import disk_fault
    from agentsvc_nb.service.folder import FolderHeld
    from agentsvc_nb.service.serve import EXIT_HELD
    from agentsvc_nb.settings import SettingsError

    if isinstance(error, SettingsError):
        return EXIT_USAGE
    if isinstance(error, FolderHeld):  # checked before the slow imports below, because `embedded` waits for this exit
        return EXIT_HELD
    from agentsvc_nb.client.errors import JobTimeoutError

    if isinstance(error, JobTimeoutError):
        return EXIT_TIMEOUT
    return EXIT_ERROR if isinstance(error, _expected_errors()) or disk_fault(error) else None


def _expected_errors() -> tuple[type[Exception], ...]:
    from agentsvc_nb.client.errors import StefanBrainError
    from agentsvc_nb.embedded import EmbeddedError
    from agentsvc_nb.language_models.switch import SwitchError
    from agentsvc_nb.service.api_error import ApiError
    from agentsvc_nb.service.backup import BackupError
    from agentsvc_nb.service.folder import NoService
    from agentsvc_nb.service.ports import BlobsUnavailable, StoreBusy, StoreUnusable
    from agentsvc_nb.service.serve import ServeError
    from agentsvc_nb.service.store.migrations import SchemaTooNew

    of_commands = (docs.NoDocs, lab.LabError, models.PullError)
    of_service = (
        ApiError, BackupError, BlobsUnavailable, NoService, SchemaTooNew, ServeError, StoreBusy, StoreUnusable,
    )  # fmt: skip
    return (*of_commands, *of_service, EmbeddedError, StefanBrainError, SwitchError, OSError)


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    from agentsvc_nb.service.disk import disk_fault

    fault = disk_fault(error)
    return f"{fault[0].upper()}{fault[1:]} ({' '.join(str(error).split())})." if fault else str(error)
