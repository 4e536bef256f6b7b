"""The line and the body of a `%%ask` cell, as a question."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import Any, Final

from agentsvc_nb.notebook import host, template
from agentsvc_nb.notebook.failures import AskError
from agentsvc_nb.notebook.files import attaching
from agentsvc_nb.notebook.files.attachments import Attachment, attachments
from agentsvc_nb.notebook.questions.last_error import NAME, LastError
from agentsvc_nb.notebook.questions.question import Question
from agentsvc_nb.notebook.questions.variants import FEWEST, MOST
from agentsvc_nb.notebook.runs import proposed
from agentsvc_nb.notebook.runs.shape import Shape

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


def question(args: argparse.Namespace, cell: str, shell: Any, last_error: LastError) -> Question:
    """What the cell asks. Raises `AskError` for what can't be asked; nothing has been sent then."""
    variables = shell.user_ns
    files, notes = _files(args, variables, last_error)
    message = template.expand(cell, variables).strip("\n")
    return Question(
        f"{message}\n\n{proposed.REQUEST}" if args.code and message.strip() else message,
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
        shape=shape(args.schema, variables),
        notes=notes,
    )


def _files(
    args: argparse.Namespace, variables: Mapping[str, Any], last_error: LastError
) -> tuple[tuple[Attachment, ...], tuple[str, ...]]:
    """All that goes along, and a line for each table that does."""
    tables = [attaching.table(name, variables) for name in args.df]
    files = [*attachments(args.file), *(file for file, _ in tables)]
    files += [attaching.picture(name, variables) for name in args.image]
    if args.error:
        files.append(attaching.held(NAME, last_error.document(os.environ)))
    return tuple(files), tuple(f"Attached {line}" for _, line in tables)


def shape(name: str | None, variables: Mapping[str, Any]) -> Shape | None:
    """The shape that the variable `name` holds. Raises `AskError` when there is none of that name."""
    if name is None:
        return None
    if name not in variables:
        raise AskError(
            f"--schema {name}: there is no variable `{name}`; nothing was sent.",
            "Define a pydantic model, list[Model] or a JSON Schema of that name.",
        )
    return Shape(name, variables[name])
