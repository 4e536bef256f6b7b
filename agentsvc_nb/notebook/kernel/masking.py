"""Decide which values and names never leave a kernel: secrets, values of secret names, hidden columns."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from agentsvc_nb.notebook.redaction import is_secret_name, redacted


def masked(text: str) -> str:
    """Return a text without its secrets (see `redaction`).

    >>> masked("card 4111 1111 1111 1111, key AKIAABCDEFGHIJKLMNOP")
    'card [redacted], key [redacted]'
    """
    return redacted(text, os.environ)


def telling(name: str) -> bool:
    """Return True if the name of a variable, column or key says that its value is a secret.

    >>> telling("OPENAI_API_KEY"), telling("db_password"), telling("keyword"), telling("tokens")
    (True, True, False, False)
    """
    return is_secret_name(name)


def labels_secret(value: object) -> bool:
    """Return True if a value of a row is the name of the secret that comes next, as in `("password", "x")`.

    >>> labels_secret("API Key"), labels_secret("nobody has my password any more")
    (True, False)
    """
    return isinstance(value, str) and len(value) <= 60 and value.count(" ") <= 1 and is_secret_name(value)


@dataclass(frozen=True)
class Rules:
    """What the user lets go out.

    Attributes:
        rows: how many rows or elements of a variable are told; 0 for no values at all.
        hidden: names, with `*` and `?`, of columns, keys and variables that are not mentioned; their case is ignored.
    """

    rows: int = 5
    hidden: tuple[str, ...] = ()

    def hides(self, name: object) -> bool:
        said = str(name).casefold()
        return any(fnmatchcase(said, pattern.casefold()) for pattern in self.hidden)

    def shown(self, names: Iterable[object]) -> list[object]:
        return [name for name in names if not self.hides(name)]
