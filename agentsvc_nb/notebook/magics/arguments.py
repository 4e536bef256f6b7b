"""The decorators of magics: argument parsing and `?` help by IPython, `-o`, and failures in a few lines."""

from __future__ import annotations

import argparse
import functools
import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from IPython.core.error import UsageError
from IPython.core.magic import cell_magic, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments

from agentsvc_nb.notebook.errors import AskError, RunFailed, interrupts_as_run_stopped

if TYPE_CHECKING:
    from agentsvc_nb.notebook.magics.context import MagicsGroup


Magic = TypeVar("Magic", bound=Callable[..., Any])
Declare = Callable[[Any], Any]


def arg(*names: str, **spec: Any) -> Declare:
    """Declare an argument; takes the parameters of `argparse`'s `add_argument`."""
    declare: Declare = argument(*names, **spec)  # type: ignore[no-untyped-call]
    return declare


def takes(kind: Callable[..., Any], *declared: Declare) -> Callable[[Magic], Magic]:
    """Decorate a method as a magic of this kind (`line_magic`, `cell_magic`); its help lists the arguments in order."""

    def dress(magic: Magic) -> Magic:
        magic = kind(magic)
        for declare in reversed(declared):
            magic = declare(magic)
        dressed: Magic = no_var_expand(magic_arguments()(magic))  # type: ignore[no-untyped-call]
        if kind is cell_magic:  # IPython's help shows every magic as a line magic
            dressed.__doc__ = (dressed.__doc__ or "").replace("::\n\n  %", "::\n\n  %%", 1)
        return dressed

    return dress


def parse(magic: Any, line: str, variables: Mapping[str, Any]) -> argparse.Namespace:
    """Parse the arguments of a magic's line. `{{name}}` is replaced after splitting: its value stays one argument.

    Raises `AskError` for invalid arguments, and for a name that cannot be replaced.
    """
    from agentsvc_nb.notebook.template import expand  # imports the client, which `%load_ext` must not

    return _parsed(magic, lambda: [expand(word, variables) for word in shlex.split(line)])


def leading(magic: Any, line: str, variables: Mapping[str, Any]) -> argparse.Namespace:
    """Parse options first; the rest of the line, with its quotes and dashes, is one last argument, verbatim.

    Raises `AskError` for invalid arguments.
    """
    return _parsed(magic, lambda: _led(magic.parser, line.strip()))


def _led(parser: argparse.ArgumentParser, line: str) -> list[str]:
    options: list[str] = []
    while (word := line.partition(" ")[0].partition("=")[0]) in parser._option_string_actions:
        takes_value = parser._option_string_actions[word].nargs != 0
        count = 2 if takes_value and "=" not in line.partition(" ")[0] else 1
        parts = line.split(None, count)
        options += parts[:count]
        line = parts[count] if len(parts) > count else ""
    return [*options, "--", line] if line else options


def _parsed(magic: Any, split: Callable[[], list[str]]) -> argparse.Namespace:
    try:
        args: argparse.Namespace = magic.parser.parse_intermixed_args(split())
    except (UsageError, ValueError) as error:
        raise AskError(f"{error}; nothing was sent.", f"`?{magic.__name__}` shows the options.") from None
    name = getattr(args, "out", None)
    if name is not None and not name.isidentifier():
        raise AskError(f"-o {name}: that is no name for a variable; nothing was sent.", "Use letters and digits.")
    return args


M = TypeVar("M", bound=Callable[..., Any])

OUT: Final = arg("-o", "--out", metavar="NAME", help="variable for what comes of it; of a table, the DataFrame")
NO_RAISE: Final = arg("--no-raise-error", action="store_true", help="a failure is told and does not fail the cell")


def command(
    kind: Callable[..., Any],
    *declared: Declare,
    read: Callable[[Any, str, Mapping[str, Any]], argparse.Namespace] = parse,
) -> Callable[[M], Any]:
    """Decorate a group's method as a magic that takes these arguments, `-o` and `--no-raise-error`.

    The method is called with the parsed arguments (and the cell's body); `read(magic, line, variables)` parses them.
    """

    def dress(method: M) -> Any:
        @functools.wraps(method)
        def magic(group: MagicsGroup, line: str, *body: str) -> Any:
            args = read(dressed, line, group.shell.user_ns)
            return run_command(group, args, lambda: method(group, args, *body))

        dressed = takes(kind, *declared, OUT, NO_RAISE)(interrupts_as_run_stopped(magic))
        return dressed

    return dress


def run_command(group: MagicsGroup, args: argparse.Namespace, act: Callable[[], Any]) -> Any:
    """Call `act`, keep its value in the variable of `-o`, and return it.

    `AskError` and `RunFailed` are raised, or with `--no-raise-error` printed.
    """
    try:
        with group.keeping_partial_answer(args.out):
            return _kept(group, act(), args.out)
    except (AskError, RunFailed) as failed:
        if not args.no_raise_error:
            raise
        print("\n".join(failed._render_traceback_()))
        return _kept(group, failed.answer, None)


def _kept(group: MagicsGroup, value: Any, name: str | None) -> Any:
    from agentsvc_nb.notebook.display.results import DisplayedResult, PrintedText, ResultTable

    if isinstance(value, DisplayedResult):
        return group.keep(value, name)
    if name:
        group.shell.user_ns[name] = value.df if isinstance(value, ResultTable) else value
    if isinstance(value, PrintedText):
        print(value)
        return None
    return value
