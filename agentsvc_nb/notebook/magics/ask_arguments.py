"""What the line and the body of an `%%ask` cell ask: one question, or one over each row of a DataFrame.

Imported when a cell asks: `%load_ext` should not wait for the client.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import Any, Final

from agentsvc_nb.notebook import host, template
from agentsvc_nb.notebook.ask import each
from agentsvc_nb.notebook.ask.last_error import NAME, LastError
from agentsvc_nb.notebook.ask.question import Question
from agentsvc_nb.notebook.ask.variants import FEWEST, MOST
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.files.attachments import Attachment, attachments, held, picture, table
from agentsvc_nb.notebook.runs import answer
from agentsvc_nb.notebook.runs.answer import Shape

_APART: Final = (
    ("--n", ("--bg", "--code", "--chat", "--session")),
    ("--code", ("--bg", "--schema")),
    (
        "--each",
        ("--bg", "--n", "--code", "--chat", "--new-chat", "--session", "--file", "--df", "--image", "--error"),
    ),
)
"""An option, and those that it excludes."""


def check(args: argparse.Namespace, background: bool) -> None:
    """Options that exclude each other, and how many variants there can be. Raises `AskError`."""
    if args.n is not None and not FEWEST <= args.n <= MOST:
        raise AskError(f"--n {args.n}: {FEWEST} to {MOST} variants can be asked for; nothing was sent.")
    given = {
        "--each": args.each,
        "--new-chat": args.new_chat,
        "--file": args.file,
        "--df": args.df,
        "--image": args.image,
        "--error": args.error,
        "--bg": background,
        "--n": args.n,
        "--code": args.code,
        "--schema": args.schema,
        "--chat": args.chat,
        "--session": args.session,
    }
    for one, others in _APART:
        if given[one] and (clash := [other for other in others if given[other]]):
            raise AskError(f"{one} and {clash[0]} exclude each other; nothing was sent.", "Give one of them.")


def question_of(args: argparse.Namespace, cell: str, shell: Any, last_error: LastError) -> Question:
    """What the cell asks. Raises `AskError` for what can't be asked; nothing has been sent then."""
    variables = shell.user_ns
    files, notes = _files(args, variables, last_error)
    message = template.expand(cell, variables).strip("\n")
    return Question(
        f"{message}\n\n{answer.REQUEST}" if args.code and message.strip() else message,
        typed=cell,
        place=host.place(shell, cell),
        files=files,
        chat=args.chat,
        session=args.session,
        project=args.project,
        new_chat=args.new_chat,
        wait=args.on_busy == "wait",
        fresh=args.fresh,
        raise_error=not args.no_raise_error,
        timeout=args.timeout,
        shape=shape_of(args.schema, variables),
        notes=notes,
    )


def _files(
    args: argparse.Namespace, variables: Mapping[str, Any], last_error: LastError
) -> tuple[tuple[Attachment, ...], tuple[str, ...]]:
    """All that goes along, and a line for each table that does."""
    tables = [table(name, variables) for name in args.df]
    files = [*attachments(args.file), *(file for file, _ in tables)]
    files += [picture(name, variables) for name in args.image]
    if args.error:
        files.append(held(NAME, last_error.document(os.environ)))
    return tuple(files), tuple(f"Attached {line}" for _, line in tables)


def shape_of(name: str | None, variables: Mapping[str, Any]) -> Shape | None:
    """The shape that the variable `name` holds. Raises `AskError` when there is none of that name."""
    if name is None:
        return None
    if name not in variables:
        raise AskError(
            f"--schema {name}: there is no variable `{name}`; nothing was sent.",
            "Define a pydantic model, list[Model] or a JSON Schema of that name.",
        )
    return Shape(name, variables[name])


def posed(args: argparse.Namespace, cell: str, variables: dict[str, Any], shape: Shape | None) -> each.Each:
    """What the cell asks of each row. Raises `AskError`; nothing has been sent then."""
    if args.each not in variables:
        raise AskError(f"--each {args.each}: there is no variable `{args.each}`; nothing was sent.")
    if shape is not None and shape.records:
        raise AskError("--each asks for one answer a row; nothing was sent.", "Give --schema a model, not list[Model].")
    return each.Each(
        args.each,
        variables[args.each],
        cell.strip("\n"),
        schema=None if shape is None else shape.kind or shape.schema,
        key=args.key,
        project=args.project,
        max_concurrency=args.at_once,
        max_cents=args.max_cents,
        keep=args.keep,
        fresh=args.fresh,
        timeout=args.timeout,
        raise_error=not args.no_raise_error,
    )
