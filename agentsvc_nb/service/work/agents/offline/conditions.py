"""The rows that a question means: by a value, by a limit or an amount, by a day, a month or a year."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from operator import ge, gt, le, lt
from typing import Final

from agentsvc_nb.service.rules.folding import fold
from agentsvc_nb.service.rules.numbers import written
from agentsvc_nb.service.rules.search import tokens
from agentsvc_nb.service.rules.tables import Table
from agentsvc_nb.service.work.agents.offline import operations as ops
from agentsvc_nb.service.work.agents.offline.columns import best, parts
from agentsvc_nb.service.work.agents.offline.dates import dated
from agentsvc_nb.service.work.agents.offline.measures import Measure, implied
from agentsvc_nb.service.work.agents.offline.values import Filter, named_values
from agentsvc_nb.service.work.agents.offline.words import STOP, stem, stems

_COSTS = re.compile(r"\bcosts?\s*$")  # "products that cost more than 100": their price is meant
_COMPARE: Final[dict[str, tuple[str, Callable[[Decimal, Decimal], bool]]]] = {
    "ge": (">=", ge),
    "le": ("<=", le),
    "gt": (">", gt),
    "lt": ("<", lt),
}
_TOTALS: Final = re.compile(r"(?i)\b(?:totals?|sum|average|mean|overall|gesamt|summe|insgesamt|somme|suma)\W*$")


@dataclass(frozen=True)
class _Limit:
    """What a question says about numbers, as shown behind a column's name; `near` is the column beside it."""

    near: int | None
    shown: str
    holds: Callable[[Decimal], bool]
    said: frozenset[int]
    needs_name: bool = False
    """`Between 1990 and 1995` may be of anything: it is no condition where no column stands beside it."""


def filters(table: Table, question: str, measured: Measure | None) -> list[Filter]:
    """All conditions that the question makes; each must be met."""
    name = tokens(measured.name.replace("_", " ")) if measured else []
    years = {place for place, word in enumerate(tokens(question)) if word.isdigit() and word in name}
    # The year in `the population in 2020` is a part of the name `population_2020`.
    made = [*named_values(table, question), *(one for one in dated(table, question) if not one.at & years)]
    said = {place for one in made for place in one.at}
    limits, words = compared(table, question, _column(measured)), tokens(question)
    # `At least 10 gold and 10 silver`: the limit may well be meant for both.
    numbers = [one for one in amounts(table, question) if not limits or words[min(one.at) - 1] not in ops.AND_OR]
    for one in [*equal(table, question), *limits, *numbers]:
        if not said & one.at:
            made.append(one)
            said |= one.at
    return made


def fitting(table: Table, found: Sequence[Filter]) -> list[int]:
    """The rows (indices from 0) that meet all of the conditions; never a row of totals."""
    sums = totals(table)
    return [row for row in range(len(table.rows)) if row not in sums and all(row in one.rows for one in found)]


def totals(table: Table) -> frozenset[int]:
    """The rows that add up the others, as spreadsheets end: `Total`, `Grand total`."""
    cells = table.cells(table.label) if table.label is not None else []
    return frozenset(row for row, cell in enumerate(cells) if len(cell) <= 20 and _TOTALS.search(cell))


def limited(table: Table, text: str) -> set[int]:
    """The columns of numbers that conditions name: `over 50` the one beside it, `week 21` the one before."""
    near = {one.near for one in _limits(table, text) if one.near is not None}
    return near | {one.column for one in [*equal(table, text), *amounts(table, text)]}


def compared(table: Table, question: str, measure: int | None) -> list[Filter]:
    """The conditions on numbers that the question makes: `a price over 50`, `5 stars or more`, `between 1 and 2`."""
    only = next(iter(table.numbers)) if len(table.numbers) == 1 else None
    made = []
    for one in _limits(table, question):
        index = one.near
        if index is None and not one.needs_name:
            index = only if measure is None else measure
        if index is not None:
            made.append(_condition(table, index, one.shown, one.holds, one.said))
    return made


def _limits(table: Table, question: str) -> Iterator[_Limit]:
    text = fold(question)
    for found in (*ops.ABOVE_BELOW.finditer(text), *ops.OR_MORE.finditer(text)):
        limit = written(found["number"], found["scale"] or "")
        if limit is not None:
            yield _one_sided(table, text, found, limit)
    for found in ops.BETWEEN.finditer(text):
        low, high = (written(found[name], found["scale"] or "") for name in ("number", "high"))
        if low is not None and high is not None:
            stop = found.end("scale" if _is_scale(found["scale"]) else "high")
            near = _beside(table, text[: found.start()], text[stop:])
            said = _said(text, found.start(), stop)
            yield _Limit(near, f"from {low:f} to {high:f}", partial(_lies, low, high), said, needs_name=True)


def _one_sided(table: Table, text: str, found: re.Match[str], limit: Decimal) -> _Limit:
    sign, compare = next(_COMPARE[name] for name in _COMPARE if found.groupdict().get(name))
    stop = found.end() if found.re is ops.OR_MORE else found.end("scale" if _is_scale(found["scale"]) else "number")
    before = text[: found.start()]
    near, costs = _beside(table, before, text[stop:]), _COSTS.search(before)
    said = _said(text, costs.start() if costs else found.start(), stop)
    # `Older than 30` is said of ages alone, whatever stands beside it.
    kinds = {name for words, names in ops.IMPLIED if words.search(found[0]) for name in names}
    if kinds and (near is None or not kinds & set(parts(table.columns[near]))):
        near = _column(implied(table, found[0]))
    if near is not None and ops.RANKS & set(parts(table.columns[near])) and found[0][0].isalpha():
        near, kinds = None, {""}  # above the third is the second, or the fourth
    return _Limit(near, f"{sign} {limit:f}", partial(_compares, compare, limit), said, needs_name=bool(kinds))


def _column(measured: Measure | None) -> int | None:
    return measured.column if measured else None


def _compares(compare: Callable[[Decimal, Decimal], bool], limit: Decimal, value: Decimal) -> bool:
    return compare(value, limit)


def _lies(low: Decimal, high: Decimal, value: Decimal) -> bool:
    return low <= value <= high


def _is_scale(word: str | None) -> bool:
    return written("1", word or "") != 1


def _said(text: str, start: int, stop: int) -> frozenset[int]:
    first = len(tokens(text[:start]))
    return frozenset(range(first, first + len(tokens(text[start:stop]))))


def _beside(table: Table, before: str, after: str) -> int | None:
    """The column that the words next to a limit name: `over 9 seats`, else `seats over 9`, else one further before."""
    follows = re.match(r"\W*((?:\w+\W+){0,2}\w+)", after)
    behind = [stem(word) for word in tokens(follows[1])] if follows and not re.match(r"\s*[,;:?!.]", after) else []
    ahead = [stem(word) for word in tokens(_COSTS.sub("price", before)) if word not in STOP][-4:]
    tries = [set(behind[:count]) for count in range(1, len(behind) + 1)] if behind else []
    tries += [set(ahead[-count:]) for count in range(1, len(ahead) + 1)]
    return next((column[0] for names in tries if (column := best(table, names, table.numbers))), None)


def equal(table: Table, question: str) -> list[Filter]:
    """The conditions that name a column and its numbers: `in week 21`, `with a stock of 0`, `a score of 9 or 10`."""
    text = fold(question)
    found = ((one, _just_named(table, stems(one["words"]))) for one in ops.EQUAL.finditer(text))
    made = [
        _one_of(table, column, one["numbers"], _said(text, *one.span("numbers")))
        for one, column in found
        if column is not None
    ]
    return [one for one in made if one]


def amounts(table: Table, question: str) -> list[Filter]:
    """The conditions that name numbers and their column: `9 or 10 seats`, `no overtime`, where any row has so many."""
    text = fold(question)
    top = {place for places in ops.matched(ops.TOP, " ".join(tokens(text))) for place in places}
    made = []
    for found in ops.AMOUNTS.finditer(text):
        column = _just_named(table, stems(found["words"]), begin=True)
        said = _said(text, *found.span())
        one = _one_of(table, column, found["numbers"] or "0", said) if column is not None and not said & top else None
        if one and one.rows:
            made.append(one)
    return made


def _just_named(table: Table, words: Sequence[str], *, begin: bool = False) -> int | None:
    """The column whose whole name ends the words, or begins them."""
    return next((index for index in table.numbers if _is_whole(words, table.columns[index], begin)), None)


def _is_whole(words: Sequence[str], column: str, begin: bool) -> bool:
    name = [stem(part) for part in parts(column)]
    return list(words[: len(name)] if begin else words[-len(name) :]) == name


def _one_of(table: Table, index: int, listed: str, said: frozenset[int]) -> Filter | None:
    numbers = [written(one) for one in re.findall(r"\d+(?:[.,]\d+)*", listed)]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):
        return None
    shown = f"= {known[0]:f}" if len(known) == 1 else f"in {', '.join(f'{number:f}' for number in known)}"
    return _condition(table, index, shown, known.__contains__, said)


def _condition(table: Table, index: int, shown: str, holds: Callable[[Decimal], bool], said: frozenset[int]) -> Filter:
    values = table.numbers[index].values
    rows = frozenset(row for row, value in enumerate(values) if value is not None and holds(value))
    unknown = frozenset(row for row, value in enumerate(values) if value is None)
    return Filter(index, f"{table.columns[index]} {shown}", rows, unknown=unknown, at=said)
