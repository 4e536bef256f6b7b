"""`agentsvc ask`: start a run and follow it in the terminal. Its text goes to stdout, everything else to stderr."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentsvc_nb.cli import approvals, arguments
from agentsvc_nb.cli.arguments import Parser, Subparsers, service_model
from agentsvc_nb.cli.colours import RED, YELLOW
from agentsvc_nb.cli.connection import (
    connect,
    json_option,
    print_json,
    print_note,
    read_object,
    read_text,
    require_readable,
)

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService
    from agentsvc_nb.client.streams import EventStream
    from agentsvc_nb.wire.runs import Event, PlanStep, Run


def add_parsers(commands: Subparsers, data: Parser) -> None:
    ask = commands.add_parser(
        "ask", parents=[data, json_option()], help="ask the agent, and stream its answer to stdout"
    )
    ask.add_argument("text", metavar="TEXT", help="the question; - reads it from standard input")
    ask.add_argument("--chat", help="the chat to continue (chat_...)")
    ask.add_argument("--file", "-f", type=Path, action="append", default=[], metavar="FILE", help="a file to attach")
    ask.add_argument(
        "--schema", metavar="JSON", help="a JSON Schema that the answer must fit, or @FILE; needs a language model"
    )
    ask.add_argument(
        "--model",
        type=service_model,
        help="a model of the service, as `agentsvc model` lists it; default: the service's default model",
    )
    ask.add_argument(
        "--timeout", type=arguments.seconds, metavar="SECONDS", help="stop waiting after this time; the run continues"
    )
    ask.set_defaults(run=_ask)


def _ask(args: argparse.Namespace) -> int:
    schema = None if args.schema is None else read_object(args.schema, "The schema")
    return ask(
        read_text(args.text),
        data=args.data,
        chat=args.chat,
        files=args.file,
        schema=schema,
        model=args.model,
        timeout=args.timeout,
        as_json=args.json,
    )


def ask(
    text: str,
    *,
    data: Path | None = None,
    chat: str | None = None,
    files: Sequence[Path] = (),
    schema: dict[str, Any] | None = None,
    model: str | None = None,
    timeout: float | None = None,
    as_json: bool = False,
) -> int:
    """Start a run and print its text as it arrives, or, with `as_json`, print its record at the end. Ctrl-C cancels the
    run.

    Returns the exit code: 0 if the run completed, otherwise 1. Raises `KeyboardInterrupt` after Ctrl-C has cancelled
    the run, `UnusableInput`, `JobTimeoutError`, `StefanBrainError` if the service refuses the request, and the errors
    of `embedded.find_or_start`.
    """
    for file in files:
        require_readable(file)
    with (
        connect(data, existing=False) as client,
        client.runs.start_and_stream(
            text, chat=chat, files=files, output_config=schema, model=model, timeout=timeout
        ) as stream,
    ):
        try:
            return follow(client, stream, as_json)
        except KeyboardInterrupt:
            _print_run(client.runs.cancel(stream.run_id))
            raise


def follow(client: AgentService, stream: EventStream, as_json: bool = False) -> int:
    """Print the run's text until the run ends, or, with `as_json`, print its record at the end. In a terminal, ask the
    user to decide calls that wait for approval. Returns the exit code: 0 if the run completed, otherwise 1.
    """
    from agentsvc_nb.client.errors import APIConnectionError, JobTimeoutError
    from agentsvc_nb.embedded import EmbeddedError

    try:
        return _print_stream(client, stream, as_json)
    except JobTimeoutError:
        print_note(f"\nThe run continues. Watch it with: agentsvc runs attach {stream.run_id}")
        raise
    except (APIConnectionError, EmbeddedError):  # the error's own message says why the connection was lost
        lost = "The connection to the service was lost before the run ended. Once the service is back"
        print_note(f"\n{lost}, continue with: agentsvc runs attach {stream.run_id}")
        raise


def _print_stream(client: AgentService, stream: EventStream, as_json: bool) -> int:
    from agentsvc_nb.client.plans import changed_lines, read_plan
    from agentsvc_nb.wire.codes import resume_command
    from agentsvc_nb.wire.number_sources import summary
    from agentsvc_nb.wire.text import exact, label, plain, reveal

    transcript = StreamedText()
    plan: list[PlanStep] = []
    # The text of an agent must not control the terminal. A pipe gets the text unchanged.
    sanitize = plain if sys.stdout.isatty() else str
    for event in stream:
        if not as_json:
            sys.stdout.write(sanitize(transcript.add(event)))
            sys.stdout.flush()
        if event.type == "approval.requested":
            call = f"{label(event.payload.get('tool'))} {exact(event.payload.get('input'))}"
            if diff := event.payload.get("diff"):
                call += f"\nwould change:\n{reveal(str(diff))}"
            print_note(f"\n{call}\nwaits for approval: agentsvc runs approve {stream.run_id}", YELLOW)
            if not as_json and sys.stdin.isatty() and sys.stdout.isatty():
                approvals.decide_here(client, stream.run_id, str(event.payload.get("call_id")))
        elif event.type == "plan.changed":
            before, plan = plan, read_plan(event)
            print_note(f"\n{changed_lines(before, plan)}")
        elif event.type == "warning" and event.code in ("day_budget_near", "tools_not_used"):
            print_note(f"\n{label(event.message)}", YELLOW)
        elif event.type == "limit.near":
            spent = f"The run has spent {event.spent_cents:,.2f} of {event.max_cents:,.2f} cents"
            more = f"agentsvc runs raise {stream.run_id} {event.suggested_cents:g}"
            print_note(f"\n{spent}. Raise the limit with: {more}", YELLOW)
        elif event.type == "limit.raised":
            print_note(f"\nThe cost limit of the run is now {event.max_cents:,.2f} cents.", YELLOW)
    run = stream.final_status()
    if as_json:
        print_json(run)
    else:
        sys.stdout.write(sanitize(transcript.finish(run)))
        sys.stdout.flush()
        if sources := summary(run.basis, named=True):
            print_note(sources)
    _print_run(run)
    if run.basis is not None and run.basis.basis == "not_computed":
        from agentsvc_nb.wire.runs import NOT_COMPUTED

        print_note(NOT_COMPUTED, YELLOW)
    if run.status != "completed":
        print_note(f"agentsvc: {run.last_error_message or run.last_error or run.status}", RED)
        if again := resume_command("agentsvc runs resume", run.run_id, run.last_error, run.last_error_message):
            print_note(f"Continue the run with: {again}", YELLOW)
    return 0 if run.status == "completed" else 1


class StreamedText:
    """Converts a run's events to text to print, and remembers which printed text is still part of the answer.

    After a crash, the service discards the last step of a run and repeats it (docs/api/events.md). A terminal can't
    remove printed text, so a notice tells the user that the step is repeated.
    """

    def __init__(self) -> None:
        self._deltas: list[tuple[int, str]] = []
        self._at_line_start = True

    def add(self, event: Event) -> str:
        """Return the text to print for an event, or ""."""
        if event.type == "text.delta":
            text = str(event.payload.get("text", ""))
            self._deltas.append((event.id, text))
            return self._printed(text)
        if event.type == "run.resumed" and (kept := self._kept_deltas(event)) != self._deltas:
            self._deltas = kept
            notice = "[The service was restarted. The following text replaces the last step.]\n"
            return self._printed(self._newline() + notice)
        return ""

    def finish(self, run: Run) -> str:
        """Return the text to print at the end: the run's output, if it differs from the streamed text."""
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
    from agentsvc_nb.wire.runs import CENT

    known = [run.model or "no model"]
    if run.model != "offline":
        known.append(f"{run.usage.cost_microcents / CENT:,.2f} cents")
    known.append(f"continue with --chat {run.chat}" if run.status == "completed" else f"run {run.run_id}")
    print_note(f"[{run.status}: {', '.join(known)}]")
