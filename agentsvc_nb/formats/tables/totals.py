"""Rows of totals and of headings among a table's rows: they are told apart, so that nothing is counted that is none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from typing import Any, Final

from agentsvc_nb.formats.tables.cells import is_empty
from agentsvc_nb.formats.tables.columns import plain_value
from agentsvc_nb.formats.tables.model import ReadColumn, Value
from agentsvc_nb.formats.tables.numbers import number_of

_SURE: Final = re.compile(
    r"(?ix)\s*(?: (?:grand|sub|overall|account|campaigns?|report|column|running)[ -]?totals?"
    r" | totals?\s*[:\u2013\u2014-]\s*\w.* | totals?\s*:"
    r" | (?:gesamt|zwischen|end)(?:summe|ergebnis|betrag)n? | gesamt\s*: .* | summe | summe\s*[:(].*"
    r" | total\s+g[ée]n[ée]ral | sous-total | suma(?:\s+total)? | total\s+general | totaal"
    r" | totale(?:\s+generale)? | sum | sum\s*: | all\s+rows )\s*"
)
_LIKELY: Final = re.compile(
    r"(?i)\s*(?:totals?|gesamt|insgesamt|ergebnis|somme|overall|all|alle|tous|todos)(?:\s*\(.*\))?\s*"
)
_INITIALS: Final = frozenset(["", " ", *"tgsozaeicrTGSOZAEICR"])
"""What rows of totals begin with; nothing if their name stands in the next cell."""
_LABEL_MAX: Final = 100
_PRECISION: Final = 120


def headings(rows: Sequence[Sequence[Any]], columns: Sequence[ReadColumn]) -> list[int]:
    """The indices of rows that only head those below: one text in all cells, also of columns of numbers or dates."""
    if len(columns) < 3 or all(column.kind == "text" for column in columns):
        return []
    same = [at for at, row in enumerate(rows) if row[0] == row[1] == row[-1] and row[0].__class__ is str]
    told = [at for at in same if _row_text(rows[at])]
    return [at for at in told if any(column.kind != "text" and column.values[at] is None for column in columns)]


def _row_text(row: Sequence[Any]) -> str:
    """The one text that all cells have; empty if they differ."""
    return str(row[0]) if len(set(map(str, row))) == 1 and not is_empty(row[0]) else ""


def suspects(rows: Sequence[Sequence[Any]]) -> list[int]:
    """The indices of rows whose first filled cell is a word for totals."""
    if not rows:
        return []
    firsts = ((at, row[0]) for at, row in enumerate(rows))
    may_be = [at for at, cell in firsts if cell is None or (cell.__class__ is str and cell[:1] in _INITIALS)]
    found = [at for at in may_be if is_label(_first(rows[at]))]
    return found if len(found) * 2 <= len(rows) else []


def _first(row: Sequence[Any]) -> str:
    cell = next((cell for cell in row if cell is not None and str(cell).strip()), "")
    return cell if isinstance(cell, str) else ""


def is_label(cell: str) -> bool:
    """Whether it is a word for totals."""
    return len(cell) <= _LABEL_MAX and bool(_SURE.fullmatch(cell) or _LIKELY.fullmatch(cell))


def confirmed(rows: Sequence[Sequence[Any]], suspected: Sequence[int], columns: Sequence[ReadColumn]) -> list[int]:
    """The suspects that are rows of totals: by their names, or because their numbers are the sums of the columns (of
    the rows without suspects), or of what is between the suspect before and this one; the last also if its numbers are
    larger than the sums. A company called Total is none."""
    numeric = [(at, column) for at, column in enumerate(columns) if column.kind == "number"]
    whole = {at: _sum(column.values) for at, column in numeric}
    found = []
    begin = 0
    for count, place in enumerate(suspected):
        end = place - count  # among the rows without suspects
        last = end == len(rows) - len(suspected)
        parts = {at: _sum(column.values[begin:end]) for at, column in numeric}
        begin = end
        if _SURE.fullmatch(_first(rows[place])) or _adds_up(rows[place], numeric, whole, parts, last):
            found.append(place)
    return found


def is_total(row: Sequence[Any], columns: Sequence[ReadColumn], sums: Mapping[int, Decimal], rows: int) -> bool:
    """Whether the last row, the only suspect, is one of totals, as `confirmed` has it: below so many rows, whose
    numbers have these sums."""
    numeric = [(at, replace(columns[at], values=(None,) * rows)) for at in sums]  # only how many counts
    return bool(_SURE.fullmatch(_first(row))) or _adds_up(row, numeric, sums, sums, last=True)


def _adds_up(
    row: Sequence[Any],
    numeric: Sequence[tuple[int, ReadColumn]],
    whole: Mapping[int, Decimal],
    parts: Mapping[int, Decimal],
    last: bool,
) -> bool:
    values = [(at, column, value) for at, column in numeric if (value := _number(column, row[at])) is not None]
    for at, column, value in values:
        slack = Decimal(len(column.values)).scaleb(-column.decimals - 1) if column.decimals else Decimal(0)
        if any(total and abs(total - value) <= slack for total in (whole[at], parts[at])):
            return True
        if last and value > whole[at] > 0:
            return True
    return last and not values


def _sum(values: Iterable[Value]) -> Decimal:
    with localcontext(prec=_PRECISION):
        return sum((one for one in values if isinstance(one, Decimal)), Decimal(0))


def _number(column: ReadColumn, cell: Any) -> Decimal | None:
    if column.kind != "number":
        return None
    if isinstance(cell, str):
        return number_of(cell, column.decimal_mark)
    value = plain_value(cell)
    return value if isinstance(value, Decimal) else None


def unnamed(columns: Sequence[ReadColumn]) -> list[int]:
    """The index of a first or last row without a name whose numbers are the sums of the others', as some exports have
    it."""
    labels = [column for column in columns if column.kind != "number"]
    numbers = [column for column in columns if column.kind == "number"]
    count = len(columns[0].values) if columns else 0
    if not labels or not numbers or count < 3:
        return []
    texts = [column for column in labels if column.kind in ("text", "boolean")] or labels
    hollow = [at for at in (0, count - 1) if not any(column.texts[at].strip() for column in texts)]
    return [at for at in hollow if any(_only_gap(column, at) for column in texts) and _is_sum(at, numbers)][:1]


def _only_gap(column: ReadColumn, at: int) -> bool:
    return not column.texts[at].strip() and sum(1 for text in column.texts if not text.strip()) == 1


def _is_sum(at: int, numbers: Sequence[ReadColumn]) -> bool:
    with localcontext(prec=_PRECISION):
        for column in numbers:
            value = column.values[at]
            known = [one for one in column.values if isinstance(one, Decimal)]
            if (
                not isinstance(value, Decimal)
                or not value
                or len(known) < 3
                or known[0] + 2 == known[1] + 1 == known[2]
            ):
                continue  # no sum; or numbers that count rows
            if sum(known, -value) == value:
                return True
    return False
