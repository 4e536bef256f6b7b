"""`agentsvc completion`: print the script with which a shell completes commands, options and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from agentsvc_nb.cli.arguments import Parser, Subparsers
from agentsvc_nb.cli.examples import parsers

SHELLS: Final = ("bash", "zsh", "fish")


def add_parsers(commands: Subparsers, parser: Parser) -> None:
    """Add the command `completion`. `parser` has all commands, for which the script offers completions."""
    completion = commands.add_parser("completion", help="print a script that completes commands in a shell")
    completion.add_argument("shell", choices=SHELLS, help="the shell")
    completion.set_defaults(run=lambda args: _print_script(parser, args.shell))


def _print_script(parser: Parser, shell: Any) -> int:
    import shtab

    for each in parsers(parser):
        for action in each._actions:
            if action.type is Path:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(parser, shell))
    return 0
