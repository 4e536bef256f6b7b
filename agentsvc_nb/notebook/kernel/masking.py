"""What is never told of a kernel's variables: values that look like credentials, names that say so, hidden columns."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from agentsvc_nb.notebook.errors import HIDDEN, redacted

_TELLING: Final = re.compile(
    r"api_?key|(?:^|_)key$|secret|token$|passw(?:or)?d|passphrase|(?:^|_)pwd(?:$|_)|credential|authorization"
    r"|private_?key|access_?key|cookie|(?:^|_)dsn$|(?:^|_)cvv(?:$|_)|(?:^|_)iban(?:$|_)|card_?n(?:umber|o)\b",
    re.IGNORECASE,
)
_SHAPES: Final = (
    re.compile(r"\bAIza[\w-]{35}\b"),  # Google
    re.compile(r"\b(?:sk|rk|pk|whsec)_(?:live|test)?_?[A-Za-z0-9]{16,}\b"),  # Stripe
    re.compile(r"\bSG\.[\w-]{16,}\.[\w-]{16,}"),  # SendGrid
    re.compile(r"\b(?:npm_|pypi-|dop_v1_|shpat_|xapp-|gsk_|ya29\.|AGE-SECRET-KEY-)[\w-]{16,}"),
    re.compile(r"(?<![\w/+])(?:AccountKey|SharedAccessKey|SharedAccessSignature)=[^;\s]+", re.IGNORECASE),  # Azure
    re.compile(r"(?i)(?<=[?&])(?:access_token|api_?key|sig|signature|token|password)=[^&\s\"']+"),
)
_DIGITS: Final = re.compile(r"(?<![\d.])(?:\d[ -]?){12,18}\d(?![\d.])")
_ISSUERS: Final = re.compile(r"4|5[1-5]|2[2-7]|3[47]|36|38|30|6")


def masked(text: str) -> str:
    """Text without what looks like a credential: keys of known forms, signed tokens, private keys, passwords in
    addresses and after telling names, secrets of the environment, numbers of payment cards.

    >>> masked("card 4111 1111 1111 1111, key AKIAABCDEFGHIJKLMNOP")
    'card [redacted], key [redacted]'
    """
    text = redacted(text, os.environ)
    for shape in _SHAPES:
        text = shape.sub(HIDDEN, text)
    return _DIGITS.sub(lambda found: HIDDEN if is_card(found[0]) else found[0], text)


def is_card(number: str) -> bool:
    """Whether digits (with blanks or dashes) begin as a payment card's do, and have its check digit.

    >>> is_card("4111-1111-1111-1111"), is_card("4111111111111112")
    (True, False)
    """
    digits = [int(char) for char in number if char.isdigit()]
    if not _ISSUERS.match("".join(map(str, digits))):
        return False
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


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
