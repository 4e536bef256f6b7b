"""`agentsvc keys`: made beside a running service, or without one."""

from __future__ import annotations

import argparse
import json
import sys

from agentsvc_nb.cli import arguments
from agentsvc_nb.cli.arguments import Commands, Parser


def add(commands: Commands, folder: Parser) -> None:
    keys = commands.add_parser("keys", help="keys to the service").add_subparsers(required=True, metavar="COMMAND")
    create = keys.add_parser("create", parents=[folder], help="make a key, beside a running service or without one")
    create.add_argument("--name", required=True)
    create.add_argument("--scope", action="append", default=[], help="runs, tools, jobs or mcp; none: full access")
    create.add_argument("--budget-cents", type=arguments.count, metavar="N", help="what it may spend in a month")
    create.add_argument("--member", action="store_true", help="a member token, billed to the plan")
    create.add_argument("--json", action="store_true", help='print {"key": ...}')
    create.set_defaults(run=_create)


def _create(given: argparse.Namespace) -> int:
    from agentsvc_nb.service.keyring import create_key
    from agentsvc_nb.service.settings import SettingsError

    if given.member and (given.scope or given.budget_cents is not None):
        raise SettingsError("A member token has neither scopes nor a budget: leave out --scope and --budget-cents.")
    folder = arguments.existing_folder(given.data)
    secret = create_key(
        folder, name=given.name, scopes=tuple(given.scope), budget_cents=given.budget_cents, member=given.member
    )
    if given.json:
        print(json.dumps({"key": secret}))
        return 0
    print(secret)
    print("This key is shown only now; programs take it from SERVICE_API_KEY.", file=sys.stderr)
    return 0
