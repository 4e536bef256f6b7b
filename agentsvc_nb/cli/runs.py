"""`agentsvc ask` and `agentsvc runs`: a run's text goes to stdout, everything else to stderr."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentsvc_nb.cli import arguments
from agentsvc_nb.cli.arguments import Parser, Subparsers

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from agentsvc_nb.client.api import AgentService
    from agentsvc_nb.client.event_streams import EventStream
    from agentsvc_nb.wire.runs import Event, Run


class UnreadableFile(OSError):
    """A file to attach can't be read; the message says which and why."""


def add_parsers(commands: Subparsers, data: Parser) -> None:
    ask = commands.add_parser("ask", parents=[data], help="ask the agent; the answer is streamed to stdout")
    ask.add_argument("text", metavar="TEXT")
    ask.add_argument("--chat", help="a chat to go on with (chat_...)")
    ask.add_argument("--file", type=Path, action="append", default=[], metavar="FILE", help="a file to attach")
    ask.set_defaults(run=_ask)
    runs = commands.add_parser("runs", help="runs that were started before").add_subparsers(
        required=True, metavar="COMMAND"
    )
    attach = runs.add_parser("attach", parents=[data], help="watch a run from its start; Ctrl-C lets it go on")
    attach.add_argument("run_id", metavar="ID")
    attach.set_defaults(run=_attach)
    approve = runs.add_parser("approve", parents=[data], help="let the tool calls of a run go on that wait for it")
    approve.add_argument("run_id", metavar="ID")
    approve.add_argument("--call", metavar="CALL", help="one of them (call_...); default: all")
    approve.add_argument("--refuse", action="store_true", help="refuse them instead")
    approve.add_argument("--reason", default="", help="why they are refused: the agent is told")
    approve.set_defaults(run=_approve)


def _ask(args: argparse.Namespace) -> int:
    return ask(args.text, data=args.data, chat=args.chat, files=args.file)


def ask(text: str, *, data: Path | None = None, chat: str | None = None, files: Sequence[Path] = ()) -> int:
    """Start a run and print its text as it arrives; Ctrl-C cancels the run. Exit code 0 if it completed, else 1.

    Raises `KeyboardInterrupt` once the run is cancelled, `UnreadableFile`, `StefanBrainError` when the service refuses,
    and the errors of `embedded.find_or_start`.
    """
    from agentsvc_nb.client.errors import APIConnectionError
    from agentsvc_nb.embedded import EmbeddedError

    for file in files:
        _require_readable(file)
    with _client(data) as client, client.runs.start_and_stream(text, chat=chat, files=files) as stream:
        try:
            return _print_stream(stream)
        except KeyboardInterrupt:
            _print_run(client.runs.cancel(stream.run_id))
            raise
        except (APIConnectionError, EmbeddedError):
            _print_lost(stream.run_id)
            raise


def _attach(args: argparse.Namespace) -> int:
    """Print a run from its beginning to its end; Ctrl-C leaves it running. Exit codes as for `ask`.

    Raises the errors of `ask`, and `NoService` for a folder in which no service ever ran.
    """
    from agentsvc_nb.client.errors import APIConnectionError
    from agentsvc_nb.embedded import EmbeddedError

    with _client(args.data, existing=True) as client, client.runs.attach(args.run_id) as stream:
        try:
            return _print_stream(stream)
        except KeyboardInterrupt:
            _print_note(f"\nThe run goes on: agentsvc runs attach {args.run_id}")
            raise
        except (APIConnectionError, EmbeddedError):
            _print_lost(args.run_id)
            raise


def _approve(args: argparse.Namespace) -> int:
    """Approve or refuse one waiting tool call, or all of them, and print each. The exit code is 1 if none waits.

    Raises `StefanBrainError`, and `NoService` for a folder in which no service ever ran.
    """
    from agentsvc_nb.client.approvals import waiting_calls
    from agentsvc_nb.wire.text import exact, label

    with _client(args.data, existing=True) as client:
        waiting = waiting_calls(client, args.run_id).values()
        chosen = [call for call in waiting if args.call in (None, call.call_id)]
        for call in chosen:
            if args.refuse:
                client.runs.refuse(args.run_id, call.call_id, reason=args.reason)
            else:
                client.runs.approve(args.run_id, call.call_id)
            print(f"{'Refused' if args.refuse else 'Approved'}: {label(call.tool)} {exact(call.input)}")
    if not chosen:
        print("No call of this run waits for approval.", file=sys.stderr)
    return 0 if chosen else 1


def _require_readable(file: Path) -> None:
    if file.is_dir():
        raise UnreadableFile(f"{file} is a folder; nothing was sent. Name its files, each with --file.")
    if not os.path.exists(file):
        raise UnreadableFile(f"There is no file {file}; nothing was sent. Check the path.")
    if not os.access(file, os.R_OK):  # not opened: a pipe such as <(date) can be read only once
        raise UnreadableFile(f"{file} can't be read; nothing was sent. Check its permissions.")


def _client(data: Path | None, *, existing: bool = False) -> AbstractContextManager[AgentService]:
    """A client of the service at `AGENTSVC_BASE_URL`, else of the embedded service, which is started if need be.

    Raises `EmbeddedError`, also for a key without an address, because a key alone does not say where it may be sent
    (docs/api/embedded.md "Address and key"). With `existing`, raises `NoService` for a folder in which no service ever
    ran.
    """
    from agentsvc_nb.client.api import AgentService
    from agentsvc_nb.client.request.origin import KEY_VARIABLE, URL_VARIABLE
    from agentsvc_nb.embedded import EmbeddedError, local

    url = os.environ.get(URL_VARIABLE)
    if data is None and url:
        return AgentService(base_url=url)
    if data is None and os.environ.get(KEY_VARIABLE):
        raise EmbeddedError(
            f"{KEY_VARIABLE} is set, but not the service it is for: set {URL_VARIABLE}, "
            f"or unset {KEY_VARIABLE} to use the service on this machine."
        )
    if existing:
        arguments.existing_folder(data)
    return local(data)


def _print_stream(stream: EventStream) -> int:
    """Print the run's text until the run ends. Returns exit code 0 if it completed, else 1."""
    from agentsvc_nb.wire.text import exact, label, plain

    transcript = StreamedText()
    # An agent's text must not control the terminal; a pipe gets it unchanged.
    sanitize = plain if sys.stdout.isatty() else str
    for event in stream:
        sys.stdout.write(sanitize(transcript.add(event)))
        sys.stdout.flush()
        if event.type == "approval.requested":
            call = f"{label(event.payload.get('tool'))} {exact(event.payload.get('input'))}"
            _print_note(f"\n{call}\nwaits for approval: agentsvc runs approve {stream.run_id}")
    run = stream.final_status()
    sys.stdout.write(sanitize(transcript.finish(run)))
    sys.stdout.flush()
    _print_run(run)
    if run.status != "completed":
        _print_note(f"agentsvc: {run.last_error_message or run.last_error or run.status}")
    return 0 if run.status == "completed" else 1


class StreamedText:
    """Turns events into text to print, and remembers which printed text is still part of the answer.

    After a crash the service discards the last step and repeats it (docs/api/events.md). A terminal can't take text
    back, so a notice says that the step is repeated.
    """

    def __init__(self) -> None:
        self._deltas: list[tuple[int, str]] = []
        self._at_line_start = True

    def add(self, event: Event) -> str:
        """The text to print for the event."""
        if event.type == "text.delta":
            text = str(event.payload.get("text", ""))
            self._deltas.append((event.id, text))
            return self._printed(text)
        if event.type == "run.resumed" and (kept := self._kept_deltas(event)) != self._deltas:
            self._deltas = kept
            notice = "[The service was restarted; what follows replaces its last step.]\n"
            return self._printed(self._newline() + notice)
        return ""

    def finish(self, run: Run) -> str:
        """The rest to print: the run's output, if it differs from the streamed text."""
        streamed = "".join(text for _, text in self._deltas)
        output = run.output or ""
        rest = self._newline() + output if output.strip() != streamed.strip() else ""
        return self._printed(rest) + self._newline()

    def _kept_deltas(self, resumed: Event) -> list[tuple[int, str]]:
        discard_after = int(resumed.payload.get("discard_after", 0))
        return [delta for delta in self._deltas if delta[0] <= discard_after]

    def _newline(self) -> str:
        return "" if self._at_line_start else "\n"

    def _printed(self, text: str) -> str:
        if text:
            self._at_line_start = text.endswith("\n")
        return text


def _print_run(run: Run) -> None:
    _print_note(f"[run {run.run_id}, chat {run.chat}: {run.status}]")


def _print_lost(run_id: str) -> None:
    """Say how to follow the run later; the reason is in the exception that is about to be raised."""
    _print_note(f"\nThe service went away before the run ended; once it is back: agentsvc runs attach {run_id}")


def _print_note(line: str) -> None:
    from agentsvc_nb.wire.text import plain

    print(plain(line), file=sys.stderr, flush=True)
