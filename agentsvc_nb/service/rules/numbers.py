"""Numbers as people write them in tables, read exactly."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation, localcontext
from typing import Final

_DIGITS_MAX: Final = 40
_CELL_MAX: Final = 60
_SAMPLE: Final = 200
"""So many filled cells without a number are enough to know a column of text."""
_CODES = re.compile(r"(?i)\b(?:eur|usd|gbp|chf|jpy|cny|inr|sek|nok|dkk|pln|czk|cad|aud)\b|(?<=\d)(?:eur|usd|gbp|chf)\b")
_SHAPE = re.compile(r"[+-]?(?:\d[\d.,]*|[.,]\d+)")
PRECISION: Final = 120
"""Significant digits of every calculation: sums of any column of numbers are exact."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """A column read as numbers: None where a cell holds none. `decimals` is the most that a cell shows."""

    values: Sequence[Decimal | None]
    unit: str = ""
    decimals: int = 0

    @property
    def known(self) -> list[Decimal]:
        return [value for value in self.values if value is not None]


def read(cells: Sequence[str]) -> Numbers | None:
    """A column's numbers, or None when fewer than half of its filled cells are numbers. Currency signs and codes,
    per cent signs and thousands separators are passed over; whether `,` or `.` is the decimal mark is decided by the
    column as a whole.

    >>> read(["1.200,50 €", "3,10 €", ""]).values
    [Decimal('1200.50'), Decimal('3.10'), None]
    """
    if not any(_bare(cell) for cell in [cell for cell in cells if cell][:_SAMPLE]):
        return None
    bare = [_bare(cell) for cell in cells]
    mark = _mark(bare)
    values = [_decimal(cell, mark) for cell in bare]
    found = [value for value in values if value is not None]
    if not found or 2 * len(found) < sum(1 for cell in cells if cell.strip()):
        return None
    return Numbers(values, _unit(cells), max(-int(value.as_tuple().exponent) for value in found))


_SCALES: Final = {
    "k": 3, "thousand": 3, "tausend": 3, "mille": 3, "mil": 3, "m": 6, "mn": 6, "mio": 6, "million": 6, "millions": 6,
    "millionen": 6, "millones": 6, "bn": 9, "billion": 9, "billions": 9, "milliarde": 9, "milliarden": 9,
}  # fmt: skip


def written(number: str, scale: str = "") -> Decimal | None:
    """A number as it stands in a question, with the word that follows it.

    >>> written("10,5", "million")
    Decimal('10500000.0')
    """
    found = read([number.rstrip(".,")])
    return found.known[0] * 10 ** _SCALES.get(scale, 0) if found else None


def show(value: Decimal, numbers: Numbers) -> str:
    """A result with its column's unit: as many places as the column has, and when a quotient needs them two more, or
    as many as show three digits."""
    with localcontext(prec=PRECISION):
        digits = max(numbers.decimals + 2, 2 - value.adjusted() if value else 0)
        least, most = (Decimal(1).scaleb(-places) for places in (numbers.decimals, digits))
        tenth = Decimal(1).scaleb(-numbers.decimals - 1)
        near = value.quantize(most)
        shortest = next(step for step in (least, tenth, most) if near == near.quantize(step))
        return f"{near.quantize(shortest):f}{numbers.unit}"


def _bare(cell: str) -> str:
    """The number in a cell, its marks kept; empty when there is none."""
    if len(cell) <= _DIGITS_MAX and _SHAPE.fullmatch(cell):
        return cell
    if len(cell) > _CELL_MAX:
        return ""
    text = "".join(
        char for char in cell if not char.isspace() and unicodedata.category(char) != "Sc" and char not in "'’%"
    )
    text = _CODES.sub("", text.replace("−", "-"))
    if text.startswith("(") and text.endswith(")"):
        text = "-" + text[1:-1]
    return text if len(text) <= _DIGITS_MAX and _SHAPE.fullmatch(text) else ""


def _mark(cells: Iterable[str]) -> str:
    """The decimal mark: the last of two kinds, else one that is not followed by exactly three digits."""
    for cell in cells:
        last = max(cell.rfind("."), cell.rfind(","))
        if last < 0:
            continue
        other = "," if cell[last] == "." else "."
        if other in cell:
            return cell[last]
        if cell.count(cell[last]) > 1:
            return other
        if len(cell) - last - 1 != 3:
            return cell[last]
    return "."


def _decimal(cell: str, mark: str) -> Decimal | None:
    try:
        return Decimal(cell.replace("," if mark == "." else ".", "").replace(mark, "."))
    except InvalidOperation:
        return None


def _unit(cells: Sequence[str]) -> str:
    """The sign that follows the numbers, when all filled cells share it."""
    ends = {cell.strip()[-1] for cell in cells if cell.strip()}
    sign = ends.pop() if len(ends) == 1 else ""
    if sign == "%":
        return "%"
    return f" {sign}" if sign and unicodedata.category(sign) == "Sc" else ""
