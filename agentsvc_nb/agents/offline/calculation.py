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
    """A number to compute: the `count` of rows, an aggregate of `column`, or the `ratio` of the sums of `column` and
    `over`.

    `bare` is True if the question named the column without an aggregate. `name` is the name of a known ratio, such as
    `CTR`. The ratio is multiplied by `factor`, which is 100 for a percentage.
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
    """A condition on rows. `op` is one of = != < <= > >=, `in`, `not in`, `empty`, `not empty`, `weekday`, `not
    weekday`, or `column` followed by a comparison, such as `column<`, which compares with another column.
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
    """An order of groups by a measure. The result has the first `limit` groups, or, if `nth` is True, only the group at
    position `limit`.
    """

    measure: Measure
    descending: bool = True
    limit: int = 1
    nth: bool = False


@dataclass(frozen=True, slots=True)
class Calculation:
    """A calculation with one table: measures over the rows that match all conditions, for each of the groups.

    `rank` orders the groups. `select` lists the distinct values of a column instead. If `single` is True, several
    values are not an answer. `share` is set if the question asks for a percentage: it contains the conditions of the
    part, or is empty for the share of each group. With `mean_per`, the result is the mean of the measure over these
    groups, such as `average cost per day`. `having` is a condition on the groups.
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
