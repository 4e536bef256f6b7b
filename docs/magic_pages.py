"""docs/magics.md, from the magics' argument parsers, the options of `%config` and the columns of the tables."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator, Mapping
from textwrap import dedent
from typing import Any

from agentsvc_nb.client.models import columns
from agentsvc_nb.notebook.display.results import APPROVALS, FILES, JOBS, RUNS
from agentsvc_nb.notebook.magics import GROUPS
from agentsvc_nb.wire.files import SearchResult
from agentsvc_nb.wire.resources import FeedbackReport
from agentsvc_nb.wire.tools import ToolDescription

HEAD = """# Magics

Rendered from the magics' own parsers by `python -m docs.tables`; do not edit by hand. `%load_ext agentsvc_nb` brings
them; `%runs?` shows the same in a notebook. Options may stand anywhere in the line, but come first in `%search` and
in `%ask` on one line. `{{name}}` is the value of a variable, in the body of a cell and in the line; `\\{{name}}` stands
for itself.
In the line, `#` at the beginning of a word and outside quotation marks begins a comment.

Tab completes actions, options and names: runs, jobs and chats of the journal on this machine, files, tools and projects
as they were listed last. It never asks the service.
"""
TABLES = """## DataFrames

A table that a cell shows is an object: `.df` is its DataFrame, with all rows, and `-o name` keeps just that. The
columns and their types are always these, also when there is no row; fields that this version does not know come after.
"""
ATTRS = """`df.attrs` says where the rows are from: of an answer `run_id`, `model`, `chat` and `inputs` (the SHA-256 of
each file that was attached), of files `chat`, of a search `chat` and `query`, of runs and jobs `notebook`.
"""


def page() -> str:
    """The page."""
    parts = [HEAD, *(_section(*magic) for magic in magics()), _options(), TABLES]
    return "\n".join([*parts, *_columns(), "", ATTRS])


def magics() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Each magic as it is typed, with its parser."""
    for group in GROUPS:
        for kind, sign in (("line", "%"), ("cell", "%%")):
            for name, method in group.magics[kind].items():
                if kind == "cell" or name not in group.magics["cell"]:
                    yield f"{sign}{name}", getattr(group, method).parser


def _section(name: str, parser: argparse.ArgumentParser) -> str:
    about, _, example = inspect.cleandoc(parser.description or "").partition("Example:")
    rows = [
        row
        for group in parser._action_groups
        for row in (
            *([f"| **{group.title}** | |"] if group.title not in _UNTITLED else ()),
            *(
                f"| {_called(action)} | {_cell((action.help or '') % {'default': action.default})} |"
                for action in group._group_actions
            ),
        )
    ]
    lines = [f"## `{name}`", "", " ".join(about.split()), "", *_example(example), ""]
    return "\n".join([*lines, "| argument | what it is |", "| --- | --- |", *rows, ""])


_UNTITLED = ("positional arguments", "options")
"""The groups that every parser has."""


def _example(text: str) -> list[str]:
    if text.startswith("\n"):
        return ["```ipython", *dedent(text.strip("\n")).splitlines(), "```"]
    return [f"Example: {' '.join(text.split())}"]


def _called(action: argparse.Action) -> str:
    choices = " \\| ".join(map(str, action.choices or ()))
    value = choices if action.choices else str(action.metavar or action.dest)
    if not action.option_strings:
        return f"`{value}`".replace("\\|", "|").replace("|", "\\|")
    names = ", ".join(f"`{name}`" for name in action.option_strings)
    return names if action.nargs == 0 else f"{names} `{value}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _options() -> str:
    rows = [
        f"| `{group.__name__}.{name}` | `{trait.default_value}` | {_cell(trait.help)} |"
        for group in GROUPS
        for name, trait in sorted(group.class_own_traits(config=True).items())
    ]
    head = ["## Options", "", "`%config Ask` shows them, `%config Ask.live = True` sets one, and so does a profile's"]
    head += ["`ipython_config.py` (`c.Ask.live = True`).", ""]
    return "\n".join([*head, "| option | default | what it does |", "| --- | --- | --- |", *rows, ""])


def _columns() -> list[str]:
    tables: dict[str, Mapping[str, Any]] = {
        "`%runs`": RUNS,
        "`%files`, `answer.files.df`": FILES,
        "`%search`": columns(SearchResult) | {"passage": "string"},
        "`%tools`": columns(ToolDescription),
        "`%jobs`": JOBS,
        "`%approve`": APPROVALS,
        "`%feedback`": columns(FeedbackReport),
    }
    rows = [
        f"| {name} | {', '.join(f'`{column}` {kind}' for column, kind in kinds.items())} |"
        for name, kinds in tables.items()
    ]
    return ["| table | columns |", "| --- | --- |", *rows]
