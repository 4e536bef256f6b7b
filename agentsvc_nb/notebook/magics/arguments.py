"""Arguments of magics: IPython's own parser and `?` help, with the line split as a shell would.

IPython's splitting keeps the quotes in `--file "my plan.pdf"`, and it expands `{x}` and `$x` in the line by evaluating
them: both are turned off here.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from IPython.core.error import UsageError
from IPython.core.magic import cell_magic, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments

from agentsvc_nb.notebook.failures import AskError

Magic = TypeVar("Magic", bound=Callable[..., Any])
Declare = Callable[[Any], Any]


def arg(*names: str, **spec: Any) -> Declare:
    """One argument, as of `argparse.add_argument`."""
    declare: Declare = argument(*names, **spec)  # type: ignore[no-untyped-call]
    return declare


def takes(kind: Callable[..., Any], *declared: Declare) -> Callable[[Magic], Magic]:
    """Make a method a magic of this kind (`line_magic`, `cell_magic`) with these arguments, in order of its help."""

    def dress(magic: Magic) -> Magic:
        magic = kind(magic)
        for declare in reversed(declared):
            magic = declare(magic)
        dressed: Magic = no_var_expand(magic_arguments()(magic))  # type: ignore[no-untyped-call]
        if kind is cell_magic:  # IPython's help knows line magics only
            dressed.__doc__ = (dressed.__doc__ or "").replace("::\n\n  %", "::\n\n  %%", 1)
        return dressed

    return dress


def parse(magic: Any, line: str, variables: Mapping[str, Any]) -> argparse.Namespace:
    """The arguments of a line; `{{name}}` in one is the value of a variable, however many words that has.

    Raises `AskError` for what the magic does not take, or can't be inserted.
    """
    from agentsvc_nb.notebook.template import expand  # not when the magics are loaded: it needs the client

    return _parsed(magic, lambda: [expand(word, variables) for word in shlex.split(line)])


def leading(magic: Any, line: str, variables: Mapping[str, Any]) -> argparse.Namespace:
    """Options, then words that are taken as they stand, quotes and leading dashes too, as one last argument.

    Raises `AskError` as `parse`.
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
