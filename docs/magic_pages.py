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

Look up the magics with their arguments and options. `%load_ext agentsvc_nb` loads them, and `%runs?` shows the help of
`%runs` in a notebook.

- Options can stand anywhere in the line. In `%search`, and in `%ask` on one line, they come first.
- `{{name}}` inserts the value of a variable, in the line and in the cell. Write `\\{{name}}` for the braces themselves.
- `#` at the beginning of a word begins a comment in the line, except in quotation marks.
- Tab completes actions, options and names: runs, jobs and chats of the journal on this machine, and the files,
  tools and projects of the last lists. It does not ask the service.
- Where the description of an argument begins with an action or option, such as `get:` or `--each:`, the argument is
  valid only with that.
"""
TABLES = """## DataFrames

Each table in a cell is an object: `.df` is its DataFrame with all rows, and `-o name` stores that DataFrame. Columns
and types are always the same, even without rows. Fields that this version does not know come last.
"""
ATTRS = """`df.attrs` names the source of the rows:

| Rows of | Keys |
| --- | --- |
| an answer | `run_id`, `model`, `chat`, and `inputs` with the SHA-256 of each attached file |
| files | `chat` |
| a search | `chat`, `query` |
| runs, jobs | `notebook` |
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
    blocks = [part if part.startswith("- ") else " ".join(part.split()) for part in about.strip().split("\n\n")]
    lines = [f"## `{name}`", "", "\n\n".join(blocks), "", *_example(example), ""]
    return "\n".join([*lines, "| argument | what it is |", "| --- | --- |", *rows, ""])


_UNTITLED = ("positional arguments", "options")
"""The groups that every parser has."""


def _example(text: str) -> list[str]:
    return ["```ipython", *dedent(text.strip("\n")).splitlines(), "```"]


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
