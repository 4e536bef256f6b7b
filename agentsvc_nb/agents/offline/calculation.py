"""Define calculations over one table. The parser creates them, `saying` writes them as questions, and `sql` as SQL."""

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
    """A number to compute: `count` of rows, an aggregate of a column, or the `ratio` of two sums.

    `bare` means that the question named only the column. `name` is the name of a known ratio (`CTR`), and `factor` the
    ratio's multiplier.
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
    """Keeps the rows that fit. `op` is one of = != < <= > >=, `in`, `not in`, `empty`, `not empty`, `weekday`, `not
    weekday`, or `column` with a comparison (`column<`), whose value is another column."""

    column: str
    op: str
    values: tuple[Constant, ...] = ()


Conditions = frozenset[Condition]


@dataclass(frozen=True, slots=True)
class Group:
    """A group key: a column, or the `part` of a date column."""

    column: str
    part: Part | None = None


@dataclass(frozen=True, slots=True)
class Rank:
    """Orders groups by a measure. Keeps the first `limit` groups, or with `nth` only the group at that position."""

    measure: Measure
    descending: bool = True
    limit: int = 1
    nth: bool = False


@dataclass(frozen=True, slots=True)
class Calculation:
    """A calculation. Without measures and rank, it lists the distinct values of the column `select`.

    `single` marks a look-up, which fails if it finds several values. `share` contains the conditions of the part whose
    percentage the question asks for. If `share` is empty, the question asks for the share of each group. `mean_per`
    asks for the mean of the measure over these groups (`average cost per day`). `having` limits the groups.
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
        """Return the names of all columns in the calculation."""
        found = [name for measure in self.measured for name in measure.columns]
        keys = [*self.groups, *([self.mean_per] if self.mean_per else [])]
        found += [group.column for group in keys] + ([self.select] if self.select else [])
        for condition in [*self.conditions, *(self.share or ())]:
            others = condition.values if condition.op.startswith("column") else ()
            found += [condition.column, *map(str, others)]
        return tuple(dict.fromkeys(found))

    @property
    def measured(self) -> tuple[Measure, ...]:
        """Return all measures, including those that order or limit the groups."""
        ranked = (self.rank.measure,) if self.rank else ()
        return (*self.measures, *ranked, *((self.having[0],) if self.having else ()))
