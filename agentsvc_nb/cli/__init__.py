"""The command line `agentsvc` (docs/api/embedded.md): a module a group of commands, each with `add(commands, folder)`.

They say what can be typed and import what it needs only when it is: `--version` needs nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from agentsvc_nb import __version__
from agentsvc_nb.cli import account, backup, doctor, feedback, keys, lab, media, models, pages, runs, service
from agentsvc_nb.cli.arguments import data_option
from agentsvc_nb.cli.failures import EXIT_ERROR, EXIT_INTERRUPTED, exit_code, sentence

GROUPS = (service, keys, account, feedback, media, models, pages, lab, runs, backup, doctor)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. An expected failure is one sentence on stderr, without a traceback."""
    given = _parser().parse_args(argv)
    try:
        code: int = given.run(given)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # `agentsvc ask ... | head`: nobody reads on, so nothing may be flushed at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_ERROR
    except Exception as error:
        expected = exit_code(error)
        if expected is None:
            raise
        print(f"agentsvc: {sentence(error)}", file=sys.stderr)
        return expected
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="agentsvc", description="Ask an agent, watch it work, keep what it made.")
    parser.add_argument("--version", action="version", version=f"agentsvc {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    folder = data_option()
    for group in GROUPS:
        group.add(commands, folder)
    return parser
