"""Complete actions, options and names in our magics with the Tab key. This module never sends a request.

The names of runs, jobs and chats come from the journal on this machine. The names of files, tools, models and projects
are those of the last list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from IPython.core.completer import SimpleCompletion, context_matcher

if TYPE_CHECKING:
    import argparse

    from agentsvc_nb.notebook.magics.base import MagicsContext

IDENTIFIER: Final = "agentsvc_nb"
Completions = dict[str, Any]
_LINE: Final = re.compile(r"\s*(%%?)([a-z]+)\s+(.*)")
_REFERENCE: Final = re.compile(r"\{\{\s*(\w*)$")
_KINDS_OF_ARGUMENTS: Final[Mapping[tuple[str, str | None], str]] = {
    ("agentsvc", "chat"): "chat",
    ("agentsvc", "mcp"): "action",
    ("agentsvc", "model"): "switch",
    ("agentsvc", "project"): "project",
    ("agentsvc", "sent"): "run",
    ("approve", None): "call",
    **{("files", action): "file" for action in ("get", "preview", "versions", "restore")},
    ("job", None): "tool of jobs",
    **{("jobs", action): "job" for action in ("watch", "show", "cancel")},
    **{("runs", action): "run" for action in ("show", "attach", "cancel", "resume", "raise", "undo", "redo", "wait")},
    ("tool", None): "tool",
    ("tools", None): "tool or form",
    ("tools", "form"): "tool",
}
"""The kind of name that follows a magic and an action. The action is None for magics without actions."""
_KINDS_OF_OPTIONS: Final[Mapping[str, str]] = {
    "chat": "chat",
    "model": "model",
    "df": "table",
    "each": "table",
    "image": "picture",
    "schema": "schema",
}
"""The kind of name that follows an option. Values of other options are not completed here. IPython completes local
files.
"""
_DISPLAYED_KINDS: Final = {"switch": "action", "tool of jobs": "tool", "tool or form": "action"}
"""By kind, the word that is displayed next to a name. Other kinds are displayed unchanged."""


def matcher(context: MagicsContext) -> Callable[..., Any]:
    """Return the completer that is registered in IPython."""

    @context_matcher(identifier=IDENTIFIER)  # type: ignore[untyped-decorator]
    def match(request: Any) -> Completions:
        lines = request.full_text.split("\n")
        return _completions(context, [*lines[: request.cursor_line], request.text_until_cursor.split("\n")[-1]])

    done: Callable[..., Any] = match
    return done


def _completions(context: MagicsContext, lines: list[str]) -> Completions:
    """Return completions for a cell whose text before the cursor is `lines`."""
    head = _LINE.match(f"{lines[0]} ")
    in_body = len(lines) > 1 and head is not None and head[1] == "%%"
    line = head if in_body else _LINE.match(lines[-1])
    if line is None or (line[1] == "%%" and len(lines) > 1 and not in_body):
        return _matching("", [], "")
    magic = context.shell.magics_manager.magics["cell" if line[1] == "%%" else "line"].get(line[2])
    if getattr(getattr(magic, "__self__", None), "context", None) is not context:
        return _matching("", [], "")
    if reference := _REFERENCE.search(lines[-1]):
        return _matching(reference[1], _known_names(context, "variable"), "variable")
    return _matching("", [], "") if in_body else _complete_line(context, magic.parser, line[2], line[3].split(" "))


def _complete_line(
    context: MagicsContext, parser: argparse.ArgumentParser, magic: str, words: list[str]
) -> Completions:
    """Return completions for the last word: an option, the value of an option, an action, or a name."""
    word, options = words.pop(), parser._option_string_actions
    if word.startswith("-"):
        return _matching(word, options, "option")
    given: list[str] = []
    option = None  # the option whose value is the next word
    for before in filter(None, words):
        if option is None and before in options:
            option = options[before] if options[before].nargs != 0 else None
        elif option is not None:
            option = None
        else:
            given.append(before)
    if option is not None:
        if option.choices:
            return _matching(word, option.choices, option.dest)
        kind = _KINDS_OF_OPTIONS.get(option.dest, "")
        return _matching(word, _known_names(context, kind), kind)
    first = next((action for action in parser._actions if not action.option_strings), None)
    if first is not None and first.choices and not given:
        return _matching(word, first.choices, "action")
    kind = _KINDS_OF_ARGUMENTS.get((magic, given[0] if given else None), "")
    return _matching(word, _known_names(context, kind), _DISPLAYED_KINDS.get(kind, kind))


def _matching(word: str, candidates: Iterable[str], kind: str) -> Completions:
    """Return the candidates that begin with the word. The front end displays `kind` next to each."""
    found = [SimpleCompletion(text=name, type=kind) for name in candidates if name.startswith(word)]
    return {"completions": found, "matched_fragment": word, "suppress": True} if found else {"completions": []}


def _known_names(context: MagicsContext, kind: str) -> Iterable[str]:
    """Return the names of this kind that are known without a request."""
    if kind in ("variable", "table", "schema", "picture"):
        return _variables(context.shell.user_ns, kind)
    session = context.session
    known = session.known
    match kind:
        case "run":
            rows = session.journal.runs(session.name)
            return ["last", *(str(row["run_id"]) for row in reversed(rows) if row["run_id"])]
        case "job":
            from agentsvc_nb.notebook.state.session import recorded_jobs

            return ["last", *(row["job_id"] for row in reversed(recorded_jobs(session)))]
        case "chat":
            rows = session.journal.runs(None)
            return dict.fromkeys(str(row["chat"]) for row in reversed(rows) if row["chat"])
        case "project":
            return [name for name in known.projects if " " not in name]
        case "file":
            return [f'"{path}"' if " " in path else path for path in known.files]
        case "tool":
            return known.tools
        case "tool of jobs":
            return [name for name, asynchronous in known.tools.items() if asynchronous]
        case "tool or form":
            return ["form", *known.tools]
        case "model":
            return known.models
        case "switch":
            from agentsvc_nb.model_names import HOSTED
            from agentsvc_nb.notebook.state.session import EMBEDDED

            if session.base_url != EMBEDDED:
                return known.models
            return dict.fromkeys([*known.switchable_models, "offline", *HOSTED.values()])
        case "call":
            watched = [call for asked in [*known.waiting_calls.values()] for call in [*asked]]
            return dict.fromkeys([*watched, *known.listed_calls])
        case "action":
            return ["add", "list", "remove"]
    return []


def _variables(variables: Mapping[str, Any], kind: str) -> list[str]:
    """Return the names of variables of this kind. Inspect only the classes of values, so that no user code runs."""

    def fits(value: Any) -> bool:
        of = type(value)
        match kind:
            case "table":  # classes of pandas, polars and pyarrow
                return hasattr(of, "shape") and any(
                    hasattr(of, name) for name in ("columns", "column_names", "to_frame")
                )
            case "schema":
                return isinstance(value, type | dict) or of.__name__ == "GenericAlias"
            case "picture":
                return isinstance(value, bytes) or any(hasattr(of, name) for name in ("savefig", "thumbnail", "figure"))
        return True

    return [name for name, value in [*variables.items()] if not name.startswith("_") and fits(value)]
