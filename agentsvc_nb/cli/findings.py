"""Define the findings of `agentsvc doctor`, which are the results of its checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """A result of a check, which `doctor` prints as one line, with a fix if there is a problem.

    `level` is `fail` for a problem that keeps the service from working, and `warn` for a problem that may do so.
    """

    level: Literal["ok", "note", "warn", "fail"]
    what: str
    fix: str = ""

    def line(self, check: str) -> str:
        """Return the line to print for a finding of the check with this name.

        >>> Finding("warn", "port 8787 is taken", "agentsvc serve --port 0").line("port")
        'warn  port: port 8787 is taken. Fix: agentsvc serve --port 0'
        """
        line = f"{self.level:<5} {check}: {self.what}"
        return " ".join((f"{line.removesuffix('.')}. Fix: {self.fix}" if self.fix else line).splitlines())


def ok(what: str) -> Finding:
    return Finding("ok", what)


def note(what: str) -> Finding:
    return Finding("note", what)


def warn(what: str, fix: str) -> Finding:
    return Finding("warn", what, fix)


def fail(what: str, fix: str) -> Finding:
    return Finding("fail", what, fix)
