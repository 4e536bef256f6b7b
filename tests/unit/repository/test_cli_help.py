"""What `--help` says: examples that can be typed as they stand, and the table of exit codes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pytest

from agentsvc_nb.cli import EXIT_CODES, parser
from agentsvc_nb.cli.examples import EXAMPLES, parsers
from agentsvc_nb.service.serve import EXIT_HELD

PARSERS = {each.prog: each for each in parsers(parser())}


def typed(line: str) -> Iterator[list[str]]:
    """The words after `agentsvc` of each call in a line of a shell, also of those in `$(...)`."""
    for inner in re.findall(r"\$\((.*?)\)", line):
        yield from typed(inner)
    words = shlex.shlex(re.sub(r"\$\(.*?\)", "x", line), posix=True, punctuation_chars=True)
    words.whitespace_split = True
    call: list[str] | None = None
    for word in [*words, "|"]:
        if word in ("|", ">"):
            if call is not None:
                yield call
            call = None
        elif call is not None:
            call.append(word)
        elif word == "agentsvc":
            call = []


@pytest.mark.parametrize("command", PARSERS)
def test_each_help_has_examples_that_can_be_typed(command: str) -> None:
    """All parse, and the first is of the command itself."""
    assert EXAMPLES.keys() == PARSERS.keys()
    examples = PARSERS[command].format_help().partition("\nexamples:\n")[2].partition("\n\n")[0].splitlines()
    assert [line.strip() for line in examples] == list(EXAMPLES[command])
    first = None
    for line in examples:
        for words in typed(line):
            assert callable(parser().parse_args(words).run)
            first = first or ["agentsvc", *words]
    assert first is not None
    of_command = command.split()
    assert first[: len(of_command)] == of_command


def test_the_exit_codes_stand_in_the_first_help() -> None:
    help = parser().format_help()
    told = re.findall(r"^  (\d+) ", help.partition("\nexit codes:\n")[2], re.MULTILINE)
    assert [int(code) for code in told] == list(EXIT_CODES)
    assert EXIT_HELD in EXIT_CODES
