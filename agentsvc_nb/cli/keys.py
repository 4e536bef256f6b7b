"""`agentsvc keys`: made, listed, suspended and revoked, beside a running service or without one."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from agentsvc_nb.cli import arguments
from agentsvc_nb.cli.arguments import Commands, Parser

if TYPE_CHECKING:
    from agentsvc_nb.service.records.keys import KeyRecord


def add(commands: Commands, folder: Parser) -> None:
    keys = commands.add_parser("keys", help="keys to the service").add_subparsers(required=True, metavar="COMMAND")
    create = keys.add_parser("create", parents=[folder], help="make a key, beside a running service or without one")
    create.add_argument("--name", required=True, type=arguments.key_name)
    create.add_argument("--scope", action="append", default=[], help="runs, tools, jobs or mcp; none: full access")
    create.add_argument("--budget-cents", type=arguments.count, metavar="N", help="what it may spend in a month")
    create.add_argument("--member", action="store_true", help="a member token, billed to the plan")
    create.add_argument("--json", action="store_true", help='print {"key": ...}')
    create.set_defaults(run=_create)
    keys.add_parser("list", parents=[folder], help="show the keys").set_defaults(run=_list)
    for name, what in (
        ("suspend", "refuse a key (403) until it is resumed"),
        ("resume", "accept a suspended key again"),
        ("revoke", "end a key for good (401)"),
    ):
        command = keys.add_parser(name, parents=[folder], help=what)
        command.add_argument("key", metavar="KEY", help="its id, its name, or the prefix that is shown")
        command.set_defaults(run=partial(_change, name))


def _create(given: argparse.Namespace) -> int:
    from agentsvc_nb.service.folder import DataFolder
    from agentsvc_nb.service.keyring import create_key
    from agentsvc_nb.settings import SettingsError, data_folder

    if given.member and (given.scope or given.budget_cents is not None):
        raise SettingsError("A member token has neither scopes nor a budget: leave out --scope and --budget-cents.")
    folder = DataFolder(data_folder(os.environ, given.data))  # a key may be made before the service first starts
    if not folder.database.is_file():
        print(f"No service has run in {folder.path} so far: this key is for the one that will.", file=sys.stderr)
    secret = create_key(
        folder, name=given.name, scopes=tuple(given.scope), budget_cents=given.budget_cents, member=given.member
    )
    if given.json:
        print(json.dumps({"key": secret}))
        return 0
    print(secret)
    print("This key is shown only now; programs take it from SERVICE_API_KEY.", file=sys.stderr)
    return 0


def _list(given: argparse.Namespace) -> int:
    from agentsvc_nb.service.keyring import open_beside
    from agentsvc_nb.service.records import keys
    from agentsvc_nb.service.usecases.accounts import ACCOUNT
    from agentsvc_nb.wire.times import rfc3339

    with open_beside(arguments.existing_folder(given.data)) as database:
        found = database.read(lambda tx: keys.all(tx, ACCOUNT))
    for key in found:
        budget = "" if key.budget_cents is None else f"  {key.budget_cents} cents a month"
        kind = "member" if key.member else ", ".join(key.scopes) or "full access"
        made = rfc3339(key.created_at)[:10]
        print(f"{key.id}  {key.prefix}...  {made}  {_state(key):9}  {json.dumps(key.name)}  {kind}{budget}")
    return 0


def _state(key: KeyRecord) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "active" if key.suspended_at is None else "suspended"


def _change(verb: str, given: argparse.Namespace) -> int:
    from agentsvc_nb.service.keyring import open_beside
    from agentsvc_nb.service.usecases import accounts

    changes: dict[str, Callable[..., KeyRecord]] = {
        "suspend": accounts.suspend_key,
        "resume": accounts.resume_key,
        "revoke": accounts.revoke_key,
    }
    now = arguments.now()
    with open_beside(arguments.existing_folder(given.data)) as database:
        key = database.write_now(lambda tx: changes[verb](tx, given.key, now))
    print(f"{key.id} ({json.dumps(key.name)}) is {_state(key)}.")
    return 0
