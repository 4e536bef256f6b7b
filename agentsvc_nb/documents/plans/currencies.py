"""The currency that the amounts of a column are in: by their unit, as `3 EUR` has it, or by the column's name, as
`Cost (EUR)` does."""

from __future__ import annotations

import re
from typing import Final

from agentsvc_nb.documents.plans.profiles import ColumnProfile
from agentsvc_nb.documents.tables.numbers import currency_code, is_currency_unit

_IN_NAME: Final = re.compile(r"[^\W\d_]+|[€$£¥]")
_ALONE: Final = frozenset(("try", "all", "cop", "pen", "mad", "ron", "ars", "lei", "ft"))
"""Codes that are words, too: in capital letters they are meant."""
_MAY_BE: Final = {
    "$": frozenset(("USD", "CAD", "AUD", "NZD", "SGD", "HKD", "TWD", "MXN", "ARS", "CLP", "COP", "UYU")),
    "¥": frozenset(("JPY", "CNY")),
    "kr": frozenset(("SEK", "NOK", "DKK", "ISK")),
}
"""Signs of several currencies."""


def currency_of(column: ColumnProfile) -> str:
    """The code of the one currency; empty where neither unit nor name says one.

    >>> currency_of(ColumnProfile("Cost (EUR)", "number")), currency_of(ColumnProfile("Cost", "number", "€"))
    ('EUR', 'EUR')
    """
    if column.kind != "number":
        return ""
    if column.unit:
        return currency_code(column.unit) if is_currency_unit(column.unit) else ""
    said = {code for word in _IN_NAME.findall(column.name) if (code := _named(word))}
    return said.pop() if len(said) == 1 else ""


def _named(word: str) -> str:
    if not is_currency_unit(word) or len(word) == 2 or (word.lower() in _ALONE and not word.isupper()):
        return ""
    return currency_code(word.upper() if len(word) == 3 else word)


def differ(one: str, other: str) -> bool:
    """Whether two codes are of two currencies for sure: `$` may be any dollar."""
    same = one == other or other in _MAY_BE.get(one, ()) or one in _MAY_BE.get(other, ())
    return bool(one) and bool(other) and not same
