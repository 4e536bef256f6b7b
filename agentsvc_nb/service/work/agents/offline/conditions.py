"""The rows that a question means: by a value, by a limit or an amount, by a month or a year."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from operator import eq, ge, gt, le, lt
from typing import Final

from agentsvc_nb.service.rules.numbers import written
from agentsvc_nb.service.rules.tables import Table
from agentsvc_nb.service.work.agents.offline.columns import best, parts
from agentsvc_nb.service.work.agents.offline.dates import dated
from agentsvc_nb.service.work.agents.offline.measures import Measure
from agentsvc_nb.service.work.agents.offline.operations import ABOVE_BELOW, EQUAL
from agentsvc_nb.service.work.agents.offline.values import Filter, named_values
from agentsvc_nb.service.work.agents.offline.words import stem, stems

_COSTS = re.compile(r"\bcosts?\s*$", re.I)  # "products that cost more than 100": their price is meant
_COMPARE: Final[dict[str, tuple[str, Callable[[Decimal, Decimal], bool]]]] = {
    "ge": (">=", ge),
    "le": ("<=", le),
    "gt": (">", gt),
    "lt": ("<", lt),
}


def filters(table: Table, question: str, measured: Measure | None, group: int | None) -> list[Filter]:
    """All conditions that the question makes; each must be met."""
    column = measured.column if measured else None
    named = named_values(table, question, {index for index in (column, group) if index is not None})
    limit, date = compared(table, question, column), dated(table, question)
    return [*named, *equal(table, question), *(one for one in (limit, date) if one)]


def fitting(table: Table, found: Sequence[Filter]) -> list[int]:
    """The rows (indices from 0) that meet all of the conditions."""
    return [row for row in range(len(table.rows)) if all(row in one.rows for one in found)]


def limited(table: Table, text: str) -> set[int]:
    """The columns of numbers that conditions name: `over 50` the one nearest before it, `week 21` the one before."""
    near = _limited(table, text)
    return {one.column for one in equal(table, text)} | ({near} if near is not None else set())


def _limited(table: Table, text: str) -> int | None:
    found = ABOVE_BELOW.search(text.casefold())
    if found is None:
        return None
    before = stems(_COSTS.sub("price", text[: found.start()]))[-5:]
    near = (best(table, set(before[-count:]), table.numbers) for count in range(1, len(before) + 1))
    return next((column[0] for column in near if column), None)


def compared(table: Table, question: str, measure: int | None) -> Filter | None:
    """The condition on numbers that the question makes: `with a price over 50`, `above 10 million`."""
    found = ABOVE_BELOW.search(question.casefold())
    if found is None:
        return None
    near = _limited(table, question)
    index = measure if near is None else near
    if index is None and len(table.numbers) == 1:
        index = next(iter(table.numbers))
    limit = written(found["number"], found["scale"] or "")
    if index is None or limit is None:
        return None
    sign, compare = next(_COMPARE[name] for name in _COMPARE if found[name])
    return _condition(table, index, sign, compare, limit)


def equal(table: Table, question: str) -> list[Filter]:
    """The conditions that name a column and its number: `in week 21`, `with a stock of 0`."""
    return [
        _condition(table, column, "=", eq, number)
        for found in EQUAL.finditer(question.casefold())
        if (number := written(found["number"])) is not None
        and (column := _just_named(table, stems(found["words"]))) is not None
    ]


def _just_named(table: Table, words: Sequence[str]) -> int | None:
    """The column whose whole name ends the words."""
    return next((index for index in table.numbers if _ends(words, table.columns[index])), None)


def _ends(words: Sequence[str], column: str) -> bool:
    name = [stem(part) for part in parts(column)]
    return list(words[-len(name) :]) == name


def _condition(
    table: Table, index: int, sign: str, compare: Callable[[Decimal, Decimal], bool], limit: Decimal
) -> Filter:
    values = table.numbers[index].values
    rows = frozenset(row for row, value in _known(values) if compare(value, limit))
    unknown = frozenset(row for row, value in enumerate(values) if value is None)
    return Filter(index, f"{table.columns[index]} {sign} {limit:f}", rows, unknown=unknown)


def _known(values: Sequence[Decimal | None]) -> Iterator[tuple[int, Decimal]]:
    return ((row, value) for row, value in enumerate(values) if value is not None)
