"""`agentsvc account`: what the operator decides about the account, beside a running service or without one."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from agentsvc_nb.cli import arguments
from agentsvc_nb.cli.arguments import Commands, Parser

if TYPE_CHECKING:
    from agentsvc_nb.service.plan import Plan
    from agentsvc_nb.service.ports import Tx


def add(commands: Commands, folder: Parser) -> None:
    account = commands.add_parser("account", help="the account: its money, and what it may do")
    verbs = account.add_subparsers(required=True, metavar="COMMAND")
    verbs.add_parser("show", parents=[folder], help="show its state and what was billed").set_defaults(run=_show)
    for name, what in (
        ("suspend", "refuse its requests (429 user_suspended)"),
        ("throttle", "refuse its requests for a while (429 user_throttled)"),
    ):
        command = verbs.add_parser(name, parents=[folder], help=what)
        command.add_argument("--minutes", type=arguments.minutes, metavar="N", help="until then; else until `resume`")
        command.set_defaults(run=_bar, verb=name)
    verbs.add_parser("resume", parents=[folder], help="take both back").set_defaults(run=_resume)
    plan = verbs.add_parser("plan", parents=[folder], help="whether it may use the Developer API (403 without)")
    plan.add_argument("value", choices=("on", "off"))
    plan.set_defaults(run=_plan)
    reconcile = verbs.add_parser("reconcile", parents=[folder], help="end a billing review: its costs are settled")
    reconcile.set_defaults(run=_reconcile)


def _bar(given: argparse.Namespace) -> int:
    from agentsvc_nb.service.usecases import accounts

    until = None if given.minutes is None else arguments.now() + given.minutes * 60_000
    bar = {"suspend": accounts.suspend, "throttle": accounts.throttle}[given.verb]
    return _write(given, lambda tx, account: bar(tx, account, until))


def _resume(given: argparse.Namespace) -> int:
    from agentsvc_nb.service.usecases import accounts

    return _write(given, accounts.resume)


def _plan(given: argparse.Namespace) -> int:
    from agentsvc_nb.service.usecases import accounts

    return _write(given, lambda tx, account: accounts.set_plan(tx, account, given.value == "on"))


def _reconcile(given: argparse.Namespace) -> int:
    from agentsvc_nb.service.usecases import accounts

    return _write(given, accounts.reconcile)


def _write(given: argparse.Namespace, change: Callable[[Tx, str], None]) -> int:
    """Change the account, and show what it is now."""
    from agentsvc_nb.service.keyring import open_beside
    from agentsvc_nb.service.usecases.accounts import ACCOUNT

    with open_beside(arguments.existing_folder(given.data)) as database:
        database.write_now(lambda tx: change(tx, ACCOUNT))
    return _show(given)


def _show(given: argparse.Namespace) -> int:
    from agentsvc_nb.service.keyring import open_beside
    from agentsvc_nb.service.plan import plan_of
    from agentsvc_nb.service.usecases import accounts
    from agentsvc_nb.service.usecases.accounts import ACCOUNT
    from agentsvc_nb.wire.runs import CENT
    from agentsvc_nb.wire.times import rfc3339

    folder, now = arguments.existing_folder(given.data), arguments.now()
    plan = plan_of(folder.path)
    with open_beside(folder) as database:
        found = database.read(lambda tx: accounts.standing(tx, ACCOUNT, now))
    until = found.account.state_until
    state = found.account.state_at(now)
    print(f"state:  {state}{f' until {rfc3339(until)}' if until and state != 'active' else ''}")
    print(f"plan:   {'on' if found.account.plan else 'off'}")
    if found.account.review_since is not None:
        since = rfc3339(found.account.review_since)
        print(f"review: since {since}, when a call came without token counts; end it with `agentsvc account reconcile`")
    print(f"wallet: {found.wallet / CENT:.2f} cents billed ({_of(plan, 'wallet_cents')})")
    print(f"plan pool, this month: {found.plan / CENT:.2f} cents billed ({_of(plan, 'plan_pool_cents')})")
    print(f"held by active runs and jobs: {found.held / CENT:.2f} cents")
    return 0


def _of(plan: Plan, name: str) -> str:
    """The limit that the folder keeps, which is the running service's, and what this terminal would make of it."""
    from agentsvc_nb.settings import variable

    kept, here = (each.shown(variable(name)) for each in (plan.kept, plan.keep))
    shown = "no limit" if kept == "unset" else f"of {kept}"
    return shown if kept == here else f"{shown}; here {here}, which counts after `agentsvc restart`"
