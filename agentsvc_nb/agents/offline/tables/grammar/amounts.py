"""Dates and numbers of a question: their parts together, as bounds, as ranges, and as two periods to compare; and the
conditions that days, months, quarters and years make on a column."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Final, TypeGuard

from agentsvc_nb.agents.offline.tables.columns import day_of
from agentsvc_nb.agents.offline.tables.grammar.rules import Item, Made, Rule, has, rule, values
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.documents.plans.plan import (
    AllOf,
    Between,
    Column,
    Condition,
    Criterion,
    DatePart,
    DatePartName,
    Operator,
)
from agentsvc_nb.documents.plans.profiles import ColumnProfile


@dataclass(frozen=True, slots=True)
class When:
    """A period: what is not said is None."""

    year: int | None = None
    quarter: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None
    half: int | None = None

    def ends(self) -> tuple[date, date] | None:
        """Its first and last day; None without a year, and for a day that there is not."""
        if self.year is None or self.weekday is not None:
            return None
        first, last = 1, 12
        if self.half:
            first, last = 6 * self.half - 5, 6 * self.half
        if self.quarter:
            first, last = 3 * self.quarter - 2, 3 * self.quarter
        if self.month:
            first = last = self.month
        try:
            if self.day:
                return date(self.year, first, self.day), date(self.year, first, self.day)
            return date(self.year, first, 1), date(self.year, last, monthrange(self.year, last)[1])
        except ValueError:
            return None

    def within(self, column: ColumnProfile) -> When | None:
        """The same with its year, if there is one such period alone among the column's dates."""
        if self.year is not None or self.weekday is not None:
            return self
        low, high = day_of(column.smallest), day_of(column.largest)
        if low is None or high is None:
            return None
        years = range(low.year, high.year + 1)
        # `May` is clear without a year where the dates have only one May, or are of one year.
        tried = [replace(self, year=year) for year in years]
        met = [one for one in tried if (ends := one.ends()) and ends[0] <= high and ends[1] >= low]
        if len(years) == 1 and tried[0].ends():
            return tried[0]
        return met[0] if len(met) == 1 else None


def compared(column: Column, operator: Operator, when: When, links: TableLinks) -> Condition | None:
    """The condition that a column's dates or years are in, before or after a period; None if they have none such."""
    profile = links.profile(column)
    if profile.kind == "number":
        if when != When(year=when.year) or profile not in links.years():
            return None
        return Criterion(column, operator, Decimal(when.year or 0))
    if profile.kind not in ("date", "datetime"):
        return None
    if when.weekday is not None:
        return Criterion(DatePart(column, "weekday"), operator, Decimal(when.weekday)) if operator == "=" else None
    known = when.within(profile)
    ends = known.ends() if known else None
    if ends is None:
        return _of_all_years(column, when) if operator == "=" and when.year is None else None
    low, high = ends
    match operator:
        case "=":
            return Criterion(column, "=", low) if low == high else Between(column, low, high)
        case "<" | ">=":
            return Criterion(column, operator, low)
        case ">" | "<=":
            return Criterion(column, operator, high)
        case _:
            return None


def _of_all_years(column: Column, when: When) -> Condition | None:
    """`in March`, where the dates are of several years."""
    parts: list[tuple[DatePartName, int | None]] = [("quarter", when.quarter), ("month", when.month), ("day", when.day)]
    if when.half is not None or not any(number for _, number in parts):
        return None
    met = tuple(Criterion(DatePart(column, part), "=", Decimal(number)) for part, number in parts if number)
    return met[0] if len(met) == 1 else AllOf(met)


def between(column: Column, low: When, high: When, links: TableLinks) -> Condition | None:
    """The condition that dates or years are from the beginning of a period to the end of another."""
    profile = links.profile(column)
    if profile.kind == "number":
        if low != When(year=low.year) or high != When(year=high.year) or profile not in links.years():
            return None
        return Between(column, Decimal(low.year or 0), Decimal(high.year or 0))
    if low.year is None and high.year is not None:
        low = replace(low, year=high.year)
    if profile.kind not in ("date", "datetime"):
        return None
    first, last = low.within(profile), high.within(profile)
    ends = (first.ends() if first else None), (last.ends() if last else None)
    if ends[0] is None or ends[1] is None or ends[0][0] > ends[1][1]:
        return None
    return Between(column, ends[0][0], ends[1][1])


_INVERSE: Final[dict[str, str]] = {">": "<=", "<": ">=", ">=": "<", "<=": ">"}
_YEARS: Final = range(1500, 2201)


def is_year(number: object) -> TypeGuard[Decimal]:
    """Whether the number may be a year."""
    return isinstance(number, Decimal) and number == int(number) and int(number) in _YEARS


def _date(items: Sequence[Item], _: TableLinks) -> Made:
    """`30 June 2024`, `June 30 2024`, `June 2024`, `June 30`, `30 June`."""
    when = next(item.value for item in items if item.tag == "when")
    if when.month is None or when.day is not None or when.year is not None or when.weekday is not None:
        return None
    made = when
    for number in values(items, "number", "ordinal"):
        if number != int(number):
            return None
        if is_year(number) and made.year is None:
            made = replace(made, year=int(number))
        elif 1 <= number <= 31 and made.day is None:
            made = replace(made, day=int(number))
        else:
            return None
    return Item("when", made)


def _part_of_year(items: Sequence[Item], _: TableLinks) -> Made:
    when = next(item.value for item in items if item.tag == "when")
    number = values(items, "number")[0]
    if (when.quarter is None and when.half is None) or when.year is not None or not is_year(number):
        return None
    return Item("when", replace(when, year=int(number)))


def _of_the_year(items: Sequence[Item], _: TableLinks) -> Made:
    """`the second half of the year`."""
    when = items[0].value
    is_part = when.year is None and when.weekday is None and (when.quarter or when.half or when.month)
    return items[0] if is_part and items[1].value == "year" else None


def _half(items: Sequence[Item], _: TableLinks) -> Made:
    return Item("when", When(half=int(items[0].value)))


def _year_said(items: Sequence[Item], links: TableLinks) -> Made:
    """`year 2024` where no column is called so."""
    year = items[-1].value
    return Item("when", When(year=int(year))) if items[0].value == "year" and is_year(year) else None


def _scaled(items: Sequence[Item], _: TableLinks) -> Made:
    return Item("number", items[0].value * Decimal(items[1].value))


def _with_unit(items: Sequence[Item], _: TableLinks) -> Made:
    number, unit = values(items, "number")[0], values(items, "unit")[0]
    return Item("measured", (number, unit))


def _bound(items: Sequence[Item], _: TableLinks) -> Made:
    operator = values(items, "cmp", "post", "time")[0]
    value = values(items, "number", "when", "measured")[0]
    if has(items, "time") and not has(items, "when") and not is_year(value):
        return None
    if has(items, "time") and is_year(value):
        value = When(year=int(value))
    return Item("bound", (operator, value))


def _range(items: Sequence[Item], _: TableLinks) -> Made:
    low, high = values(items, "number", "when", "measured", "ordinal")
    unit = ""
    if isinstance(low, tuple):
        low, unit = low
    if isinstance(high, tuple):
        high, unit = high
    if isinstance(low, When) and is_year(high):
        high = When(year=int(high))
    if is_year(low) and isinstance(high, When):
        low = When(year=int(low))
    if isinstance(low, Decimal) and isinstance(high, When) and high.day is not None and 1 <= low == int(low) <= 31:
        low = replace(high, day=int(low))  # `from the 1st to the 15th of March`
    if type(low) is not type(high):
        return None
    return Item("bound", ("between", (low, high) if not unit else (low, high, unit)))


def _opposite(items: Sequence[Item], _: TableLinks) -> Made:
    operator, value = items[1].value
    return Item("bound", (_INVERSE[operator], value)) if operator in _INVERSE else None


def _whens(items: Sequence[Item], _: TableLinks) -> Made:
    return Item("whens", tuple(values(items, "when")))


def _numbers(items: Sequence[Item], _: TableLinks) -> Made:
    found = values(items, "number")
    return Item("numbers", tuple(found))


def _not_over(items: Sequence[Item], links: TableLinks) -> Made:
    """`ne dépassent pas 5`."""
    bound = _bound([items[0], items[2]], links)
    return _opposite([items[1], bound], links) if isinstance(bound, Item) else None


def _included(items: Sequence[Item], _: TableLinks) -> Made:
    """`jusqu'au 31 mars inclus`, where nothing else was meant."""
    return items[0] if items[0].value[0] in ("<=", ">=", "between") else None


def _of_implied(items: Sequence[Item], links: TableLinks) -> Made:
    """`older than 50`, `over 50 years old`: of the one column of ages."""
    if items[0].tag == "cmp_of":
        noun, _, operator = items[0].value.partition(" ")
        bound = Item("bound", (operator, items[1].value))
    else:
        noun, bound = "age", next(item for item in items if item.tag == "bound")
    found = [one for one in links.named(noun) if one.kind == "number"]
    if len(found) != 1 or any(named.name != found[0].name for named in values(items, "column")):
        return None
    return [Item("column", links.column(found[0].name)), bound]


def _month_said(items: Sequence[Item], _: TableLinks) -> Made:
    """`mes de marzo`."""
    when = items[1].value
    return items[1] if items[0].value == "month" and when.month and not when.day else None


def _days_of(items: Sequence[Item], links: TableLinks) -> Made:
    """`wie viele Tage Resturlaub`: days are what the column is counted in."""
    profile = links.profile(items[2].value)
    header = links.opened_headers[items[2].value.name]
    of_days = profile in links.named(*_IN_DAYS) or any(word.endswith(_IN_DAYS) for word in header)
    counted = profile.kind == "number" and links.adds_up(profile) and of_days
    return [items[0], items[2]] if counted and items[1].value == "day" else None


_IN_DAYS: Final = ("vacation", "holidays", "leave", "urlaub", "tage", "absence", "conges", "vacaciones")


def _bound_behind(items: Sequence[Item], links: TableLinks) -> Made:
    """`3 unités au plus`."""
    bound = _bound([items[0], items[2]], links)
    return [items[1], bound] if isinstance(bound, Item) else None


def _all_but(items: Sequence[Item], _: TableLinks) -> Made:
    """`todos los productos menos A`."""
    return [items[1], Item("not"), items[3]]


def first_ones(items: Sequence[Item], links: TableLinks) -> Made:
    """`the first five rounds`, where rounds are numbered from 1."""
    which, many, column = items[0].value, items[1].value, items[2].value
    profile = links.profile(column)
    numbered = profile.kind == "number" and profile.smallest == "1" and profile.largest.isdecimal()
    if not numbered or which not in ("first", "last") or links.is_key(profile):
        return None
    if profile.distinct != int(profile.largest) or not 1 <= many < profile.distinct:
        return None
    first = which == "first"
    return Item("cond", Criterion(column, "<=" if first else ">", many if first else int(profile.largest) - many))


def numbered(items: Sequence[Item], links: TableLinks) -> Made:
    """`the fifth floor`, where floors have numbers."""
    ordinal, column = items
    profile = links.profile(column.value)
    few = (
        profile.kind == "number"
        and profile.distinct * 2 <= links.table.rows
        and not links.headers[column.value.name][1:]
    )
    levels = not profile.unit and profile.smallest.isdecimal() and Decimal(profile.largest or 0) >= ordinal.value
    return Item("cond", Criterion(column.value, "=", ordinal.value)) if few and levels and not column.plural else None


AMOUNTS: Final[tuple[Rule, ...]] = (
    rule("half", _half),
    rule("number|ordinal when number", _date),
    rule("when number|ordinal number", _date),
    rule("when number", _part_of_year),
    rule("when period", _of_the_year),
    rule("number when", _part_of_year),
    rule("number|ordinal when", _date),
    rule("when number|ordinal", _date),
    rule("period number", _year_said),
    rule("all column most|less cell", _all_but),
    rule("period when", _month_said),
    rule("count|much|cmp|bound|number period column", _days_of),
    rule("number times_scale", _scaled),
    rule("number unit", _with_unit),
    rule("unit number", _with_unit),
    rule("between number|when|measured|ordinal and|to number|when|measured", _range),
    rule("from number|when|measured|ordinal to number|when|measured", _range),
    rule("when to when", _range),
    rule("number to number", _range),
    rule("number column post", _bound_behind),
    rule("cmp_of number", _of_implied),
    rule("number|measured post", _bound),
    rule("when post", _bound),
    rule("cmp number|measured", _bound),
    rule("time when|number", _bound),
    rule("column bound aged", _of_implied),
    rule("bound aged", _of_implied),
    rule("not bound", _opposite),
    rule("cmp not number|measured", _not_over),
    rule("bound included", _included),
    rule("when (and|or|comma+ when)+", _whens),
    rule("number (and|or|comma+ number)+", _numbers),
)


def _of_change(items: Sequence[Item], _: TableLinks) -> Made:
    """`change from May to June`: two periods, and no range."""
    ends = values(items, "when", "number")
    ends = [When(year=int(one)) if is_year(one) else one for one in ends]
    if not all(isinstance(one, When) for one in ends):
        return None
    first, last = ends
    first = replace(first, year=last.year) if first.year is None else first
    kept = [item for item in items if item.tag not in ("from", "to", "between", "and", "when", "number")]
    return [*kept, Item("periods", (first, last))]


PERIODS: Final[tuple[Rule, ...]] = (
    # The dates alone: two that are compared must not have become a range.
    *AMOUNTS[:10],
    rule("along (wh|op|column|count|rows|in_percent|share)* from when|number to when|number", _of_change),
    rule(
        "from when|number to when|number (wh|much|op|column|count|rows|in_percent|yesno)* along in_percent?", _of_change
    ),
    rule(
        "between when|number and when|number (wh|much|op|column|count|rows|in_percent)* along in_percent?", _of_change
    ),
    rule("(along|difference) (op|column|count|rows)* between when|number and when|number", _of_change),
)
