"""`agentsvc ask` and `agentsvc runs`."""

from __future__ import annotations

import argparse
from pathlib import Path

from agentsvc_nb.cli.arguments import Commands, Parser


def add(commands: Commands, folder: Parser) -> None:
    ask = commands.add_parser("ask", parents=[folder], help="ask the agent; the answer is streamed to stdout")
    ask.add_argument("text", metavar="TEXT")
    ask.add_argument("--chat", help="a chat to go on with (chat_...)")
    ask.add_argument("--file", type=Path, action="append", default=[], metavar="FILE", help="a file to attach")
    ask.set_defaults(run=_ask)
    runs = commands.add_parser("runs", help="runs that were started before").add_subparsers(
        required=True, metavar="COMMAND"
    )
    attach = runs.add_parser("attach", parents=[folder], help="watch a run from its start; Ctrl-C lets it go on")
    attach.add_argument("run_id", metavar="ID")
    attach.set_defaults(run=_attach)
    approve = runs.add_parser("approve", parents=[folder], help="let the tool calls of a run go on that wait for it")
    approve.add_argument("run_id", metavar="ID")
    approve.add_argument("--call", metavar="CALL", help="one of them (call_...); default: all")
    approve.add_argument("--refuse", action="store_true", help="refuse them instead")
    approve.add_argument("--reason", default="", help="why they are refused: the agent is told")
    approve.set_defaults(run=_approve)


def _ask(given: argparse.Namespace) -> int:
    from agentsvc_nb.commands.ask import ask

    return ask(given.text, data=given.data, chat=given.chat, files=given.file)


def _attach(given: argparse.Namespace) -> int:
    from agentsvc_nb.commands.ask import attach

    return attach(given.run_id, data=given.data)


def _approve(given: argparse.Namespace) -> int:
    from agentsvc_nb.commands.approvals import decide

    return decide(given.run_id, data=given.data, call_id=given.call, refuse=given.refuse, reason=given.reason)
