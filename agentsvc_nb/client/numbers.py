"""Format the numbers of a table: with separators of thousands, except in columns of years and identifiers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Final
from unicodedata import combining, normalize

_WORD: Final = re.compile(r"[^\W\d_]+")
_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _words(name: str) -> list[str]:
    """Split a column's name into words, without case and marks."""
    letters = normalize("NFKD", _HUMP.sub(" ", name[:200]))
    return _WORD.findall("".join(char for char in letters if not combining(char)).casefold())


# In English, German, French and Spanish.
IDENTIFIERS: Final = frozenset(
    _words(
        "id ids uuid guid sku nr no num number code key index nummer kennung schluessel numero clave codigo cle zip plz"
        " phone ean isbn asin"
    )
)
_YEARS: Final = frozenset(_words("year jahr annee ano season saison"))
_YEAR_NUMBERS: Final = range(1900, 2101)


def names_label(name: str) -> bool:
    """Return True if a column of this name has identifiers or years, not amounts.

    >>> names_label("orderId"), names_label("Année"), names_label("id count")
    (True, True, False)
    """
    words = _words(name)
    return not _YEARS.isdisjoint(words) or (bool(words) and words[-1] in IDENTIFIERS)


def separated(name: str, values: Sequence[object]) -> list[object]:
    """Return a column's values with its numbers as texts, with separators unless they are years or identifiers.

    >>> separated("views", [1234567, 0.1 + 0.2, None, "x"])
    ['1,234,567', '0.3', None, 'x']
    >>> separated("order_id", [1234567]), separated("", [2024, 2025])
    (['1234567'], ['2024', '2025'])
    """
    numbers = [value for value in values if _is_number(value)]
    comma = "" if names_label(name) or all(value in _YEAR_NUMBERS for value in numbers) else ","
    return [_said(value, comma) if _is_number(value) else value for value in values]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _said(value: object, comma: str) -> str:
    # 15 digits are those of a float that were meant; the rest comes of its being binary.
    return format(value, f"{comma}.15g" if isinstance(value, float) else comma)
