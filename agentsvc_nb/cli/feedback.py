"""`agentsvc feedback`: read, answer and close reports, with or without a running service."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from agentsvc_nb.cli import arguments
from agentsvc_nb.cli.arguments import Parser, Subparsers

if TYPE_CHECKING:
    from agentsvc_nb.service.records.feedback import FeedbackRecord

LIST_LIMIT: Final = 100


def add_parsers(commands: Subparsers, data: Parser) -> None:
    feedback = commands.add_parser("feedback", help="reports that were sent").add_subparsers(
        required=True, metavar="COMMAND"
    )
    listing = feedback.add_parser("list", parents=[data], help=f"show the newest {LIST_LIMIT}")
    listing.add_argument("--status", choices=("open", "answered", "closed"))
    listing.set_defaults(run=_list)
    reply = feedback.add_parser("reply", parents=[data], help="answer one; its sender sees the text")
    reply.add_argument("id", metavar="ID")
    reply.add_argument("text", metavar="TEXT")
    reply.set_defaults(run=_reply)
    close = feedback.add_parser("close", parents=[data], help="close one: nothing more will be done")
    close.add_argument("id", metavar="ID")
    close.set_defaults(run=_close)


def _list(args: argparse.Namespace) -> int:
    from agentsvc_nb.service.keyring import open_beside
    from agentsvc_nb.service.records import feedback
    from agentsvc_nb.service.usecases.accounts import ACCOUNT

    with open_beside(arguments.existing_folder(args.data)) as database:
        found = database.read(lambda tx: feedback.page(tx, ACCOUNT, args.status, LIST_LIMIT))
    for record in found:
        print(_described(record))
    return 0


def _reply(args: argparse.Namespace) -> int:
    from agentsvc_nb.service.keyring import open_beside
    from agentsvc_nb.service.usecases import feedback

    now = arguments.now()
    with open_beside(arguments.existing_folder(args.data)) as database:
        print(_described(database.write_now(lambda tx: feedback.reply(tx, args.id, args.text, now))))
    return 0


def _close(args: argparse.Namespace) -> int:
    from agentsvc_nb.service.keyring import open_beside
    from agentsvc_nb.service.usecases import feedback

    with open_beside(arguments.existing_folder(args.data)) as database:
        print(_described(database.write_now(lambda tx: feedback.close(tx, args.id))))
    return 0


def _described(record: FeedbackRecord) -> str:
    """A line of facts, then the report and the reply, sanitised because a report is untrusted text."""
    from agentsvc_nb.wire.text import plain
    from agentsvc_nb.wire.times import rfc3339

    about = [record.category, record.impact, record.endpoint, record.error_code, record.request_id]
    facts = [record.id, rfc3339(record.created_at)[:16], record.status, *(fact for fact in about if fact)]
    lines = ["  ".join(facts), *(f"  {line}" for line in record.summary.splitlines())]
    lines += [f"  > {line}" for line in (record.reply or "").splitlines()]
    return plain("\n".join(lines))
