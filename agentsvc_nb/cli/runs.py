"""`agentsvc runs`: list and follow runs, resume and undo them, and decide their tool calls."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from agentsvc_nb.cli import arguments
from agentsvc_nb.cli.approvals import edit_arguments
from agentsvc_nb.cli.arguments import Parser, Subparsers
from agentsvc_nb.cli.ask import follow
from agentsvc_nb.cli.connection import (
    UnusableInput,
    connect,
    format_minute,
    json_option,
    list_options,
    print_json,
    print_list,
    print_note,
    print_record,
    print_rows,
    read_object,
)

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService
    from agentsvc_nb.wire.runs import CallApproval, RunUndo


def add_parsers(commands: Subparsers, data: Parser) -> None:
    runs = commands.add_parser("runs", help="manage runs").add_subparsers(required=True, metavar="COMMAND")
    shown = [data, json_option()]
    runs.add_parser("list", parents=[*shown, list_options()], help="list runs, the newest first").set_defaults(
        run=_list
    )
    for name, run, help in (
        ("show", _show, "show a run: its state, usage and answer"),
        ("attach", _attach, "watch a run from its start; Ctrl-C does not stop it"),
        ("cancel", _cancel, "cancel a run; safe to repeat"),
        ("undo", _undo, "restore the files that a run changed"),
        ("redo", _redo, "bring back the changes that `undo` has undone"),
        ("raise", _raise, "raise the cost limit of an active run; safe to repeat"),
        (
            "resume",
            _resume,
            "continue a run that failed because its model was unavailable or a limit was reached, and watch it",
        ),
    ):
        command = runs.add_parser(name, parents=shown, help=help)
        command.add_argument(
            "run_id",
            metavar="ID",
            help="the run's id, as `runs list` shows it, or its beginning; `last` is the newest run",
        )
        command.set_defaults(run=run)
        if name in ("undo", "redo"):
            command.add_argument(
                "--force", action="store_true", help="also change files that were changed after the run"
            )
        if name == "raise":
            command.add_argument(
                "max_cents",
                type=arguments.cents,
                metavar="CENTS",
                help="the new cost limit in cents, for the whole run",
            )
        if name == "resume":
            command.add_argument(
                "--max-cents",
                type=arguments.cents,
                metavar="N",
                help="the cost limit of the new run; default: that of the failed run",
            )
            command.add_argument(
                "--max-steps",
                type=int,
                metavar="N",
                help="the maximum number of model steps; default: that of the failed run",
            )
    approve = runs.add_parser("approve", parents=shown, help="decide tool calls that wait for approval")
    approve.add_argument("run_id", metavar="ID", help="the run whose calls wait; `last` is the newest run")
    approve.add_argument("--call", metavar="CALL", help="the call to decide (call_...); default: all waiting calls")
    approve.add_argument(
        "--input", metavar="JSON", help="the input with which to call the tool instead: JSON, @FILE, or - for stdin"
    )
    approve.add_argument("--edit", action="store_true", help="edit the arguments in $EDITOR first")
    approve.add_argument(
        "--for",
        dest="lasts",
        choices=["run", "hour"],
        help="also approve further calls of the tool: in this run, or in its chat for an hour",
    )
    approve.add_argument("--folder", metavar="PATH", help="with --for: only further calls for files in this folder")
    approve.add_argument("--refuse", action="store_true", help="refuse the calls, and do not approve them")
    approve.add_argument("--reason", default="", help="with --refuse: the reason, which the agent gets")
    approve.set_defaults(run=_approve)
    standing = runs.add_parser("approvals", parents=shown, help="list standing approvals, or revoke one")
    standing.add_argument("--revoke", metavar="ID", help="revoke this approval (standing_...)")
    standing.set_defaults(run=_standing_approvals)


def _list(args: argparse.Namespace) -> int:
    columns = ("run", "status", "started", "chat", "message")
    with connect(args.data) as client:
        return print_list(
            client.runs.list(chat=args.chat, status=args.status),
            columns,
            lambda run: (
                run.run_id,
                f"{run.status}{', undone' * bool(run.undone_at)}",
                format_minute(run.created_at),
                run.chat,
                run.message,
            ),
            "There are no runs.",
            args,
        )


def _resolve_run_id(client: AgentService, run_id: str) -> str:
    """Return a run's id. `run_id` is the id, its beginning, or `last`. Raises `UnusableInput` for an unknown run."""
    from agentsvc_nb.wire import ids

    if ids.is_run(run_id):
        return run_id
    if run_id == "last":
        newest = client.runs.list().first()
        if newest is None:
            raise UnusableInput("There are no runs yet. Start one with `agentsvc ask`.")
        return newest.run_id
    listed = client.runs.list() if len(run_id) >= ids.RUN_BEGINNING else ()
    found = ids.match_run_ids(run_id, (run.run_id for run in listed))
    if len(found) != 1:
        wanted = f"at least its first {ids.RUN_BEGINNING} characters if no other id begins with them"
        raise UnusableInput(
            f"{run_id!r} does not name a run. Give the id of a run, or {wanted}. `agentsvc runs list` lists ids."
        )
    return found.pop()


def _show(args: argparse.Namespace) -> int:
    with connect(args.data) as client:
        print_record(client.runs.get(_resolve_run_id(client, args.run_id)), args.json)
    return 0


def _cancel(args: argparse.Namespace) -> int:
    with connect(args.data) as client:
        run = client.runs.cancel(_resolve_run_id(client, args.run_id))
    if args.json:
        print_json(run)
    else:
        print(f"{run.run_id}: {run.status}")
    return 0


def _undo(args: argparse.Namespace) -> int:
    with connect(args.data) as client:
        return _print_undo(client.runs.undo(_resolve_run_id(client, args.run_id), force=args.force), args)


def _redo(args: argparse.Namespace) -> int:
    with connect(args.data) as client:
        return _print_undo(client.runs.redo(_resolve_run_id(client, args.run_id), force=args.force), args, redo=True)


def _print_undo(undone: RunUndo, args: argparse.Namespace, *, redo: bool = False) -> int:
    """Print what an undo did to each file. Return exit code 1 if it left a file unchanged."""
    from agentsvc_nb.wire.undo import sentences

    if args.json:
        print_json(undone)
    else:
        print("\n".join(sentences(undone, "agentsvc runs", redo=redo)))
    return int(any(file.outcome == "left" for file in undone.files))


def _attach(args: argparse.Namespace) -> int:
    """Print a run from beginning to end, with the exit codes of `ask`. Ctrl-C stops the printing, but not the run."""
    with connect(args.data) as client:
        return _watch(client, _resolve_run_id(client, args.run_id), args.json)


def _resume(args: argparse.Namespace) -> int:
    """Start a run that continues a failed run, and print it as `attach` does."""
    with connect(args.data) as client:
        run_id = _resolve_run_id(client, args.run_id)
        run = client.runs.resume(run_id, max_cents=args.max_cents, max_steps=args.max_steps)
        return _watch(client, run.run_id, args.json)


def _raise(args: argparse.Namespace) -> int:
    with connect(args.data) as client:
        run = client.runs.raise_limit(_resolve_run_id(client, args.run_id), args.max_cents)
    if args.json:
        print_json(run)
    else:
        print(f"The cost limit of run {run.run_id} is now {run.max_cents or 0:,.2f} cents.")
    return 0


def _watch(client: AgentService, run_id: str, as_json: bool) -> int:
    with client.runs.attach(run_id) as stream:
        try:
            return follow(client, stream, as_json)
        except KeyboardInterrupt:
            print_note(f"\nThe run continues. Watch it with: agentsvc runs attach {run_id}")
            raise


def _approve(args: argparse.Namespace) -> int:
    """Approve or refuse one or all tool calls that wait for approval, and print them. Return 1 if no call waits."""
    from agentsvc_nb.client.approvals import waiting_calls
    from agentsvc_nb.wire.text import exact, label

    if args.refuse and (args.edit or args.input or args.lasts):
        raise UnusableInput("--input, --edit and --for can't be used together with --refuse. Nothing was sent.")
    if args.folder and not args.lasts:
        raise UnusableInput("--folder needs --for. Nothing was sent.")
    given = None if args.input is None else read_object(args.input, "The input")
    with connect(args.data) as client:
        run_id = _resolve_run_id(client, args.run_id)
        waiting = waiting_calls(client, run_id).values()
        chosen = [call for call in waiting if args.call in (None, call.call_id)]
        if given is not None and len(chosen) > 1:
            raise UnusableInput(f"{len(chosen)} calls wait for approval. Name one with --call. Nothing was sent.")
        decided: list[CallApproval] = []
        for call in chosen:
            if args.refuse:
                decided.append(client.runs.refuse(run_id, call.call_id, reason=args.reason))
            else:
                changed = edit_arguments(call.input) if args.edit else given
                further = {"lasts": args.lasts, "folder": args.folder}
                decided.append(client.runs.approve(run_id, call.call_id, input=changed, **further))
            if not args.json:
                used = call.input if decided[-1].input is None else decided[-1].input
                print(f"{'Refused' if args.refuse else 'Approved'}: {label(call.tool)} {exact(used)}")
    if args.json:
        print_json(decided)
    if not chosen:
        print("No call of this run waits for approval.", file=sys.stderr)
    return 0 if chosen else 1


def _standing_approvals(args: argparse.Namespace) -> int:
    """List the standing approvals, which approve further calls in advance, or revoke one of them."""
    with connect(args.data) as client:
        if args.revoke:
            revoked = client.runs.revoke_approval(args.revoke)
            print_json(revoked) if args.json else print(f"{revoked.id}: revoked")
            return 0
        found = list(client.runs.standing_approvals())
    if args.json:
        print_json(found)
        return 0
    rows = [
        (each.id, each.tool, each.folder or "", format_minute(each.expires_at) or f"run {each.run_id} ends", each.chat)
        for each in found
    ]
    print_rows(("approval", "tool", "folder", "until", "chat"), rows, "There are no standing approvals.")
    return 0
