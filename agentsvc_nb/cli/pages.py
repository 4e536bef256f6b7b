"""`agentsvc pages`: landing pages to be labelled, beside a running service or without one."""

from __future__ import annotations

import argparse

from agentsvc_nb.cli import arguments
from agentsvc_nb.cli.arguments import Commands, Parser


def add(commands: Commands, folder: Parser) -> None:
    verbs = commands.add_parser("pages", help="landing pages").add_subparsers(required=True, metavar="COMMAND")
    adding = verbs.add_parser("add", parents=[folder], help="add one and print its id; the same again for a known URL")
    adding.add_argument("url", metavar="URL")
    adding.set_defaults(run=_add)


def _add(given: argparse.Namespace) -> int:
    from agentsvc_nb.service.keyring import open_beside
    from agentsvc_nb.service.usecases import media
    from agentsvc_nb.service.usecases.accounts import ACCOUNT

    now = arguments.now()
    with open_beside(arguments.existing_folder(given.data)) as database:
        print(database.write_now(lambda tx: media.add_page(tx, ACCOUNT, given.url, now)).id)
    return 0
