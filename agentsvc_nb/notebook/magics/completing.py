"""Tab completion in the lines of our magics: actions, options and known names. It never sends a request.

Runs, jobs and chats come from the journal on this machine; files, tools, models and projects from their last listing.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from IPython.core.completer import SimpleCompletion, context_matcher

if TYPE_CHECKING:
    from agentsvc_nb.notebook.magics.base import MagicsContext

IDENTIFIER: Final = "agentsvc_nb"
Found = dict[str, Any]
_LINE = re.compile(r"\s*(%%?)([a-z]+)\s+(.*)")
_REFERENCE = re.compile(r"\{\{\s*(\w*)$")


def matcher(context: MagicsContext) -> Callable[..., Any]:
    """Return the completer for IPython's list of matchers."""

    @context_matcher(identifier=IDENTIFIER)  # type: ignore[untyped-decorator]
    def match(request: Any) -> Found:
        lines = request.full_text.split("\n")
        before = [*lines[: request.cursor_line], request.text_until_cursor.split("\n")[-1]]
        return completions(before, CompletionNames(context))

    done: Callable[..., Any] = match
    return done


class CompletionNames:
    """The known names of each kind that a magic's arguments may take."""

    def __init__(self, context: MagicsContext) -> None:
        self._context = context

    def magic(self, kind: str, name: str) -> Any | None:
        """Return the magic of this name and kind (`line` or `cell`), if it is ours."""
        from agentsvc_nb.notebook.magics.base import MagicsGroup

        found = self._context.shell.magics_manager.magics[kind].get(name)
        return found if isinstance(getattr(found, "__self__", None), MagicsGroup) else None

    def variables(self, fits: Callable[[Any], bool] = lambda value: True) -> list[str]:
        given = self._context.shell.user_ns
        return [name for name, value in [*given.items()] if not name.startswith("_") and fits(value)]

    def tables(self) -> list[str]:
        return self.variables(_is_table)

    def schemas(self) -> list[str]:
        return self.variables(_is_schema)

    def pictures(self) -> list[str]:
        return self.variables(_is_picture)

    def runs(self) -> list[str]:
        session = self._context.session
        rows = session.journal.runs(session.notebook or session.label)
        return ["last", *(str(row["run_id"]) for row in reversed(rows) if row["run_id"])]

    def jobs(self) -> list[str]:
        from agentsvc_nb.notebook.state import session

        return ["last", *(row["job_id"] for row in reversed(session.remembered_jobs(self._context.session)))]

    def chats(self) -> list[str]:
        rows = self._context.session.journal.runs(None)
        return list(dict.fromkeys(str(row["chat"]) for row in reversed(rows) if row["chat"]))

    def projects(self) -> list[str]:
        return [name for name in self._context.session.known.projects if " " not in name]

    def files(self) -> list[str]:
        return [_quoted(path) for path in self._context.session.known.files]

    def tools(self) -> list[str]:
        return list(self._context.session.known.tools)

    def jobs_tools(self) -> list[str]:
        return [name for name, asynchronous in self._context.session.known.tools.items() if asynchronous]

    def models(self) -> list[str]:
        return self._context.session.known.models

    def switches(self) -> list[str]:
        """The models of `%agentsvc model`: those of a service that one is connected to, else those to switch to."""
        from agentsvc_nb.notebook.state.session import EMBEDDED

        session = self._context.session
        if session.base_url != EMBEDDED:
            return session.known.models
        from agentsvc_nb.model_names import HOSTED

        return list(dict.fromkeys([*session.known.switches, "offline", *HOSTED.values()]))

    def calls(self) -> list[str]:
        known = self._context.session.known
        watched = [call for asked in [*known.asked.values()] for call in [*asked]]
        return list(dict.fromkeys([*watched, *known.calls]))

    def reports(self) -> list[str]:
        return self._context.session.known.feedback


def _is_table(value: Any) -> bool:
    """Whether it looks like a table of pandas, polars or pyarrow. Only the class is looked at: no code of its runs."""
    kind = type(value)
    return hasattr(kind, "shape") and any(hasattr(kind, name) for name in ("columns", "column_names", "to_frame"))


def _is_schema(value: Any) -> bool:
    return isinstance(value, type | dict) or type(value).__name__ == "GenericAlias"


def _is_picture(value: Any) -> bool:
    return isinstance(value, bytes) or any(hasattr(type(value), name) for name in ("savefig", "thumbnail", "figure"))


_WORDS: Final[Mapping[tuple[str, str | None], Callable[[CompletionNames], Iterable[str]]]] = {
    ("agentsvc", "sent"): CompletionNames.runs,
    **{("runs", action): CompletionNames.runs for action in ("show", "attach", "cancel", "resume", "wait")},
    **{("jobs", action): CompletionNames.jobs for action in ("watch", "show", "cancel")},
    **{("files", action): CompletionNames.files for action in ("get", "preview", "versions", "restore")},
    ("feedback", "show"): CompletionNames.reports,
    ("agentsvc", "chat"): CompletionNames.chats,
    ("agentsvc", "project"): CompletionNames.projects,
    ("agentsvc", "model"): CompletionNames.switches,
    ("agentsvc", "mcp"): lambda names: ["add", "list", "remove"],
    ("approve", None): CompletionNames.calls,
    ("tools", None): lambda names: ["form", *names.tools()],
    ("tools", "form"): CompletionNames.tools,
    ("tool", None): CompletionNames.tools,
    ("job", None): CompletionNames.jobs_tools,
}
"""The names that a magic's positional arguments take, by magic and action (None: the magic has no actions)."""
_VALUES: Final[Mapping[str, Callable[[CompletionNames], Iterable[str]]]] = {
    "chat": CompletionNames.chats,
    "project": CompletionNames.projects,
    "model": CompletionNames.models,
    "df": CompletionNames.tables,
    "each": CompletionNames.tables,
    "image": CompletionNames.pictures,
    "schema": CompletionNames.schemas,
}
"""The names that an option's value takes. Values of other options are local files, which IPython completes, or free."""
_TYPES: Final = {"df": "table", "each": "table", "image": "picture"}
_KINDS: Final[Mapping[Callable[[CompletionNames], Iterable[str]], str]] = {
    CompletionNames.runs: "run",
    CompletionNames.jobs: "job",
    CompletionNames.chats: "chat",
    CompletionNames.projects: "project",
    CompletionNames.files: "file",
    CompletionNames.tools: "tool",
    CompletionNames.jobs_tools: "tool",
    CompletionNames.calls: "call",
    CompletionNames.reports: "report",
}
"""What front ends show beside a name; all others are actions."""


def completions(lines: list[str], names: CompletionNames) -> Found:
    """Return the completions at the end of these lines, which are the cell up to the cursor."""
    if len(lines) > 1 and (head := _LINE.match(f"{lines[0]} ")) and head[1] == "%%":
        return _in_body(lines[-1], head[2], names)
    line = _LINE.match(lines[-1])
    if line is None or (line[1] == "%%" and len(lines) > 1):
        return _nothing()
    magic = names.magic("cell" if line[1] == "%%" else "line", line[2])
    return _nothing() if magic is None else _in_line(magic.parser, line[2], line[3], names)


def _in_body(line: str, magic: str, names: CompletionNames) -> Found:
    reference = _REFERENCE.search(line)
    if reference is None or names.magic("cell", magic) is None:
        return _nothing()
    return _fitting(reference[1], names.variables(), "variable")


def _in_line(parser: argparse.ArgumentParser, magic: str, rest: str, names: CompletionNames) -> Found:
    if reference := _REFERENCE.search(rest):
        return _fitting(reference[1], names.variables(), "variable")
    *before, word = rest.split(" ")
    options = parser._option_string_actions
    if word.startswith("-"):
        return _fitting(word, options, "option")
    before = [part for part in before if part]
    if before and before[-1] in options and options[before[-1]].nargs != 0:
        option = options[before[-1]]
        values = option.choices or (_VALUES[option.dest](names) if option.dest in _VALUES else None)
        return _nothing() if values is None else _fitting(word, values, _TYPES.get(option.dest, option.dest))
    return _words(parser, magic, _positional(before, options), word, names)


def _positional(words: list[str], options: Mapping[str, argparse.Action]) -> list[str]:
    """Return the words that are neither options nor values of options."""
    found, value = [], False
    for word in words:
        if value:
            value = False
        elif word in options:
            value = options[word].nargs != 0
        else:
            found.append(word)
    return found


def _words(parser: argparse.ArgumentParser, magic: str, given: list[str], word: str, names: CompletionNames) -> Found:
    first = next((action for action in parser._actions if not action.option_strings), None)
    if first is not None and first.choices:
        if not given:
            return _fitting(word, first.choices, "action")
        known = _WORDS.get((magic, given[0]))
    else:
        known = _WORDS.get((magic, given[0] if given else None))
    return _nothing() if known is None else _fitting(word, known(names), _KINDS.get(known, "action"))


def _fitting(word: str, candidates: Iterable[str], kind: str) -> Found:
    """The candidates that begin with the word; `kind` is what a front end says they are."""
    fitting = [SimpleCompletion(text=name, type=kind) for name in candidates if name.startswith(word)]
    return {"completions": fitting, "matched_fragment": word, "suppress": bool(fitting)}


def _quoted(path: str) -> str:
    return f'"{path}"' if " " in path else path


def _nothing() -> Found:
    return {"completions": []}  # a new dict each time, because IPython changes it
