"""The numbers that a question asks about: a column, or what follows from two (margin, profit)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext

from agentsvc_nb.service.work.agents.offline import operations as ops
from agentsvc_nb.service.work.agents.offline.columns import best, parts
from agentsvc_nb.service.work.agents.offline.numbers import PRECISION, Numbers
from agentsvc_nb.service.work.agents.offline.tables import Table
from agentsvc_nb.service.work.agents.offline.words import stem, stems


@dataclass(frozen=True)
class Measure:
    """The numbers to compute with. `formula` says how they follow from columns; `fit` how sure we are, from 0 to 1."""

    name: str
    numbers: Numbers
    column: int | None = None
    formula: str = ""
    fit: float = 0.0


def measure(table: Table, folded: str, group: int | None) -> Measure | None:
    """The column of numbers that the (folded) question names, else what it implies: `cheapest` means a price."""
    asked = {stem(word) for word in folded.split()}
    columns = [index for index in table.numbers if index != group]
    if found := best(table, asked, columns):
        return of_column(table, *found)
    return _derived(table, folded) or _implied(table, folded, columns) or _only(table, asked, columns)


def of_column(table: Table, index: int, fit: float = 1.0) -> Measure:
    return Measure(table.columns[index], table.numbers[index], index, fit=fit)


def _implied(table: Table, folded: str, columns: list[int]) -> Measure | None:
    names = (name for words, names in ops.IMPLIED if words.search(folded) for name in names)
    found = next((found for name in names if (found := best(table, {stem(name)}, columns))), None)
    return of_column(table, found[0], 0.8) if found else None


def _only(table: Table, asked: set[str], columns: list[int]) -> Measure | None:
    """`The average in prices.csv`: the table is named and has one column of numbers."""
    return of_column(table, columns[0], 0.5) if len(columns) == 1 and set(stems(table.path)) & asked else None


def _derived(table: Table, folded: str) -> Measure | None:
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
    return Measure("profit", gained, None, f"{table.columns[price]} - {table.columns[cost]}", 0.9)


def _margin(table: Table, price: int, cost: int) -> Measure:
    profit, prices = _profit(table, price, cost), table.numbers[price].values
    pairs = zip(profit.numbers.values, prices, strict=True)
    with localcontext(prec=PRECISION):
        values = [Decimal(100) * gain / price if gain is not None and price else None for gain, price in pairs]
    return Measure("margin", Numbers(values, "%"), None, f"({profit.formula}) / {table.columns[price]}", 0.9)
