"""`agentsvc model`: language models on this machine."""

from __future__ import annotations

import argparse

from agentsvc_nb.cli.arguments import Commands, Parser


def add(commands: Commands, folder: Parser) -> None:
    verbs = commands.add_parser("model", help="language models on this machine")
    pulling = verbs.add_subparsers(required=True, metavar="COMMAND").add_parser(
        "pull", parents=[folder], help="get a model into the data folder and say how to use it"
    )
    pulling.add_argument("name", metavar="MODEL", help="smollm2, or hf:OWNER/NAME/FILE.gguf from the Hugging Face hub")
    pulling.set_defaults(run=_pull)


def _pull(given: argparse.Namespace) -> int:
    from agentsvc_nb.commands.models import pull

    pull(given.data, given.name)
    return 0
