"""How a magic of ours runs: its arguments parsed, its value kept with `-o`, its failure told in a few lines."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from agentsvc_nb.notebook.failures import AskError, RunFailed, shortly
from agentsvc_nb.notebook.magics.arguments import Declare, arg, parse, takes

if TYPE_CHECKING:
    import argparse

    from agentsvc_nb.notebook.magics.desk import Group

M = TypeVar("M", bound=Callable[..., Any])

OUT: Final = arg("-o", "--out", metavar="NAME", help="variable for what comes of it; of a table, the DataFrame")
NO_RAISE: Final = arg("--no-raise-error", action="store_true", help="a failure is told and does not fail the cell")


def command(
    kind: Callable[..., Any],
    *declared: Declare,
    read: Callable[[Any, str, Mapping[str, Any]], argparse.Namespace] = parse,
) -> Callable[[M], Any]:
    """Make a method of a group a magic that takes these arguments, `-o` and `--no-raise-error`.

    The method gets the parsed arguments (and a cell's body); `read(magic, line, variables)` parses them.
    """

    def dress(method: M) -> Any:
        @functools.wraps(method)
        def magic(group: Group, line: str, *body: str) -> Any:
            args = read(dressed, line, group.shell.user_ns)
            return carried_out(group, args, lambda: method(group, args, *body))

        dressed = takes(kind, *declared, OUT, NO_RAISE)(shortly(magic))
        return dressed

    return dress


def carried_out(group: Group, args: argparse.Namespace, act: Callable[[], Any]) -> Any:
    """What `act` gives, kept where the arguments say; a failure goes on to the cell, or is told."""
    try:
        with group.left_in(args.out):
            return _kept(group, act(), args.out)
    except (AskError, RunFailed) as failed:
        if not args.no_raise_error:
            raise
        print("\n".join(failed._render_traceback_()))
        return _kept(group, failed.answer, None)


def _kept(group: Group, value: Any, name: str | None) -> Any:
    from agentsvc_nb.notebook.display.results import Said, Shown, Table

    if isinstance(value, Shown):
        return group.keep(value, name)
    if name:
        group.shell.user_ns[name] = value.df if isinstance(value, Table) else value
    if isinstance(value, Said):
        print(value)
        return None
    return value
