"""Numbers as people read them in tables: with separators of thousands, except where they say which one, as years do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Final
from unicodedata import combining, normalize

_WORD: Final = re.compile(r"[^\W\d_]+")
_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _words(name: str) -> list[str]:
    """The words of a column's name, without case and marks."""
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
_CURRENCY: Final = "[$€£¥]|EUR|USD|GBP|CHF|JPY"
_UNIT: Final = rf"{_CURRENCY}|[%‰]|cents?|[kMG]?B|s|ms|min|h|kg|g|km|m|x"
_NUMBER: Final = re.compile(rf"[-+\u2212]?\s?(?:{_CURRENCY})?\s?\d[\d.,\u00a0\u202f' ]*\s?(?:{_UNIT})?")


def is_number(text: str) -> bool:
    """Whether a cell holds an amount and nothing else, which is read best at the right edge of its column.

    >>> is_number("1,234.50 €"), is_number("EUR 1,234.50"), is_number("12 March")
    (True, True, False)
    """
    return len(text) <= 40 and _NUMBER.fullmatch(text.strip()) is not None


def names_label(name: str) -> bool:
    """Whether a column of this name has numbers that say which one rather than how much.

    >>> names_label("orderId"), names_label("Année"), names_label("id count")
    (True, True, False)
    """
    words = _words(name)
    return not _YEARS.isdisjoint(words) or (bool(words) and words[-1] in IDENTIFIERS)


def separated(name: str, values: Sequence[object]) -> list[object]:
    """The values of the column of this name; its numbers become texts, with separators unless they are years or labels.

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
