"""`agentsvc jobs` and `agentsvc tools`: list the tools of the service, and run them as jobs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agentsvc_nb.cli import arguments
from agentsvc_nb.cli.arguments import Parser, Subparsers
from agentsvc_nb.cli.connection import (
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
    from agentsvc_nb.client.models import Job


def add_parsers(commands: Subparsers, data: Parser) -> None:
    tools = commands.add_parser("tools", help="show the service's tools").add_subparsers(
        required=True, metavar="COMMAND"
    )
    shown = [data, json_option()]
    tools.add_parser("list", parents=shown, help="list the tools").set_defaults(run=_list_tools)
    show = tools.add_parser("show", parents=shown, help="show a tool, with the schema of its input")
    show.add_argument("tool", metavar="TOOL", help="the tool's name, as `tools list` shows it")
    show.set_defaults(run=_show_tool)
    jobs = commands.add_parser("jobs", help="run tools as jobs").add_subparsers(required=True, metavar="COMMAND")
    jobs.add_parser("list", parents=[*shown, list_options()], help="list jobs, the newest first").set_defaults(
        run=_list
    )
    run = jobs.add_parser("run", parents=shown, help="submit a job and wait for it; Ctrl-C cancels it")
    run.add_argument("tool", metavar="TOOL", help="the tool's name, as `tools list` shows it")
    run.add_argument(
        "input", metavar="INPUT", nargs="?", default="{}", help="the input: a JSON object, @FILE, or - for stdin"
    )
    run.add_argument("--chat", help="the chat in which the job works (chat_...)")
    run.add_argument("--to", type=Path, metavar="FOLDER", help="the folder for the files that the job writes")
    run.add_argument(
        "--timeout", type=arguments.seconds, metavar="SECONDS", help="stop waiting after this time; the job continues"
    )
    run.set_defaults(run=_run)
    for name, command, help in (
        ("show", _show, "show a job, with its result if it has one"),
        ("cancel", _cancel, "cancel a job; safe to repeat"),
    ):
        one = jobs.add_parser(name, parents=shown, help=help)
        one.add_argument("job_id", metavar="ID", help="the job's id, as `jobs run` shows it")
        one.add_argument("--chat", required=True, help="the chat of the job (chat_...)")
        one.set_defaults(run=command)


def _list_tools(args: argparse.Namespace) -> int:
    with connect(args.data) as client:
        found = client.tools.list()
    if args.json:
        print_json(found)
    else:
        rows = ((tool.name, "yes" if tool.available else "no", tool.description) for tool in found)
        print_rows(("tool", "available", "what it does"), rows, "The service has no tools.")
    return 0


def _show_tool(args: argparse.Namespace) -> int:
    with connect(args.data) as client:
        print_json(client.tools.describe(args.tool))
    return 0


def _run(args: argparse.Namespace) -> int:
    """Submit a job and wait for it. Print its progress to stderr and its result to stdout. Ctrl-C cancels the job."""
    from agentsvc_nb.wire.limits import WAIT_SECONDS

    given = read_object(args.input, "The input")
    with connect(args.data) as client:
        accepted = client.jobs.submit(args.tool, given, chat=args.chat)
        print_note(f"[job {accepted.job_id}, chat {accepted.chat}]")
        try:
            client.jobs.wait(
                accepted.job_id, chat=accepted.chat, timeout=args.timeout or WAIT_SECONDS, on_progress=_print_progress()
            )
        except KeyboardInterrupt:
            client.jobs.cancel(accepted.job_id, chat=accepted.chat)
            raise
        return _print_result(client, client.jobs.result(accepted.job_id, chat=accepted.chat), args)


def _print_result(client: AgentService, job: Job, args: argparse.Namespace) -> int:
    from agentsvc_nb.wire.text import plain

    places = [file.path for file in job.files or []]
    if args.to:
        places = [str(place) for place in client.jobs.download_artifacts(job, to=args.to)]
    if args.json:
        print_json(job)
    else:
        said = "\n".join(places or (str(block["text"]) for block in job.content if block.get("type") == "text"))
        print(plain(said) if sys.stdout.isatty() else said)  # sanitised for terminals, as in `ask`
    return 0


def _print_progress() -> Callable[[Job], None]:
    """Return a callback that prints a job's progress on a new line whenever it has changed."""
    told = ""

    def tell(job: Job) -> None:
        nonlocal told
        if (progress := job.progress) is not None:
            of_total = f" of {progress.total:g}" if progress.total else ""
            line = f"{progress.done:g}{of_total} {progress.message}".rstrip()
            if line != told:
                print_note(line)
            told = line

    return tell


def _list(args: argparse.Namespace) -> int:
    columns = ("job", "status", "submitted", "chat", "tool")
    with connect(args.data) as client:
        return print_list(
            client.jobs.list(chat=args.chat, status=args.status),
            columns,
            lambda job: (job.job_id, job.status, format_minute(job.created_at), job.chat, job.tool),
            "There are no jobs.",
            args,
        )


def _show(args: argparse.Namespace) -> int:
    with connect(args.data) as client:
        job = client.jobs.status(args.job_id, chat=args.chat)
        if job.status == "succeeded":
            job = client.jobs.result(args.job_id, chat=args.chat)
        print_record(job, args.json)
    return 0


def _cancel(args: argparse.Namespace) -> int:
    with connect(args.data) as client:
        job = client.jobs.cancel(args.job_id, chat=args.chat)
    if args.json:
        print_json(job)
    else:
        print(f"{job.job_id}: {job.status}")
    return 0
