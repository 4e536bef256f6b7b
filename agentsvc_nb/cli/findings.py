"""The findings of `agentsvc doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """The result of a check, printed as one line with a fix.

    `level` is `fail` for a problem that stops a service from working, and `warn` for a problem that may stop it.
    """

    level: Literal["ok", "note", "warn", "fail"]
    what: str
    fix: str = ""

    def line(self, check: str) -> str:
        """
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
