"""The magics. Each declares its arguments, calls a command and returns the command's value. Their shared code is in
`base`.

A magic imports its command, and with it the client, Markdown and pandas, only when it runs. So `%load_ext` is quick.
"""

from __future__ import annotations

import re
from typing import Any, Final

from agentsvc_nb.notebook import host
from agentsvc_nb.notebook.magics.ask import Ask
from agentsvc_nb.notebook.magics.base import MagicsContext, MagicsGroup
from agentsvc_nb.notebook.magics.chat import ApproveMagics, FilesMagics, RunsMagics
from agentsvc_nb.notebook.magics.completion import IDENTIFIER, matcher
from agentsvc_nb.notebook.magics.service import ConnectionMagics, JobsMagics, ToolsMagics

GROUPS: Final[tuple[type[MagicsGroup], ...]] = (
    Ask,
    ApproveMagics,
    ConnectionMagics,
    RunsMagics,
    FilesMagics,
    ToolsMagics,
    JobsMagics,
)

_QUESTION: Final = re.compile(r"(\s*(?:\w+\s*=\s*)?)%ask[ \t]+(\S.*\?)\s*")


def keep_question_marks(lines: list[str]) -> list[str]:
    """Replace each line `%ask ...?` with a function call. IPython would otherwise show help for the last word."""
    if lines and lines[0].startswith("%%"):
        return lines
    asked = [_QUESTION.fullmatch(line) for line in lines]
    return [
        f"{found[1]}get_ipython().run_line_magic('ask', {found[2]!r})\n" if found else line
        for line, found in zip(lines, asked, strict=True)
    ]


def load_ipython_extension(shell: Any) -> None:
    """Register the magics. If they are already registered, do nothing."""
    if _loaded(shell):
        return
    host.contexts[shell] = context = MagicsContext(shell)
    for group in GROUPS:
        shell.register_magics(group(context))
    shell.Completer.custom_matchers.append(matcher(context))
    shell.input_transformers_cleanup.append(keep_question_marks)


def unload_ipython_extension(shell: Any) -> None:
    """Close the connection, and remove the magics from IPython's tables, because it has no function for this."""
    ours = _loaded(shell)
    host.contexts.pop(shell, None)
    matchers = shell.Completer.custom_matchers
    matchers[:] = [each for each in matchers if getattr(each, "matcher_identifier", None) != IDENTIFIER]
    shell.input_transformers_cleanup.remove(keep_question_marks)
    for kind in ("line", "cell"):
        registered = shell.magics_manager.magics[kind]
        for name in [name for name, magic in registered.items() if getattr(magic, "__self__", None) in ours]:
            del registered[name]
    for group in ours:
        shell.configurables.remove(group)
        group.leave()


def _loaded(shell: Any) -> list[MagicsGroup]:
    return [part for part in shell.configurables if isinstance(part, MagicsGroup)]
