"""`agentsvc keys`, `account` and `feedback`: manage API keys, the account, and the reports that users have sent.

These commands access the database directly, so no service needs to run. A running service notices a change at its next
request.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.cli import arguments
from agentsvc_nb.cli.arguments import Parser, Subparsers
from agentsvc_nb.cli.colours import colour_word
from agentsvc_nb.cli.connection import json_option, print_either, print_json

if TYPE_CHECKING:
    from agentsvc_nb.service.accounts.account_records import KeyRecord
    from agentsvc_nb.service.accounts.accounts import AccountBalance
    from agentsvc_nb.service.accounts.feedback_records import FeedbackRecord
    from agentsvc_nb.service.config import ServiceConfig
    from agentsvc_nb.service.ports import Tx


def add_parsers(commands: Subparsers, data: Parser) -> None:
    _add_keys(commands, data)
    _add_account(commands, data)


# -- keys -----------------------------------------------------------------------------------------------------------


def _add_keys(commands: Subparsers, data: Parser) -> None:
    keys = commands.add_parser("keys", help="manage API keys").add_subparsers(required=True, metavar="COMMAND")
    create = keys.add_parser("create", parents=[data], help="create a key; no service needs to run")
    create.add_argument("--name", required=True, type=arguments.key_name, help="the key's purpose, as lists show it")
    create.add_argument("--scope", action="append", default=[], help="runs, tools, jobs or mcp; default: full access")
    create.add_argument(
        "--budget-cents", type=arguments.budget, metavar="N", help="the most that the key may spend in a month"
    )
    create.add_argument("--member", action="store_true", help="create a member token, which is billed to the plan")
    create.add_argument("--json", action="store_true", help='print {"key": ...}')
    create.set_defaults(run=_create_key)
    keys.add_parser("list", parents=[data, json_option()], help="show the keys").set_defaults(run=_list_keys)
    for name, description in (
        ("suspend", "refuse a key's requests with 403 until `resume`"),
        ("resume", "accept the requests of a suspended key again"),
        ("revoke", "refuse a key's requests with 401 permanently"),
    ):
        command = keys.add_parser(name, parents=[data, json_option()], help=description)
        command.add_argument("key", metavar="KEY", help="the key's id, name or displayed prefix")
        command.set_defaults(run=_change_key, change=name)


def _create_key(args: argparse.Namespace) -> int:
    from agentsvc_nb.service.keyring import create_key
    from agentsvc_nb.settings import SettingsError

    if args.member and (args.scope or args.budget_cents is not None):
        raise SettingsError("A member token has no scopes and no budget. Leave out --scope and --budget-cents.")
    folder = arguments.data_folder(args.data)  # users may create a key before a service has run in the folder
    is_new = not folder.database.is_file()
    secret = create_key(
        folder, name=args.name, scopes=tuple(args.scope), budget_cents=args.budget_cents, member=args.member
    )
    if is_new:
        print(
            f"No service has run in {folder.path} yet. The first service that runs there will accept the key.",
            file=sys.stderr,
        )
    if args.json:
        print_json({"key": secret})
        return 0
    print(secret)
    print("This key is shown only once. Programs read it from SERVICE_API_KEY.", file=sys.stderr)
    return 0


def _list_keys(args: argparse.Namespace) -> int:
    from agentsvc_nb.service.accounts import account_records
    from agentsvc_nb.service.accounts.accounts import ACCOUNT
    from agentsvc_nb.service.times import rfc3339

    with arguments.database(args.data) as database:
        found = database.read(lambda tx: account_records.all_keys(tx, ACCOUNT))
    if args.json:
        print_json([_key_facts(key) for key in found])
        return 0
    for key in found:
        budget = "" if key.budget_cents is None else f"  {key.budget_cents} cents a month"
        kind = "member" if key.member else ", ".join(key.scopes) or "full access"
        created = rfc3339(key.created_at)[:10]
        state = _key_state(key)
        line = f"{key.id}  {key.prefix}...  {created}  {state:9}  {json.dumps(key.name)}  {kind}{budget}"
        print(colour_word(line, state, sys.stdout))
    return 0


def _change_key(args: argparse.Namespace) -> int:
    from agentsvc_nb.service.accounts import accounts

    now = arguments.now()
    with arguments.database(args.data) as database:
        key = database.write_now(lambda tx: accounts.change_key(tx, args.key, args.change, now))
    print_either(_key_facts(key), f"{key.id} ({json.dumps(key.name)}) is {_key_state(key)}.", args.json)
    return 0


def _key_facts(key: KeyRecord) -> dict[str, Any]:
    return {**key.public().model_dump(mode="json"), "status": _key_state(key)}


def _key_state(key: KeyRecord) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "active" if key.suspended_at is None else "suspended"


# -- the account ----------------------------------------------------------------------------------------------------


def _add_account(commands: Subparsers, data: Parser) -> None:
    account = commands.add_parser("account", help="manage the account: its money and its permissions")
    actions = account.add_subparsers(required=True, metavar="COMMAND")
    shown = [data, json_option()]
    show = actions.add_parser("show", parents=shown, help="show the account's state and costs")
    show.set_defaults(run=_print_account)
    for name, state, description in (
        ("suspend", "suspended", "refuse the account's requests with 429 user_suspended"),
        ("throttle", "throttled", "refuse the account's requests with 429 user_throttled"),
    ):
        command = actions.add_parser(name, parents=shown, help=description)
        command.add_argument(
            "--minutes", type=arguments.at_least_one, metavar="N", help="how long; default: until `resume`"
        )
        command.set_defaults(run=_restrict, restriction=state)
    actions.add_parser("resume", parents=shown, help="end a suspension or throttling").set_defaults(run=_resume)
    plan = actions.add_parser(
        "plan", parents=shown, help="allow the account to use the Developer API, or refuse it with 403"
    )
    plan.add_argument("value", choices=("on", "off"), help="on: the account may use the API")
    plan.set_defaults(run=_set_plan)
    reconcile = actions.add_parser("reconcile", parents=shown, help="end a billing review after its costs are settled")
    reconcile.set_defaults(run=_reconcile)


def _restrict(args: argparse.Namespace) -> int:
    from agentsvc_nb.service.accounts import account_records

    until = None if args.minutes is None else arguments.now() + args.minutes * 60_000
    return _change_account(args, lambda tx, account: account_records.set_state(tx, account, args.restriction, until))


def _resume(args: argparse.Namespace) -> int:
    from agentsvc_nb.service.accounts import account_records

    return _change_account(args, lambda tx, account: account_records.set_state(tx, account, "active"))


def _set_plan(args: argparse.Namespace) -> int:
    from agentsvc_nb.service.accounts import account_records

    return _change_account(args, lambda tx, account: account_records.set_plan(tx, account, args.value == "on"))


def _reconcile(args: argparse.Namespace) -> int:
    from agentsvc_nb.service.accounts import account_records

    return _change_account(args, lambda tx, account: account_records.set_review(tx, account, None))


def _change_account(args: argparse.Namespace, change: Callable[[Tx, str], Any]) -> int:
    """Change the account and print its new state."""
    from agentsvc_nb.service.accounts.accounts import ACCOUNT

    with arguments.database(args.data) as database:
        database.write_now(lambda tx: change(tx, ACCOUNT))
    return _print_account(args)


def _print_account(args: argparse.Namespace) -> int:
    from agentsvc_nb.service.accounts import accounts
    from agentsvc_nb.service.config import load_config
    from agentsvc_nb.service.times import rfc3339
    from agentsvc_nb.wire.runs import CENT

    folder = arguments.existing_folder(args.data)
    now = arguments.now()
    config = load_config(folder.path)
    with arguments.database(args.data) as database:
        found = database.read(lambda tx: accounts.get_balance(tx, accounts.ACCOUNT, now))
    until = found.account.state_until
    state = found.account.state_at(now)
    if args.json:
        print_json(_facts(found, state))
        return 0
    print(f"state:  {state}{f' until {rfc3339(until)}' if until and state != 'active' else ''}")
    print(f"plan:   {'on' if found.account.plan else 'off'}")
    if found.account.review_since is not None:
        since = rfc3339(found.account.review_since)
        print(
            f"review: since {since}, because a model call reported no token counts. End it with `agentsvc "
            "account reconcile`"
        )
    print(f"wallet: {found.wallet / CENT:.2f} cents billed ({_limit(config, 'wallet_cents')})")
    print(f"plan pool, this month: {found.plan_pool / CENT:.2f} cents billed ({_limit(config, 'plan_pool_cents')})")
    print(f"reserved by active runs and jobs: {found.held / CENT:.2f} cents")
    return 0


def _facts(found: AccountBalance, state: str) -> dict[str, Any]:
    from agentsvc_nb.service.times import rfc3339
    from agentsvc_nb.wire.runs import CENT

    until, review = found.account.state_until, found.account.review_since
    return {
        "state": state,
        "until": rfc3339(until) if until and state != "active" else None,
        "plan": found.account.plan,
        "review_since": rfc3339(review) if review is not None else None,
        "wallet_cents": found.wallet / CENT,
        "plan_pool_cents": found.plan_pool / CENT,
        "held_cents": found.held / CENT,
    }


def _limit(config: ServiceConfig, name: str) -> str:
    """Describe the limit that the service enforces, and the limit that is set in this terminal if it differs.

    The data folder stores the settings with which its service runs. The settings of this terminal take effect when the
    service is restarted from it.
    """
    from agentsvc_nb.settings import variable

    kept = config.stored.display(variable(name))
    here = config.to_store.display(variable(name))
    limit = "no limit" if kept == "unset" else f"of {kept} cents"
    return limit if kept == here else f"{limit}; {here} after `agentsvc restart` from this terminal"


# -- feedback -------------------------------------------------------------------------------------------------------

REPORTS_LISTED: Final = 100


def add_feedback_parsers(commands: Subparsers, data: Parser) -> None:
    feedback = commands.add_parser("feedback", help="read and answer the reports of users").add_subparsers(
        required=True, metavar="COMMAND"
    )
    listing = feedback.add_parser(
        "list", parents=[data, json_option()], help=f"show the newest {REPORTS_LISTED} reports"
    )
    listing.add_argument("--status", choices=("open", "answered", "closed"), help="only reports with this status")
    listing.set_defaults(run=_list_reports)
    reply = feedback.add_parser(
        "reply", parents=[data, json_option()], help="reply to a report; its sender sees the text"
    )
    reply.add_argument("id", metavar="ID", help="the report's id, as `feedback list` shows it")
    reply.add_argument("text", metavar="TEXT", help="the reply")
    reply.set_defaults(run=_reply_to_report)
    close = feedback.add_parser("close", parents=[data, json_option()], help="close a report without further work")
    close.add_argument("id", metavar="ID", help="the report's id, as `feedback list` shows it")
    close.set_defaults(run=_close_report)


def _list_reports(args: argparse.Namespace) -> int:
    from agentsvc_nb.service.accounts import feedback_records
    from agentsvc_nb.service.accounts.accounts import ACCOUNT

    with arguments.database(args.data) as database:
        found = database.read(lambda tx: feedback_records.page(tx, ACCOUNT, args.status, REPORTS_LISTED))
    if args.json:
        print_json([record.public() for record in found])
        return 0
    for record in found:
        print(_report_text(record))
    return 0


def _reply_to_report(args: argparse.Namespace) -> int:
    from agentsvc_nb.service.accounts import feedback

    now = arguments.now()
    with arguments.database(args.data) as database:
        record = database.write_now(lambda tx: feedback.reply(tx, args.id, args.text, now))
    print_either(record.public(), _report_text(record), args.json)
    return 0


def _close_report(args: argparse.Namespace) -> int:
    from agentsvc_nb.service.accounts import feedback

    with arguments.database(args.data) as database:
        record = database.write_now(lambda tx: feedback.close(tx, args.id))
    print_either(record.public(), _report_text(record), args.json)
    return 0


def _report_text(record: FeedbackRecord) -> str:
    """Return a report as text: facts, the summary and the reply. The text is sanitised, because users wrote it."""
    from agentsvc_nb.service.times import rfc3339
    from agentsvc_nb.wire.text import plain

    about = [record.category, record.impact, record.endpoint, record.error_code, record.request_id]
    facts = [record.id, rfc3339(record.created_at)[:16], record.status, *(fact for fact in about if fact)]
    lines = ["  ".join(facts), *(f"  {line}" for line in record.summary.splitlines())]
    lines += [f"  > {line}" for line in (record.reply or "").splitlines()]
    return plain("\n".join(lines))
