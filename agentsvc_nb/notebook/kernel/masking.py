"""What is never told of a kernel's variables: values that look like credentials, names that say so, hidden columns."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from agentsvc_nb.notebook.redaction import redacted

_TELLING: Final = re.compile(
    r"api_?key|(?:^|_)key$|secret|token$|passw(?:or)?d|passphrase|(?:^|_)pwd(?:$|_)|credential|authorization"
    r"|private_?key|access_?key|cookie|(?:^|_)dsn$|(?:^|_)cvv(?:$|_)|(?:^|_)iban(?:$|_)|card_?n(?:umber|o)\b",
    re.IGNORECASE,
)


def masked(text: str) -> str:
    """Text without what looks like a credential: keys of known forms, signed tokens, private keys, passwords in
    addresses and after telling names, secrets of the environment, numbers of payment cards.

    >>> masked("card 4111 1111 1111 1111, key AKIAABCDEFGHIJKLMNOP")
    'card [redacted], key [redacted]'
    """
    return redacted(text, os.environ)


def telling(name: str) -> bool:
    """Whether the name of a variable, column or key says that a credential is in it.

    >>> telling("OPENAI_API_KEY"), telling("db_password"), telling("keyword"), telling("tokens")
    (True, True, False, False)
    """
    return _TELLING.search(name) is not None


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
