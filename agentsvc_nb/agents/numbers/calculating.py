"""Find a calculation with two values whose result is a number of the answer. The values are numbers near the number, or
cells and totals of the rows and columns that the text names.

The search begins with the calculations whose columns the text names best. The more calculations it has tried, the more
digits the number must have to be accepted, because a short number fits one of many calculations by chance.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from agentsvc_nb.agents.numbers.context import LocatedNumber
from agentsvc_nb.agents.numbers.reading import Number
from agentsvc_nb.agents.numbers.tables import IndexedTable, NumberColumn
from agentsvc_nb.agents.numbers.tracing import (
    CHANCE,
    Selection,
    Source,
    chance,
    column_fits,
    factors,
    selections,
)
from agentsvc_nb.agents.numbers.words import CHANGE, MEAN, RATIO, SHARE, TOTAL, stems

CHANCE_IF_ASKED: Final = 0.5
"""The maximum accepted chance that a calculation fits by accident if words near the number announce it, such as
`total`. For all other calculations, the maximum is `CHANCE`.
"""
_OPERANDS_MAX: Final = 8
_COLUMNS_MAX: Final = 12
"""The maximum number of columns of a table to compute with. The columns that the text names best have priority."""
_GROUPS_MAX: Final = 4
_TABLES_COMPARED: Final = 3
_ADDED: Final = TOTAL | stems("and plus with")
_CHANGED: Final = CHANGE | stems("leave free net remaining unused underspend minus less")


@dataclass(frozen=True, slots=True)
class Term:
    """A value to compute with: a number of the answer, or a cell, total or mean of the column at `index`."""

    value: float
    text: str
    kind: str = ""
    currency: str = ""
    index: int | None = None
    averaged: bool = False


@dataclass(slots=True)
class Derivation:
    """A calculation that may explain a number.

    Attributes:
        asked: True if words near the number announce the calculation.
        formula: numbers that together identify a calculation such as "column 2 divided by column 1 of table 3". They
            are the same for each row to which it applies.
        fit: how well the text names the calculation's columns. Higher is better.
    """

    value: float
    text: str
    asked: bool
    formula: tuple[int, ...] = ()
    fit: float = 0.0


def compute_from_numbers(place: LocatedNumber, known: Sequence[tuple[LocatedNumber, Source]]) -> Source | None:
    """Return a calculation of the number at `place` from two nearby numbers with found sources (`known`), or None."""
    usable = [
        (other, _as_term(other.number, source))
        for other, source in known
        if not (other.number.adjectival or other.number.is_year) and other.cell in (None, place.cell)
    ]
    same = [term for other, term in usable if other.sentence == place.sentence][-_OPERANDS_MAX:]
    before = [term for other, term in usable if other.sentence < place.sentence][-_OPERANDS_MAX:][::-1]
    here = [each for pair in combinations(same, 2) for each in _steps(place, *pair)]
    here.sort(key=lambda each: not each.asked)
    there = [each for first in before for second in same for each in _steps(place, first, second)]
    for tried, each in enumerate([*here, *there], 1):
        accident = tried * chance(place.number)
        if accident > CHANCE_IF_ASKED:
            return None
        if place.number.fits(abs(each.value)) and (each.asked or accident <= CHANCE):
            return Source("computed", each.text)
    return None


def _as_term(number: Number, source: Source) -> Term:
    """Return a number of the answer as a term with its source's exact value, because the answer may have rounded it."""
    value, index = number.value, source.column.index if source.column else None
    for factor in (1.0, 100.0, 1e3, 1e6):
        if source.value is not None and number.fits(source.value * factor):
            value = source.value * factor
    return Term(-value if number.negative else value, number.text, number.kind, number.currency, index)


def _steps(place: LocatedNumber, first: Term, second: Term, *, named: bool = True) -> Iterator[Derivation]:
    """Yield the calculations with two values that may give the number at `place`, given its unit."""
    number, near = place.number, place.near
    a, b, one, two = first.value, second.value, first.text, second.text
    percents = [first.kind, second.kind].count("percent")
    money = [first.kind, second.kind].count("money")
    changed = named and (bool(near & _CHANGED) or number.negative is not None)
    if first.currency and second.currency and first.currency != second.currency:
        return
    if number.kind == "points":
        yield Derivation(a - b, f"{one} - {two}", True)
    elif number.kind == "percent" and percents in (0, 2):
        if b:
            yield Derivation(100 * (a - b) / b, f"({one} - {two}) / {two}", changed)
        if a and not percents:
            yield Derivation(100 * (b - a) / a, f"({two} - {one}) / {one}", changed)
        part, whole = sorted((first, second), key=lambda term: abs(term.value))
        if whole.value and not percents:
            asked = named and (not changed or bool(near & SHARE))
            yield Derivation(100 * part.value / whole.value, f"{part.text} / {whole.text}", asked)
    elif number.kind == "times" and not percents and a and b:
        yield Derivation(max(a / b, b / a), f"{one} / {two}" if a > b else f"{two} / {one}", named)
    elif number.kind in ("", "money") and percents == 1:
        yield Derivation(a * b / 100, f"{one} x {two}", named)
    elif number.kind in ("", "money") and not percents:
        if number.kind == "money" and not money and (first.index is not None or second.index is not None):
            return
        decimals = number.step < 1 and a % 1 == b % 1 == 0  # only a mean or ratio of whole numbers has decimals
        if money != 1 and not decimals:
            yield Derivation(a - b, f"{one} - {two}", changed)
        if money != 1 and not decimals and not first.averaged:
            yield Derivation(a + b, f"{one} + {two}", named and bool(near & _ADDED))
        if money != 1 and near & MEAN:
            yield Derivation((a + b) / 2, f"mean of {one} and {two}", named)
        asked = named and bool(near & RATIO)
        for top, bottom in ((first, second), (second, first)) if number.kind == "" or money == 1 else ():
            if bottom.value:
                yield Derivation(top.value / bottom.value * number.per, f"{top.text} / {bottom.text}", asked)
        if money < 2 and not decimals:
            yield Derivation(a * b, f"{one} x {two}", False)


def compute_from_rows(places: Sequence[LocatedNumber], tables: Sequence[IndexedTable]) -> dict[int, Source]:
    """Return calculations from the rows that the text names. The keys are the positions in `places` of the numbers that
    the calculations explain.

    One formula often explains several numbers, such as a column of a table or the items of a list. The more numbers it
    explains, the less likely they fit by chance.
    """
    matches: dict[tuple[int, ...], list[tuple[int, float, str]]] = defaultdict(list)
    candidates: dict[tuple[int, int] | None, int] = defaultdict(int)
    for index, place in enumerate(places):
        candidates[place.cell] += 1
        for table, chosen in [] if place.number.adjectival else _relevant(place, tables):
            for rank, each in enumerate(_calculations(place, table, chosen), 1):
                if place.number.fits(abs(each.value)):
                    tried = rank * CHANCE / CHANCE_IF_ASKED if each.asked else rank
                    matches[each.formula].append((index, tried, each.text))
    likely = []
    for formula, every in matches.items():
        for cell in {places[index].cell for index, *_ in every}:
            found = [one for one in every if places[one[0]].cell == cell]
            accident = math.prod((chance(places[index].number) for index, *_ in found), start=1.0)
            accident *= min(tried for _, tried, _ in found)
            accident *= math.comb(candidates[cell], len(found)) if len(found) > 1 else 1
            likely.append((accident, formula))
    sources: dict[int, Source] = {}
    for accident, formula in sorted(likely):
        for index, _, text in matches[formula] if accident <= CHANCE else ():
            if chance(places[index].number) <= CHANCE:
                sources.setdefault(index, Source("computed", text))
    return sources


def _relevant(place: LocatedNumber, tables: Sequence[IndexedTable]) -> list[tuple[IndexedTable, Selection]]:
    """Return the tables to which the words near a number most likely refer, each with the rows that the words name.

    Leave out tables in which the total of a column over these rows already equals the number. This total was not
    accepted as the source, so a calculation that gives the same number would fit only by chance.
    """
    found = []
    for table in tables:
        chosen = next(selections(place, table), None)
        if chosen is None or chosen.instead or not table.columns:
            continue
        fit = max(max(column_fits(table, words).values()) for words in (place.close, place.near))
        cells = (table.total(column, chosen.rows)[0] for column in table.columns if factors(place.number, column))
        if place.number.digits < 3 or not any(place.number.fits(abs(value)) for value in cells):
            found.append((chosen.named + min(fit, 2), table.order, table, chosen))
    found.sort(key=lambda one: one[:2], reverse=True)
    return [(table, chosen) for *_, table, chosen in found[:_TABLES_COMPARED]]


def _calculations(place: LocatedNumber, table: IndexedTable, chosen: Selection) -> list[Derivation]:
    """Return calculations with two columns of the named rows, or with one column of two groups of rows.

    The calculations whose columns the text names best come first.
    """
    close, near = (column_fits(table, words) for words in (place.close, place.near))
    fits = {index: 4 * close[index] + 2 * near[index] for index in close}
    found: list[Derivation] = []

    def add(first: Term | None, second: Term | None, *formula: int) -> None:
        if first and second and first.index is not None and second.index is not None:
            for step, each in enumerate(_steps(place, first, second)):
                each.asked &= max(close[first.index], close[second.index]) > 0
                each.fit = fits[first.index] + fits[second.index]
                each.formula = (table.order, *formula, step)
                found.append(each)

    name = "all rows" if not chosen.named else table.key(chosen.rows[0]) if len(chosen.rows) == 1 else "the rows named"
    columns = sorted(table.columns, key=lambda column: -fits[column.index])[:_COLUMNS_MAX]
    columns.sort(key=lambda column: column.index)
    for one, two in combinations(columns, 2):
        first, second = (_term(table, column, chosen.rows, name) for column in (one, two))
        add(first, second, one.index, two.index)
    groups = _groups(place, table)
    for (i, group), (j, other) in combinations(enumerate(groups), 2):
        whole = "all rows" in (group, other)
        for column in columns:
            if not whole or (place.number.kind == "percent" and not column.averaged):
                first, second = (_term(table, column, groups[name], name) for name in (group, other))
                add(first, second, column.index, -1 - i, -1 - j)
    return sorted(found, key=lambda each: -each.fit - 2 * each.asked)


def _groups(place: LocatedNumber, table: IndexedTable) -> dict[str, Sequence[int]]:
    """Return the groups of rows that the sentence names, and the group of all rows. The keys are names to display."""
    groups: dict[str, Sequence[int]] = {}
    named = [(dimension, keys) for dimension, said in place.said.items() for keys in said[:_GROUPS_MAX]]
    named += [(dimension, keys) for dimension, keys in place.carried.items() if dimension in place.said]
    for dimension, keys in named:
        rows = sorted({row for key in keys for row in table.keys.get(dimension, {}).get(key, ())})
        if rows:
            groups.setdefault(table.key(rows[0]) if len(rows) == 1 else ", ".join(sorted(keys)), rows)
    groups["all rows"] = table.body
    return groups


def _term(table: IndexedTable, column: NumberColumn, rows: Sequence[int], name: str) -> Term | None:
    """Return a column's total over some rows, or its mean if a total makes no sense, or None if the cells are empty."""
    total, count = table.total(column, rows)
    if not count:
        return None
    value = total / count if column.averaged else total
    factor = 100.0 if column.fraction and column.percent else column.scale
    kind = "percent" if column.averaged and (column.percent or column.fraction) else "money" if column.money else ""
    return Term(value * factor, f"{column.name} of {name}", kind, column.currency, column.index, column.averaged)
