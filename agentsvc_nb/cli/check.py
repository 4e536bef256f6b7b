"""`agentsvc check`: ask the questions in a file, and compare the answers with the expected answers (docs/check.md)."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import math
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb import clock
from agentsvc_nb.cli import arguments
from agentsvc_nb.cli.arguments import Parser, Subparsers, service_model
from agentsvc_nb.cli.colours import BOLD, RED, colour_text
from agentsvc_nb.cli.connection import connect_async, json_option, print_json, print_note, print_rows

if TYPE_CHECKING:
    from agentsvc_nb.cli.questions import Case, Questions
    from agentsvc_nb.client.api import AsyncAgentService

EXAMPLE: Final = "questions:\n  - ask: How many orders are there?\n    files: orders.csv\n    value: 1204"
CANCELLED: Final = "Active runs were cancelled."
INTERRUPTED: Final = f"Interrupted. {CANCELLED}"
LEAST_CENTS: Final = 0.01
ANSWER_CHARS: Final = 400


def add_parsers(commands: Subparsers, data: Parser) -> None:
    check = commands.add_parser(
        "check",
        parents=[data, json_option()],
        help="test answers: ask the questions in a file, and compare the answers with the expected ones",
        description=f"Ask questions, and compare the answers with your expectations. A file of questions:\n\n{EXAMPLE}",
    )
    check.add_argument("file", type=Path, metavar="FILE", help="a YAML file with questions and the expected answers")
    each = "a model to ask; repeat the option to compare models; default: the service's default model"
    check.add_argument("--each", type=service_model, action="append", metavar="MODEL", help=each)
    at_once = "the number of questions to ask at once; default: 4"
    check.add_argument("--parallel", type=arguments.at_least_one, default=4, metavar="N", help=at_once)
    check.add_argument(
        "--max-cents", type=arguments.cents, metavar="CENTS", help="the cost limit for all questions together"
    )
    check.add_argument(
        "--junit", type=arguments.new_file, metavar="FILE", help="also write the results to a JUnit XML file"
    )
    kept = check.add_mutually_exclusive_group()
    kept.add_argument("--record", type=Path, metavar="FOLDER", help="store the answers in this folder")
    kept.add_argument(
        "--replay", type=Path, metavar="FOLDER", help="check the answers stored in this folder, and ask nothing"
    )
    check.set_defaults(run=_check)


def _check(args: argparse.Namespace) -> int:
    from agentsvc_nb.cli.questions import Case, UnusableQuestions, read_questions

    stopped = ""
    try:
        questions = read_questions(args.file)
        models = dict.fromkeys(args.each or [None])
        cases = [Case(question=question, model=model) for model in models for question in questions.questions]
        if args.record:
            args.record.mkdir(parents=True, exist_ok=True)
        if args.replay is None:
            stopped = asyncio.run(_ask_all(cases, questions, args))
    except UnusableQuestions as error:
        print_note(f"agentsvc: {error}", RED)
        return 2
    for case in cases:
        if args.replay:
            _replay(case, args.replay)
    results = [case.result() for case in cases]
    if args.json:
        print_json(results)
    else:
        _print_results(results)
    if args.junit:
        _write_junit(args.junit, args.file.stem, results)
    for case in cases:
        if args.record and not case.error and case.run:
            answer = case.model_dump_json(include={"run", "seconds"}, indent=1)
            _recording(case, args.record).write_text(answer, encoding="utf-8")
    if stopped:
        print_note(f"agentsvc: {stopped}", RED)
    if stopped == INTERRUPTED:
        raise KeyboardInterrupt
    return 0 if all(result["status"] == "ok" for result in results) else 1


async def _ask_all(cases: list[Case], questions: Questions, args: argparse.Namespace) -> str:
    """Ask the questions of all cases. If some were not asked or not answered, return the reason, else ""."""
    from agentsvc_nb.cli.questions import UnusableQuestions

    async with connect_async(args.data) as client:
        if args.each and (unknown := set(args.each) - {model.id for model in await client.models.list()}):
            raise UnusableQuestions(f"The service does not offer {', '.join(unknown)}. `agentsvc model` lists models.")
        slots = asyncio.Semaphore(args.parallel)
        asker = Asker(client, args.parallel, args.max_cents or questions.max_cents, slots)
        try:
            async with asyncio.timeout(questions.max_seconds), asyncio.TaskGroup() as group:
                for case in cases:
                    group.create_task(asker.ask(case))
        except TimeoutError:
            return f"The time limit of {questions.max_seconds:g} s for all questions is over. {CANCELLED}"
        except asyncio.CancelledError:  # Ctrl-C: show the answers received so far
            return INTERRUPTED
        return asker.stopped


@dataclass
class Asker:
    """Asks questions, at most `parallel` of them concurrently, for at most `cents_left` in total."""

    client: AsyncAgentService
    parallel: int
    cents_left: float
    slots: asyncio.Semaphore
    stopped: str = ""
    """The reason why no more questions are asked, or ""."""

    async def ask(self, case: Case) -> None:
        """Ask a case's question, unless the money is spent or the service is unavailable."""
        async with self.slots:
            # Each run may spend an equal share of the remaining cents, so that concurrent runs can't spend more in
            # total.
            share = self.cents_left / self.parallel
            if share < LEAST_CENTS:
                self.stopped = (
                    self.stopped
                    or "The other questions were not asked, because the cost limit for all questions is used up."
                )
            if self.stopped:
                return
            limit = min(case.question.max_cents, share)
            reserved = limit if math.isfinite(limit) else 0.0
            self.cents_left -= reserved
            await self._answer(case, reserved or None)
            if case.run is None or case.run.ended:  # a run that has not ended may still spend its share
                self.cents_left += reserved - case.cents

    async def _answer(self, case: Case, max_cents: float | None) -> None:
        from agentsvc_nb.client.errors import APIConnectionError, AuthenticationError, StefanBrainError
        from agentsvc_nb.embedded import EmbeddedError

        question, began, runs = case.question, clock.monotonic(), self.client.runs
        try:
            run = await runs.start(question.ask, files=question.files, model=case.model, max_cents=max_cents)
            case.run = run
            async with asyncio.timeout(question.max_seconds):
                case.run = await runs.wait(run.run_id, timeout=None)
        except (TimeoutError, asyncio.CancelledError) as ended:
            ending = "the run was cancelled" if case.run else "the run may have started"
            case.error = f"No answer arrived within {clock.monotonic() - began:.1f} s; {ending}."
            if case.run:
                with contextlib.suppress(StefanBrainError):
                    case.run = await runs.cancel(case.run.run_id, timeout=5, max_retries=0)
            if isinstance(ended, asyncio.CancelledError):
                raise
        except (StefanBrainError, EmbeddedError, OSError) as error:
            case.error = error.message if isinstance(error, StefanBrainError) else str(error)
            if isinstance(error, APIConnectionError | AuthenticationError | EmbeddedError):
                self.stopped = f"The other questions were not asked: {case.error}"
        finally:
            case.seconds = clock.monotonic() - began


def _recording(case: Case, folder: Path) -> Path:
    """Return the file that records a case's answer. Its name has a hash of the question, the model and the files."""
    question = case.question
    files = [(file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in question.files]
    digest = hashlib.sha256(json.dumps([question.ask, case.model, files]).encode()).hexdigest()
    return folder / f"{re.sub('[^0-9A-Za-z]+', '-', question.name)[:40]}-{digest[:12]}.json"


def _replay(case: Case, folder: Path) -> None:
    """Set the case's answer to the recorded answer."""
    from agentsvc_nb.client.models import Run

    try:
        kept = json.loads(_recording(case, folder).read_bytes())
        case.run, case.seconds = Run.model_validate(kept["run"]), float(kept["seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        case.error = f"{folder} has no answer to this question with these files. Record one with --record."


def _print_results(results: list[dict[str, Any]]) -> None:
    from agentsvc_nb.wire.text import excerpt, label, plain

    rows = [
        (each["status"], label(each["question"], 60), each["model"], f"{each['seconds']:.1f}", f"{each['cents']:.2f}")
        for each in results
    ]
    print_rows(("status", "question", "model", "seconds", "cents"), rows, "")
    for each in results:
        if each["faults"]:
            print(
                "\n" + colour_text(f"{label(each['question'])} ({each['model'] or 'default model'})", BOLD, sys.stdout)
            )
            output = indent(excerpt((each["output"] or "").strip(), ANSWER_CHARS), "  | ", bool)
            print(*(f"  {plain(fault)}" for fault in each["faults"]), *([output] if output else []), sep="\n")
    counts = ", ".join(f"{count} {status}" for status, count in Counter(each["status"] for each in results).items())
    print(f"\n{counts}; {sum(each['cents'] for each in results):,.2f} cents")


def _write_junit(path: Path, suite: str, results: list[dict[str, Any]]) -> None:
    from xml.etree import ElementTree

    from agentsvc_nb.wire.text import plain

    counts = Counter(each["status"] for each in results)
    totals = {"tests": len(results), "failures": counts["fail"], "skipped": counts["skipped"]}
    root = ElementTree.Element("testsuite", {"name": suite, **{name: str(total) for name, total in totals.items()}})
    for each in results:
        about = {"name": plain(each["question"]), "classname": f"{suite}.{each['model']}", "time": str(each["seconds"])}
        case = ElementTree.SubElement(root, "testcase", about)
        if each["faults"]:
            message = plain("; ".join(each["faults"]))
            ElementTree.SubElement(case, "failure", {"message": message}).text = plain(each["output"] or "")
        elif each["status"] == "skipped":
            ElementTree.SubElement(case, "skipped")
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
