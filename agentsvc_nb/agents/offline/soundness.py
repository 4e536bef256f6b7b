"""Check whether the rows of a calculation can be combined into one number: currencies, debits and credits, rates, and
numbers that stand for a missing answer.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import permutations
from typing import Any, Final

from agentsvc_nb.agents.offline.calculation import Calculation, Condition, Group, Measure
from agentsvc_nb.agents.offline.lexicon import MEANS, MONEY, OPPOSITES, QUANTITIES, RATES, SIDES, stem
from agentsvc_nb.agents.offline.profile import ProfiledColumn, ProfiledTable
from agentsvc_nb.agents.offline.sql import SqlWriter, quote_name
from agentsvc_nb.agents.offline.writing import code
from agentsvc_nb.documents.tables.layout import is_generated_name
from agentsvc_nb.documents.tables.values import currency_code, is_currency

SHOWN: Final = 5
READ: Final = 100
"""How many of the smallest and of the largest values of a column are checked."""
SHORT: Final = 3
"""Values with at most this many letters mark debits and credits only if the column has no other values."""
KINDS_MAX: Final = 20
"""The maximum number of distinct values of a column that marks rows as debits and credits."""
AMOUNTS_MAX: Final = 8
"""How many columns of amounts are checked for a quotient."""
ROUNDED: Final = Decimal("0.01")
"""Shares of one whole may differ from 100 % by this fraction, because they are rounded."""
SCALE_MAX: Final = 10
"""The largest number of a rating scale. On such a scale, 99 stands for a missing answer."""
FAR: Final = 10
"""A number that stands for a missing answer is larger than the others by more than this factor."""
_SENTINEL: Final = re.compile(r"-?9{2,}(?:\.0+)?")
_SCALE: Final = re.compile(r"\((?:scale |from )*([01])\s*(?:-|–|to)\s*(\d{1,3})\)", re.IGNORECASE)

Query = Callable[[str], Awaitable[Sequence[Sequence[Any]]]]


@dataclass(frozen=True, slots=True)
class Objection:
    """Says why a calculation may give a wrong number.

    Attributes:
        sentence: the reason.
        offers: similar calculations that have no such problem.
        shows_number: True if the answer may show the number after the sentence.
    """

    sentence: str
    offers: tuple[Calculation, ...] = ()
    shows_number: bool = False


async def find_objection(calculation: Calculation, table: ProfiledTable, query: Query) -> Objection | None:
    """Return the first objection to a calculation, or None. `query` returns the rows of an SQL statement."""
    checks = _Checks(calculation, table, query)
    for measure in calculation.measured:
        if measure.agg in ("count", "distinct"):
            continue
        for name in measure.columns:
            column = table.column(name)
            found = await checks.currencies(measure, column) or await checks.signs(measure, column)
            if found := found or await checks.rates(measure, column):
                return found
    for name in _used_as_numbers(calculation):
        if found := await checks.missing_answers(table.column(name)):
            return found
    return None


def _used_as_numbers(calculation: Calculation) -> Iterator[str]:
    """Yield each column that a measure uses, and each column that a condition compares with a number."""
    for measure in calculation.measured:
        if measure.agg not in ("count", "distinct"):
            yield from measure.columns
    for condition in (*calculation.conditions, *(calculation.share or ())):
        if condition.op[0] in "<>":
            yield condition.column


class _Checks:
    def __init__(self, calculation: Calculation, table: ProfiledTable, query: Query) -> None:
        self._calculation, self._table, self._query = calculation, table, query
        self._writer = SqlWriter(table)

    async def currencies(self, measure: Measure, column: ProfiledColumn) -> Objection | None:
        """Return an objection if the number is computed from amounts in several currencies, else None."""
        in_one_currency = column.profile.unit or any(
            is_currency(word.upper()) and word.upper() == currency_code(word.upper()) for word in column.words
        )
        if in_one_currency or not _is_money(column, self._table):
            return None
        for other in self._table.columns:
            if not _holds_currencies(other) or (self._groups_by(other) and not self._compares_groups()):
                continue
            found = {_currency(str(value)): str(value) for value, _ in await self._sums(column, other) if value}
            if len(found) > 1:
                return Objection(
                    f"The rows have several currencies in {code(other.name)} ({_listed(found.values())}), so values of"
                    f" {code(column.name)} cannot be combined or compared.",
                    self._apart(measure, other, min(found.values())),
                )
        return None

    async def signs(self, measure: Measure, column: ProfiledColumn) -> Objection | None:
        """Return an objection to adding up debits and credits if only another column tells them apart, else None."""
        flows = _is_money(column, self._table) or set(column.words) & QUANTITIES
        if measure.agg in ("min", "max") or not column.additive or not flows:
            return None
        for other in self._table.columns:
            pair = _opposites(other)
            if not pair or self._groups_by(other):
                continue
            sums = [(str(value), Decimal(str(total))) for value, total in await self._sums(column, other) if value]
            sides = [sum((total for value, total in sums if _plain(value) == side), Decimal(0)) for side in pair]
            if sides[0] * sides[1] > 0:
                values = [value for value, _ in sums if _plain(value) in pair]
                return Objection(
                    f"{code(other.name)} tells incoming from outgoing rows ({_listed(values)}), but the numbers of"
                    f" {code(column.name)} have the same sign for both, so they cannot be added up.",
                    self._apart(measure, other, values[0]),
                )
        return None

    async def rates(self, measure: Measure, column: ProfiledColumn) -> Objection | None:
        """Return an objection to a sum of rates, else None.

        There is no objection if the rates are shares of one whole, or if each sum has only one value.
        """
        if measure.agg != "sum" or not (_is_rate(column) or column.profile.unit == "%"):
            return None
        ((count, low, high),) = await self._query(self._writer.sums_by_group(self._calculation, column.name))
        ((whole,),) = await self._query(self._writer.over_rows(Calculation(), f"sum({quote_name(column.name)})"))
        if not count or int(count) < 2 or all(_is_whole(number, column) for number in (low, high)):
            return None
        quotient = await self._quotient(column)
        if _is_whole(whole, column) or not (quotient or _is_rate(column)):
            return None
        offers = [self._measuring(measure, replace(measure, agg="mean"))]
        if quotient:
            offers.insert(0, self._measuring(measure, quotient))
        return Objection(
            f"{code(column.name)} contains rates, which cannot be added up. An average of rates counts each row"
            " equally, whatever its size.",
            tuple(offers),
        )

    async def _quotient(self, column: ProfiledColumn) -> Measure | None:
        """Return the measure "sum of one column / sum of another" if their ratio gives the column's value in every row.

        Return None if no two columns have this property.
        """
        amounts = [one.name for one in self._table.columns if one.additive and one != column][:AMOUNTS_MAX]
        pairs = list(permutations(amounts, 2))
        if not pairs:
            return None
        factor = 100 if column.profile.unit == "%" else 1
        rate, names = quote_name(column.name), [tuple(map(quote_name, pair)) for pair in pairs]
        decimals = column.profile.decimals
        step = f"1e-9 * abs({rate})" if decimals is None else f"{Decimal('0.51').scaleb(-decimals):f}"
        tests = [f"bool_and(abs({factor}.0 * {one} / nullif({over}, 0) - {rate}) <= {step})" for one, over in names]
        (row,) = await self._query(self._writer.over_rows(Calculation(), ", ".join(tests)))
        return next((Measure("ratio", *pair) for pair, fits in zip(pairs, row, strict=True) if fits), None)

    async def missing_answers(self, column: ProfiledColumn) -> Objection | None:
        """Return an objection to numbers that probably mean a missing answer, such as 99 on a scale to 5, else None."""
        if column.kind != "number":
            return None
        profile, scale = column.profile, _SCALE.search(column.name)
        outside = scale and not (
            Decimal(scale[1]) <= Decimal(profile.smallest or scale[1])
            and Decimal(profile.largest or scale[2]) <= Decimal(scale[2])
        )
        if not outside and not _SENTINEL.fullmatch(profile.smallest) and not _SENTINEL.fullmatch(profile.largest):
            return None
        sql = self._writer.over_rows(
            self._calculation, f"{quote_name(column.name)}, count(*)", "\nGROUP BY 1\nORDER BY 1"
        )
        rows = await self._query(f"({sql} ASC LIMIT {READ})\nUNION\n({sql} DESC LIMIT {READ})")
        counts = {Decimal(str(value)): int(count) for value, count in rows if value is not None}
        odd = _outside(counts, Decimal(scale[1]), Decimal(scale[2])) if scale and outside else _sentinels(counts)
        if odd and max(odd) < 0:  # -99 next to 99 is an amount that was taken back
            opposites = ", ".join(f"{-value:f}" for value in sorted(odd))
            same = f"count(*) FILTER (WHERE {quote_name(column.name)} IN ({opposites}))"
            ((taken_back,),) = await self._query(self._writer.over_rows(self._calculation, same))
            odd = set() if taken_back else odd
        if not odd:
            return None
        cells = sum(counts[value] for value in odd)
        fits = "outside the scale in the column's name" if scale and outside else "unlike all others"
        low, high = min(Decimal(0), *(value for value in counts if value not in odd)), Decimal(SCALE_MAX)
        if scale and outside:
            low, high = Decimal(scale[1]), Decimal(scale[2])
        known = {Condition(column.name, ">=", (low,))} if min(odd) < low else set()
        known |= {Condition(column.name, "<=", (high,))} if max(odd) > high else set()
        return Objection(
            f"{'1 cell' if cells == 1 else f'{cells:,} cells'} of {code(column.name)}"
            f" {'has' if cells == 1 else 'have'} a value {fits}: {_listed(f'{value:f}' for value in sorted(odd))}. Such"
            " a value often means that there is no answer. It counts as a number below, so the result may be wrong.",
            (replace(self._calculation, conditions=self._calculation.conditions | known),),
            shows_number=True,
        )

    async def _sums(self, column: ProfiledColumn, other: ProfiledColumn) -> Sequence[Sequence[Any]]:
        """Return each value of the column `other`, with the sum of `column` over the rows that have this value."""
        amount = quote_name(column.name)
        present = replace(
            self._calculation, conditions=self._calculation.conditions | {Condition(column.name, "not empty")}
        )
        return await self._query(
            self._writer.over_rows(present, f"{quote_name(other.name)}, sum({amount})", "\nGROUP BY 1\nORDER BY 1")
        )

    def _groups_by(self, other: ProfiledColumn) -> bool:
        return any(group.column == other.name for group in self._calculation.groups)

    def _compares_groups(self) -> bool:
        return self._calculation.rank is not None or self._calculation.share is not None

    def _apart(self, measure: Measure, other: ProfiledColumn, value: str) -> tuple[Calculation, ...]:
        """Return two calculations: one grouped by the column `other`, and one of the rows with `value` in `other`."""
        condition = Condition(other.name, "=", (value,))
        return (
            replace(self._measuring(measure, measure), groups=(Group(other.name),)),
            replace(self._calculation, conditions=self._calculation.conditions | {condition}),
        )

    def _measuring(self, measure: Measure, instead: Measure) -> Calculation:
        """Return a calculation of only `instead`, with the conditions and groups of the checked calculation."""
        instead = replace(instead, bare=False)
        return Calculation((instead,), self._calculation.conditions, self._calculation.groups)


def _is_money(column: ProfiledColumn, table: ProfiledTable) -> bool:
    """Return True if the column probably contains amounts of money. Its header and unit decide.

    If no header in the table is a word such as `amount` or `price`, a column with two decimals contains money.
    """
    unit, words = column.profile.unit, set(column.words)
    if not column.is_amount or (unit and not is_currency(unit)) or words & (QUANTITIES | (RATES - MONEY - MEANS)):
        return False
    named = any(set(one.words) & MONEY for one in table.columns if one.is_amount)
    return bool(words & MONEY) or (column.additive and column.profile.decimals == 2 and not named)


def _holds_currencies(column: ProfiledColumn) -> bool:
    return (
        column.kind == "text"
        and column.profile.all_values
        and len(column.values) > 1
        and all(is_currency(_currency(value)) and not re.search(r"\d", value) for value in column.values)
    )


def _currency(value: str) -> str:
    text = value.strip()
    return currency_code(text.upper() if text.islower() and is_currency(text.upper()) else text)


def _opposites(column: ProfiledColumn) -> tuple[str, str] | None:
    """Return the values that mark incoming and outgoing rows, such as debit and credit, or None."""
    # A debit card is no debit, so `Payment method` marks nothing.
    if column.kind != "text" or column.profile.distinct > KINDS_MAX or set(column.words) & {"card", "payment", "pay"}:
        return None
    values = {_plain(value) for value in column.values}
    words = set(column.words)
    for one, other in OPPOSITES:
        pair = _plain(one), _plain(other)
        longest = max(len(one), len(other))
        # Groups and sizes are single letters, too. So single letters need a header such as `Type` or `S/H`, or none.
        is_header = not words or words & (SIDES | set(pair)) or is_generated_name(column.name)
        if set(pair) <= values and (longest > SHORT or len(values) == 2) and (longest > 1 or is_header):
            return pair
    return None


def _plain(value: str) -> str:
    return stem(value.strip().strip(".:").casefold())


def _is_rate(column: ProfiledColumn) -> bool:
    words = set(column.words)
    return column.is_amount and (bool(words & RATES) or "per" in column.words[1:-1])


def _is_whole(number: Any, column: ProfiledColumn) -> bool:
    """Return True if a sum is 100 %, so that the column contains shares of one whole."""
    wholes = [100] if column.profile.unit == "%" else [100, 1]
    return number is not None and any(abs(Decimal(str(number)) - whole) <= ROUNDED * whole for whole in wholes)


def _outside(counts: dict[Decimal, int], low: Decimal, high: Decimal) -> set[Decimal]:
    """Return the values outside the scale that the header names.

    If most values are outside, the numbers in the header do not mean a scale. Then return none.
    """
    odd = {value for value in counts if not low <= value <= high}
    return odd if 2 * sum(counts[value] for value in odd) < sum(counts.values()) else set()


def _sentinels(counts: dict[Decimal, int]) -> set[Decimal]:
    """Return the values such as -99 or 999 that probably stand for a missing answer.

    -99 does if no other value is negative, or if the absolute values of all others are much smaller. 99 does if all
    other values are a rating scale, such as 1 to 5.
    """
    nines = {value for value in counts if _SENTINEL.fullmatch(f"{value:f}")}
    usual = set(counts) - nines
    if not usual:
        return set()
    room = Decimal(0) if min(usual) >= 0 else FAR * max(map(abs, usual))
    if negative := {value for value in nines if value < -room}:
        return negative
    is_scale = 0 <= min(usual) < max(usual) <= SCALE_MAX and all(value == int(value) for value in usual)
    return nines if is_scale and len(nines) == 1 else set()


def _listed(values: Any) -> str:
    texts = [code(str(value)) for value in values]
    return ", ".join(texts[:SHOWN]) + (", ..." if len(texts) > SHOWN else "")
