"""Define the calculations that the offline agent can make with one table. `parser` creates them from questions,
`saying` writes them as questions, and `sql` writes them as SQL.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Literal

Constant = str | bool | int | Decimal | date
Aggregate = Literal["count", "distinct", "sum", "mean", "median", "min", "max", "ratio"]
Part = Literal["day", "week", "month", "quarter", "year", "weekday"]


@dataclass(frozen=True, slots=True)
class Measure:
    """A number to compute: the count of rows, an aggregate of a column, or the ratio of the sums of two columns.

    Attributes:
        agg: what to compute.
        column: the column to aggregate, or the numerator of a ratio; None to count rows.
        over: the denominator of a ratio.
        bare: True if the question named the column without an aggregate.
        name: the name of a known ratio, such as `CTR`, else "".
        factor: the number by which a ratio is multiplied: 100 for a percentage.
    """

    agg: Aggregate
    column: str | None = None
    over: str | None = None
    bare: bool = field(default=False, compare=False)
    name: str = field(default="", compare=False)
    factor: int = 1

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name in (self.column, self.over) if name is not None)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on rows: how the value in `column` must compare with `values`, or with another column.

    `op` is one of = != < <= > >=, `in`, `not in`, `empty`, `not empty`, `weekday` and `not weekday`. To compare with
    another column, `op` is `column` followed by a comparison, such as `column<`, and `values` contains that column's
    name.
    """

    column: str
    op: str
    values: tuple[Constant, ...] = ()


Conditions = frozenset[Condition]


@dataclass(frozen=True, slots=True)
class Group:
    """A column to group rows by. If `part` is set, rows are grouped by this part of a date column, such as the
    month.
    """

    column: str
    part: Part | None = None


@dataclass(frozen=True, slots=True)
class Rank:
    """Orders the groups of a calculation by a measure, and selects the first groups.

    The result has the first `limit` groups. If `nth` is True, it has only the group at position `limit`, counted from
    1.
    """

    measure: Measure
    descending: bool = True
    limit: int = 1
    nth: bool = False


@dataclass(frozen=True, slots=True)
class Calculation:
    """A calculation with one table.

    Attributes:
        measures: the numbers to compute for each group.
        conditions: the conditions that rows must match to be used.
        groups: the columns to group the rows by. Without groups, all rows are one group.
        rank: orders the groups by a measure, or the values of `select`, and selects the first ones.
        select: a column whose distinct values are the result. `measures` is then not used.
        single: True if the question asks for one value of `select`. If there are several, the agent asks back.
        share: for a percentage, the conditions of the rows in its numerator. It is empty to compute each group's
            percentage of all groups together, and None if the result is no percentage.
        mean_per: the group to compute a mean over. For `average cost per day`, it is the day, and the result is the
            mean of the days' costs.
        having: a condition on groups: a measure, a comparison, and the number to compare with.
    """

    measures: tuple[Measure, ...] = ()
    conditions: Conditions = frozenset()
    groups: tuple[Group, ...] = ()
    rank: Rank | None = None
    select: str | None = None
    single: bool = False
    share: Conditions | None = None
    mean_per: Group | None = None
    having: tuple[Measure, str, Decimal] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of all columns that the calculation uses."""
        found = [name for measure in self.measured for name in measure.columns]
        keys = [*self.groups, *([self.mean_per] if self.mean_per else [])]
        found += [group.column for group in keys] + ([self.select] if self.select else [])
        for condition in [*self.conditions, *(self.share or ())]:
            others = condition.values if condition.op.startswith("column") else ()
            found += [condition.column, *map(str, others)]
        return tuple(dict.fromkeys(found))

    @property
    def measured(self) -> tuple[Measure, ...]:
        """Return all measures, including those that rank or limit the groups."""
        ranked = (self.rank.measure,) if self.rank else ()
        return (*self.measures, *ranked, *((self.having[0],) if self.having else ()))
