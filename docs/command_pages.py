"""docs/cli.md: a section a command, its arguments rendered from the parsers (`python -m docs.tables`)."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Final

from agentsvc_nb.cli import EXIT_CODES, parser
from agentsvc_nb.cli.examples import EXAMPLES
from docs.cli_transcripts import KEPT

HEAD: Final = """# Command line

Rendered from the parsers in `agentsvc_nb/cli` by `python -m docs.tables`; do not edit by hand.
What a command gives goes to stdout, what it has to say beside it to stderr; `--json` makes the first one JSON document,
for programs. Colours are for terminals alone, and not with `NO_COLOR=1`. A failure is one sentence on stderr. Every
command that works with a service takes `--data DIR`, its data folder; without it, and with
`AGENTSVC_BASE_URL` and `SERVICE_API_KEY`, those that ask a service (`ask`, `runs`, `files`, `jobs`, `tools`, `mcp`, and
`model` for its list) ask that one. `agentsvc-nb` is the same command by another name. Completion:
`agentsvc completion --help`.
"""
SEEN: Final = "Played through a terminal, against the offline agent, by `python -m docs.cli_transcripts`."


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
    return action.option_strings[0] if action.nargs == 0 else f"{action.option_strings[0]} {value}".replace("|", " or ")


def _examples(command: argparse.ArgumentParser) -> list[str]:
    lines = "\n".join(EXAMPLES[command.prog])
    return ["", "```sh", lines, "```"]
