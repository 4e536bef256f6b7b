"""`agentsvc completion`: the script with which a shell completes commands, options and files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.cli.arguments import Parser, Subparsers

SHELLS: Final = ("bash", "zsh", "fish")
EXAMPLES: Final = """to install it, for this user:
  bash  agentsvc completion bash > ~/.local/share/bash-completion/completions/agentsvc
  zsh   agentsvc completion zsh > ~/.zfunc/_agentsvc     (with ~/.zfunc in fpath, before compinit)
  fish  agentsvc completion fish > ~/.config/fish/completions/agentsvc.fish
"""


def add_parsers(commands: Subparsers, parser: Parser) -> None:
    """`parser` is the one of all commands, which the script completes."""
    completion = commands.add_parser(
        "completion",
        help="print a script that completes commands in a shell",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    completion.add_argument("shell", choices=SHELLS, help="whose script")
    completion.set_defaults(run=lambda args: _print_script(parser, args.shell))


def _print_script(parser: Parser, shell: Any) -> int:
    import shtab

    for action in _actions(parser):
        if action.type is Path:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(parser, shell))
    return 0


def _actions(parser: Parser) -> Iterator[argparse.Action]:
    """The arguments of the parser and of all below it."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _actions(below)
