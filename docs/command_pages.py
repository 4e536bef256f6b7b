"""docs/cli.md: a section a command, its arguments rendered from the parsers (`python -m docs.tables`)."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Final

from agentsvc_nb.cli import EXIT_CODES, parser
from agentsvc_nb.cli.examples import EXAMPLES
from docs.cli_transcripts import KEPT

HEAD: Final = """# Command line

Use `agentsvc` in a terminal or a script: ask questions, list runs, files and jobs, and run a service. `agentsvc-nb` is
the same command.

- A command prints its result to stdout, and everything else to stderr. `--json` prints the result as one JSON document.
- A failure is one sentence on stderr.
- Colours appear in terminals only. `NO_COLOR=1` turns them off.
- `--data DIR` names the data folder of the service. Without it, `ask`, `runs`, `files`, `jobs`, `tools`, `mcp` and the
  list of `model` use the service of `AGENTSVC_BASE_URL` and `SERVICE_API_KEY`, if these variables are set.
- `agentsvc completion --help` explains completion in your shell.
"""
SEEN: Final = "A session in a real terminal with the offline agent, recorded by `python -m docs.cli_transcripts`."


def page() -> str:
    lines = [HEAD, "| exit code | when |", "| --- | --- |"]
    lines += [f"| {code} | {when} |" for code, when in EXIT_CODES.items()]
    for name, about, command in commands(parser(), "agentsvc"):
        lines += ["", f"## {name}", "", f"{about[:1].upper()}{about[1:]}.", *_arguments(command), *_examples(command)]
    lines += ["", "## In a terminal", "", SEEN, "", "````console", KEPT.read_text().rstrip(), "````"]
    return "\n".join([*lines, ""])


def commands(parser: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """The name, help and parser of each command that has no further ones below it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            help = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for each, below in action.choices.items():
                inner = list(commands(below, f"{name} {each}"))
                yield from inner or [(f"{name} {each}", help[each], below)]


def _arguments(command: argparse.ArgumentParser) -> list[str]:
    shown = [each for each in command._actions if each.dest not in ("help", "data") and each.help != argparse.SUPPRESS]
    rows = [f"| `{_form(each)}` | {(each.help or '').replace('|', chr(92) + '|')} |" for each in shown]
    return ["", "| argument | what it is |", "| --- | --- |", *rows] if rows else []


def _form(action: argparse.Action) -> str:
    value = "|".join(map(str, action.choices)) if action.choices else action.metavar or action.dest.upper()
    if not action.option_strings:
        return f"{value}".replace("|", " or ")
    names = ", ".join(action.option_strings)
    return names if action.nargs == 0 else f"{names} {value}".replace("|", " or ")


def _examples(command: argparse.ArgumentParser) -> list[str]:
    lines = "\n".join(EXAMPLES[command.prog])
    return ["", "```sh", lines, "```"]
