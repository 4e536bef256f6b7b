"""Days, months, quarters and years that a question names, and the conditions they make on a column."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from agentsvc_nb.agents.offline.tables.columns import day_of
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.formats.plans.plan import (
    AllOf,
    Between,
    Column,
    Condition,
    Criterion,
    DatePart,
    DatePartName,
    Operator,
)
from agentsvc_nb.formats.plans.profiles import ColumnProfile


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
