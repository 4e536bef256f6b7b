"""The numbers that a question asks about: a column, or what follows from two (margin, profit)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal, localcontext

from agentsvc_nb.service.rules.numbers import PRECISION, Numbers
from agentsvc_nb.service.rules.tables import Table
from agentsvc_nb.service.work.agents.offline import operations as ops
from agentsvc_nb.service.work.agents.offline.columns import best, likest, parts, rivals
from agentsvc_nb.service.work.agents.offline.unclear import Unclear, several
from agentsvc_nb.service.work.agents.offline.words import stem


@dataclass(frozen=True)
class Measure:
    """The numbers to compute with. `formula` says how they follow from columns; `fit` how sure we are, from 0 to 1."""

    name: str
    numbers: Numbers
    column: int | None = None
    formula: str = ""
    fit: float = 0.0
    columns: tuple[int, ...] = ()
    """The columns that it follows from."""
    zeros: frozenset[int] = frozenset()
    """Rows (indices from 0) where `divisor` is 0, which have no value for that reason."""
    divisor: str = ""
    rate: bool = False
    """A rate is averaged, never added up."""
    quotient: tuple[Numbers, Numbers] | None = None
    """What a rate is made of: over many rows it is the one's sum by the other's."""


def measure(
    table: Table, folded: str, among: list[int], limited: Collection[int], *, alone: bool
) -> Measure | Unclear | None:
    """The column of numbers that the (folded) question names, else what it implies: `cheapest` means a price.

    A column in a condition (`spend over 9`) is meant only when no other is; with `alone` a table's one column of
    numbers needs no name.
    """
    words = folded.split()
    asked = {stem(word) for word in words if not ops.is_operation(word)}
    others = [index for index in among if index not in limited]
    whole = {stem(word) for word in words}
    tries = [(asked, others), (whole, others), (asked, among), (whole, among)]
    for names, columns in tries:
        if found := best(table, names, columns):
            tied = (
                likest(table, whole, likest(table, names, columns)) if names is asked else likest(table, names, columns)
            )
            unsure = list(dict.fromkeys([*tied, *rivals(table, asked, tied[0], others)]))
            return several(table, sorted(unsure), found[1]) if len(unsure) > 1 else of_column(table, tied[0], found[1])
    return derived(table, folded) or _implied(table, folded, among) or _only(table, among, alone=alone)


def of_column(table: Table, index: int, fit: float = 1.0) -> Measure:
    return Measure(table.columns[index], table.numbers[index], index, fit=fit, columns=(index,))


def _implied(table: Table, folded: str, columns: list[int]) -> Measure | Unclear | None:
    found = _likely(table, folded, columns)
    if len(found) > 1:
        return several(table, found, 0.8)
    return of_column(table, found[0], 0.8) if found else None


def implied(table: Table, folded: str) -> Measure | None:
    """The column of numbers that the words imply without naming it: `pieces` are a quantity."""
    found = _likely(table, folded, list(table.numbers))
    return of_column(table, found[0], 0.8) if len(found) == 1 else None


def _likely(table: Table, folded: str, columns: list[int]) -> list[int]:
    names = (name for words, names in ops.IMPLIED if words.search(folded) for name in names)
    asked = {stem(word) for word in folded.split()}
    found = next((found for name in names if (found := likest(table, {stem(name)}, columns))), [])
    return likest(table, asked, found) or found


def _only(table: Table, columns: list[int], *, alone: bool) -> Measure | None:
    """`The average in prices.csv`: the table is named and has one column of numbers."""
    return of_column(table, columns[0], 0.5) if len(columns) == 1 and alone else None


def derived(table: Table, folded: str) -> Measure | None:
    words = set(folded.split())
    pair = _pair(table) if words & (ops.MARGIN | ops.PROFIT) else None
    if pair is None:
        return None
    return _margin(table, *pair) if words & ops.MARGIN else _profit(table, *pair)


def _pair(table: Table) -> tuple[int, int] | None:
    """The columns of a price and of its cost."""
    price, cost = _first(table, ops.PRICE_WORDS), _first(table, ops.COST_WORDS)
    return None if price is None or cost is None or price == cost else (price, cost)


def _first(table: Table, words: tuple[str, ...]) -> int | None:
    return next((index for word in words for index in table.numbers if word in parts(table.columns[index])), None)


def _profit(table: Table, price: int, cost: int) -> Measure:
    prices, costs = table.numbers[price], table.numbers[cost]
    values = [None if a is None or b is None else a - b for a, b in zip(prices.values, costs.values, strict=True)]
    gained = Numbers(values, prices.unit, max(prices.decimals, costs.decimals))
    return Measure("profit", gained, None, f"{table.columns[price]} - {table.columns[cost]}", 0.9, (price, cost))


def _margin(table: Table, price_column: int, cost: int) -> Measure:
    profit, prices = _profit(table, price_column, cost), table.numbers[price_column].values
    pairs = list(zip(profit.numbers.values, prices, strict=True))
    with localcontext(prec=PRECISION):
        values = [Decimal(100) * gain / price if gain is not None and price else None for gain, price in pairs]
    zeros = frozenset(row for row, (gain, price) in enumerate(pairs) if gain is not None and price == 0)
    name, formula = table.columns[price_column], f"({profit.formula}) / {table.columns[price_column]}"
    return Measure("margin", Numbers(values, "%"), None, formula, 0.9, profit.columns, zeros, name, rate=True)
