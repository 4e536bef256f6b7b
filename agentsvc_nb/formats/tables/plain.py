"""Tables in CSV and TSV, read whole and tolerantly, and the exact numbers in their columns."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation, localcontext
from functools import cached_property
from typing import Final

_DIGITS_MAX: Final = 40
_CELL_MAX: Final = 60
_SAMPLE: Final = 200
"""A column without a number in this many filled cells at its beginning is a column of text."""
_CODES = re.compile(r"(?i)\b(?:eur|usd|gbp|chf|jpy|cny|inr|sek|nok|dkk|pln|czk|cad|aud)\b|(?<=\d)(?:eur|usd|gbp|chf)\b")
_SHAPE = re.compile(r"[+-]?(?:\d[\d.,]*|[.,]\d+)")
PRECISION: Final = 120
"""Significant digits of every calculation: sums of any column of numbers are exact."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """A column read as numbers: None where a cell holds none. `decimals` is the largest number of decimals in a
    cell."""

    values: Sequence[Decimal | None]
    unit: str = ""
    decimals: int = 0

    @property
    def known(self) -> list[Decimal]:
        return [value for value in self.values if value is not None]


def read(cells: Sequence[str]) -> Numbers | None:
    """A column's numbers, or None when fewer than half of its filled cells are numbers. Currency signs and codes,
    per cent signs and thousands separators are ignored; whether `,` or `.` is the decimal mark is decided for the
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
    """A number as it is written in a question, with the word after it, which may be a scale; None if it is no number.

    >>> written("10,5", "million")
    Decimal('10500000.0')
    """
    found = read([number.rstrip(".,")])
    return found.known[0] * 10 ** _SCALES.get(scale, 0) if found else None


def show(value: Decimal, numbers: Numbers) -> str:
    """A result with its column's unit. It has as many decimals as the column; a quotient has up to two more, or as many
    as it takes to show three digits."""
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
    """The decimal mark of a column: the last of two different marks in a cell, else a single one that is not followed
    by exactly three digits."""
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


_DELIMITERS: Final = ",;\t|"
_ID: Final = re.compile(r"(?i)(?:^|[\W_])(?:id|uuid|sku|nr|no|code|key)\.?$|(?<=[a-z])(?:Id|ID|Nr|No)$")


@dataclass(frozen=True)
class Table:
    """A table with a header, which is not among `rows`. Readers see rows counted from 1; indices are from 0."""

    path: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def cells(self, column: int) -> list[str]:
        return [row[column] for row in self.rows]

    @cached_property
    def numbers(self) -> dict[int, Numbers]:
        """The numbers of each column that holds some to compute with, by its index; a column of ids does not."""
        found = ((index, read(self.cells(index))) for index in range(len(self.columns)) if not self.is_id(index))
        return {index: numbers for index, numbers in found if numbers is not None}

    def is_id(self, column: int) -> bool:
        """Whether the column only identifies rows: its name says so (`id`, `sku`), and no two cells are equal."""
        cells = self.cells(column)
        return _ID.search(self.columns[column]) is not None and len(set(cells)) == len(cells)

    @cached_property
    def label(self) -> int | None:
        """The column that names a row: the first that is not numbers."""
        return next((index for index in range(len(self.columns)) if index not in self.numbers), None)

    def name(self, row: int) -> str:
        """The name of the row (an index from 0): its cell in the column `label`, else such as `row 3`."""
        return (self.rows[row][self.label] if self.label is not None else "") or f"row {row + 1}"


def is_table(path: str, media_type: str) -> bool:
    return path.lower().endswith((".csv", ".tsv")) or media_type in ("text/csv", "text/tab-separated-values")


def parse(path: str, text: str) -> Table | None:
    """The table in a text; None when there is none. The delimiter is detected; short rows are filled up, long ones cut,
    empty ones dropped."""
    try:
        lines = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter(path, text)) if any(row)]
    except csv.Error:
        return None
    if len(lines) < 2:
        return None
    width = len(lines[0])
    columns = [name.strip() or f"column {index + 1}" for index, name in enumerate(lines[0])]
    rows = [[cell.strip() for cell in (row + [""] * width)[:width]] for row in lines[1:]]
    return Table(path, columns, rows)


def delimiter(path: str, text: str) -> str:
    """The delimiter that occurs most often in every one of the first lines; a tab for a `.tsv` file."""
    if path.lower().endswith(".tsv"):
        return "\t"
    lines = [line for line in text[:20_000].splitlines() if line.strip()][:10]

    def evenness(delimiter: str) -> tuple[int, int]:
        counts = [line.count(delimiter) for line in lines]
        return (min(counts, default=0), counts[0] if counts else 0)

    return max(_DELIMITERS, key=evenness)
