"""The line and the body of a `%%ask --each` cell."""

from __future__ import annotations

import argparse
from typing import Any

from agentsvc_nb.notebook.failures import AskError
from agentsvc_nb.notebook.questions import each
from agentsvc_nb.notebook.runs.shape import Shape


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
