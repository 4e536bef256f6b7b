"""The numbers that a question asks about: a column, a quotient or product of two, or a margin or profit."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext

from agentsvc_nb.agents.offline.tables import operations as ops
from agentsvc_nb.agents.offline.tables.columns import Filter, best, likest, parts, rivals
from agentsvc_nb.agents.offline.words import stem
from agentsvc_nb.agents.offline.writing import code
from agentsvc_nb.formats.queries import tokens
from agentsvc_nb.formats.safe_text import escape
from agentsvc_nb.formats.tables.plain import PRECISION, Numbers, Table

_COLUMNS_SHOWN = 20


@dataclass(frozen=True)
class Unclear:
    """Why there is no result from a table. `sentence` is the reason, in Markdown; `fit` and `explained` are as in
    `Plan`, with a `fit` of 0 when passages may answer better."""

    table: Table
    sentence: str
    fit: float = 0.0
    explained: int = 0
    withheld: bool = False
    """Whether something could be computed that answers only a part of the question."""
    absent: bool = False
    """Whether the question is about something that the table does not hold."""


def several(table: Table, columns: Sequence[int], fit: float) -> Unclear:
    names = ", ".join(escape(table.columns[index]) for index in columns)
    return Unclear(
        table, f"The question names more than one column of {code(table.path)}: {names}. Ask for one at a time.", fit
    )


def no_column(table: Table, words: str, fit: float = 0.0) -> Unclear:
    names = ", ".join(map(escape, table.columns[:_COLUMNS_SHOWN]))
    names += ", …" if len(table.columns) > _COLUMNS_SHOWN else ""
    return Unclear(table, f"There is no column {escape(words)} in {code(table.path)}; its columns are {names}.", fit)


def no_value(table: Table, name: str, fit: float) -> Unclear:
    return Unclear(
        table, f"There is no {escape(name)} in {code(table.path)}, so there is no result for it.", fit, absent=True
    )


@dataclass(frozen=True)
class Measure:
    """The numbers to compute with, one per row. `formula` is how they are computed from columns (empty for a column);
    `fit`, from 0 to 1, is how surely the question means them."""

    name: str
    numbers: Numbers
    column: int | None = None
    formula: str = ""
    fit: float = 0.0
    columns: tuple[int, ...] = ()
    """The columns that it is computed from."""
    zeros: frozenset[int] = frozenset()
    """Rows (indices from 0) where `divisor` is 0, which have no value for that reason."""
    divisor: str = ""
    rate: bool = False
    """A rate is averaged, never added up."""
    quotient: tuple[Numbers, Numbers] | None = None
    """Dividend and divisor of a rate: over many rows it is the sum of the one divided by the sum of the other."""


def measure(
    table: Table, folded: str, among: list[int], limited: Collection[int], *, alone: bool
) -> Measure | Unclear | None:
    """The column of numbers that the (folded) question names, else one that it implies: `cheapest` means a price.

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
    """The only column of numbers in a table that was named: `the average in prices.csv`."""
    return of_column(table, columns[0], 0.5) if len(columns) == 1 and alone else None


def derived(table: Table, folded: str) -> Measure | None:
    """The margin or profit that the question asks for, computed from a price and a cost; else None."""
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


_SLASH = re.compile(
    r"(?<=[\w\s])\s*[/÷]\s*(?=\w)|\bdivided by\b|\bgeteilt durch\b|\bdivisée? par\b|\bdividido por\b", re.I
)
_RATIO = re.compile(
    r"\b(?:ratio|verhaltnis|rapport|relacion) (?:of|von|de|entre) (\w+(?: \w+){0,3}?) "
    r"(?:to|zu|a|and|und|et|y) (\w+(?: \w+){0,2})"
)
_PER = re.compile(r"((?:\w+ ){1,4})(?:per|pro|par|por) (\w+(?: \w+){0,2})")
_STAR = re.compile(r"\s*[*×]\s*(?=[a-z])", re.I)
_TIMES = re.compile(
    r"((?:\w+ ){1,3})(?:times|multiplied by|mal|multipliziert mit|fois|multiplicado por) (\w+(?: \w+){0,2})"
)


def ratio(table: Table, text: str) -> Measure | Unclear | None:
    """The quotient that the question asks for, or why there is none; None when it asks for no quotient."""
    folded = " ".join(tokens(_SLASH.sub(" per ", text)))
    found = _RATIO.search(folded) or _PER.search(folded)
    if found is None or _one_column(table, folded):
        return None
    below = _nearest(table, found[2].split(), range(len(table.columns)))
    if not below or not any(index in table.numbers for index in below):
        return None
    before = found[1].split()[::-1]
    above = _nearest(table, before, [index for index in table.numbers if index not in below])
    if len(above) > 1 or len(below) > 1:
        return several(table, [*above, *below], 1.0)
    upper = of_column(table, above[0]) if above else derived(table, found[1])
    return _quotient(table, upper, below[0]) if upper else no_column(table, before[0], 1.0)


def _one_column(table: Table, folded: str) -> bool:
    """Whether the question says the whole name of a column such as `cost per click`, which is then no quotient."""
    stems = {stem(word) for word in folded.split()}
    names = [
        name for name in table.columns if len(parts(name)) > 1 and {"per", "pro"} & set(tokens(name.replace("_", " ")))
    ]
    return any({stem(part) for part in parts(name)} <= stems for name in names)


def _nearest(table: Table, words: Sequence[str], among: Sequence[int] | range) -> list[int]:
    """The columns that the fewest of the words name, counted from the first."""
    for count in range(1, len(words) + 1):
        if found := likest(table, {stem(word) for word in words[:count]}, among):
            return likest(table, {stem(word) for word in words}, found) or found
    return []


def _quotient(table: Table, upper: Measure, lower: int) -> Measure:
    over, under = upper.numbers.values, table.numbers[lower].values
    with localcontext(prec=PRECISION):
        values = [a / b if a is not None and b else None for a, b in zip(over, under, strict=True)]
    zeros = frozenset(row for row, (a, b) in enumerate(zip(over, under, strict=True)) if a is not None and b == 0)
    name = table.columns[lower]
    used = (*upper.columns, lower)
    top = f"({upper.formula})" if upper.formula else upper.name
    return Measure(
        f"{upper.name} per {name}", Numbers(values, "", 0), None, f"{top} / {name}", 1.0, used, zeros, name,
        rate=True, quotient=(upper.numbers, table.numbers[lower]),
    )  # fmt: skip


def product(table: Table, text: str) -> Measure | None:
    """One column times another, row by row: `price times stock`."""
    found = _TIMES.search(" ".join(tokens(_STAR.sub(" times ", text))))
    if found is None:
        return None
    left = _nearest(table, found[1].split()[::-1], list(table.numbers))
    right = _nearest(table, found[2].split(), [index for index in table.numbers if index not in left])
    if len(left) != 1 or len(right) != 1:
        return None
    one, other = table.numbers[left[0]], table.numbers[right[0]]
    with localcontext(prec=PRECISION):
        values = [
            a * b if a is not None and b is not None else None for a, b in zip(one.values, other.values, strict=True)
        ]
    names = [table.columns[index] for index in (*left, *right)]
    numbers = Numbers(values, one.unit or other.unit, one.decimals + other.decimals)
    return Measure(" × ".join(names), numbers, None, " * ".join(names), 1.0, (*left, *right))


@dataclass(frozen=True)
class Plan:
    """One calculation on one table: `operation` over `rows` (indices from 0) of `measure`, or of the rows themselves.

    With `group` it is done for each value of that column; `extreme` (`min`, `max`) then asks for the lowest or highest
    group. `distinct` is the column whose different values are counted. `first` is how many rows or groups are wanted, 0
    for all. `fit` is how well the table suits the question. `dropped` are the rows that meet the conditions but hold no
    number; `entity` is the column that names the result, and `subject` the column that names what is counted.
    """

    table: Table
    operation: str
    rows: Sequence[int]
    measure: Measure | None = None
    filters: Sequence[Filter] = ()
    group: int | None = None
    distinct: int | None = None
    extreme: str = ""
    first: int = 0
    fit: float = 0.0
    dropped: Sequence[int] = ()
    entity: int | None = None
    subject: int | None = None
    turned: bool = False
    """Whether the measure is a rank, of which the highest is the lowest number."""
    guessed: Sequence[tuple[str, str]] = ()
    """Words that were read as a column's name with typing errors, each with that name."""
    explained: int = 0
    """How many words of the question it explains."""
    names: bool = True
    """Whether an extreme is asked for by its name (`which product`), not by its number (`the highest price`)."""
