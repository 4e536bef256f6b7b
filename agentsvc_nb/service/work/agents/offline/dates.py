"""Months and years that a question names, and the rows of a table that lie in them."""

from __future__ import annotations

import re
from typing import Final

from agentsvc_nb.service.rules.search import tokens
from agentsvc_nb.service.rules.tables import Table
from agentsvc_nb.service.work.agents.offline.values import Filter

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january januar janvier enero", "february februar fevrier febrero", "march marz mars marzo",
            "april avril abril", "may mai mayo", "june juni juin junio", "july juli juillet julio",
            "august aout agosto", "september septembre septiembre", "october oktober octobre octubre",
            "november novembre noviembre", "december dezember decembre diciembre",
        ), 1)
    for name in names.split()
}  # fmt: skip
_ISO = re.compile(r"(\d{4})-(\d{2})(?:-\d{2})?\b")
# `May` is a verb too: a month stands behind one of these.
_WHEN = re.compile(
    rf"\b(?:in|during|of|for|from|im|seit|en|de|du|pour|para|durante) "
    rf"(?:(?P<month>{'|'.join(_MONTHS)})(?: (?:de |of )?(?P<year>\d{{4}}))?|(?P<only>\d{{4}}))\b"
)


def dated(table: Table, question: str) -> Filter | None:
    """The condition on the table's one column of ISO dates: `in May`, `in March 2025`, `in 2025`."""
    found, column = _WHEN.search(" ".join(tokens(question))), _date_column(table)
    if found is None or column is None:
        return None
    month, year = _MONTHS.get(found["month"] or "", 0), found["year"] or found["only"] or ""
    rows = frozenset(row for row, cell in enumerate(table.cells(column)) if _lies_in(cell, year, month))
    when = "-".join(part for part in (year, f"{month:02}" if month else "") if part)
    return Filter(column, f"{table.columns[column]} in {when if year else found['month']}", rows)


def months(text: str) -> set[str]:
    """The words of a text (folded) that name a month."""
    return {word for word in tokens(text) if word in _MONTHS}


def _date_column(table: Table) -> int | None:
    columns = [index for index in range(len(table.columns)) if _is_dates(table.cells(index))]
    return columns[0] if len(columns) == 1 else None


def _is_dates(cells: list[str]) -> bool:
    filled = [cell for cell in cells if cell][:200]
    return bool(filled) and 2 * sum(1 for cell in filled if _ISO.match(cell)) >= len(filled)


def _lies_in(cell: str, year: str, month: int) -> bool:
    found = _ISO.match(cell)
    return found is not None and year in ("", found[1]) and month in (0, int(found[2]))
