"""Write a calculation as a question that the parser understands. Answers show how a question was understood, and
refusals suggest such questions.
"""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from agentsvc_nb.agents.offline.calculation import Calculation, Condition, Conditions, Constant, Group, Measure
from agentsvc_nb.agents.offline.lexicon import WEEKDAYS

AGGREGATES: Final = {"sum": "total", "mean": "average", "median": "median", "min": "minimum", "max": "maximum"}
OPERATORS: Final = {
    "=": "is",
    "!=": "is not",
    "in": "is",
    "not in": "is not",
    ">": "over",
    "<": "under",
    ">=": "at least",
    "<=": "at most",
}


def say(calculation: Calculation, quoted: bool = False) -> str:
    """Return a calculation as a question.

    Args:
        quoted: True to put headers between backticks, which is necessary if headers contain words of the grammar.
    """
    return _Sayer(quoted).calculation(calculation)


class _Sayer:
    def __init__(self, quoted: bool) -> None:
        self._quoted = quoted

    def calculation(self, calculation: Calculation) -> str:
        where = f" with {self.conditions(calculation.conditions)}" if calculation.conditions else ""
        keys = [self.group(group) for group in calculation.groups]
        if calculation.rank and calculation.groups:
            order = "top" if calculation.rank.descending else "bottom"
            if calculation.rank.nth:
                best = "highest" if calculation.rank.descending else "lowest"
                place = _ordinal(calculation.rank.limit)
                return f"{keys[0]} with the {place} {best} {self.measure(calculation.rank.measure)}{where}"
            return f"{order} {calculation.rank.limit} {keys[0]} by {self.measure(calculation.rank.measure)}{where}"
        if calculation.rank and calculation.select:
            best = "highest" if calculation.rank.descending else "lowest"
            count = _ordinal(calculation.rank.limit) if calculation.rank.nth else str(calculation.rank.limit)
            return f"{count} {best} {self.header(calculation.select)}{where}"
        if calculation.select:
            return f"list {self.header(calculation.select)}{self.having(calculation)}{where}"
        share = "percentage of " if calculation.share is not None else ""
        part = f" that are {self.conditions(calculation.share)}" if calculation.share else ""
        if calculation.mean_per:
            by = f" by {' and '.join(keys)}" if keys else ""
            amount = self.measure(calculation.measures[0]).removeprefix("total ")
            return f"average {amount}{where} per {self.group(calculation.mean_per)}{by}"
        by = " by " + " and ".join(keys) if keys else ""
        measures = " and ".join(map(self.measure, calculation.measures))
        return f"{share}{measures}{self.having(calculation)}{where}{part}{by}"

    def having(self, calculation: Calculation) -> str:
        if calculation.having is None:
            return ""
        measure, op, number = calculation.having
        return f" with {self.measure(measure)} {OPERATORS[op]} {self.constant(number)}"

    def header(self, name: str | None) -> str:
        return f"`{name}`" if self._quoted else str(name).replace("_", " ")

    def group(self, group: Group) -> str:
        if not group.part:
            return self.header(group.column)
        return f"{group.part} {self.header(group.column)}" if self._quoted else group.part

    def measure(self, one: Measure) -> str:
        if one.agg == "ratio":
            return one.name or f"ratio of {self.header(one.column)} to {self.header(one.over)}"
        if one.agg == "distinct":
            return f"number of different {self.header(one.column)}"
        return f"{AGGREGATES[one.agg]} {self.header(one.column)}" if one.agg in AGGREGATES else "number of rows"

    def conditions(self, conditions: Conditions) -> str:
        """Return the conditions as text. A period is written with its first and last day."""
        written = []
        ends = {one.column: one for one in conditions if one.op == "<" and isinstance(one.values[0], date)}
        periods = [one for one in conditions if one.op == ">=" and one.column in ends]
        for one in periods:
            start, end = one.values[0], ends[one.column].values[0]
            assert isinstance(start, date)
            assert isinstance(end, date)
            last = end - timedelta(1)
            written.append(f"{self.header(one.column)} {f'from {start} to {last}' if last > start else start}")
        others = conditions - {*periods, *(ends[one.column] for one in periods)}
        return " and ".join(sorted([*written, *map(self.condition, others)]))

    def condition(self, one: Condition) -> str:
        name = self.header(one.column)
        if one.op in ("empty", "not empty"):
            return f"{name} is {one.op}"
        if one.op.endswith("weekday"):
            days = " or ".join(WEEKDAYS[int(str(day)) - 1] for day in one.values) if len(one.values) == 1 else ""
            days = days or ("weekend" if len(one.values) == 2 else "working day")
            return f"{'not ' if one.op.startswith('not') else ''}{name} {days}"
        if one.op.startswith("column"):
            return f"{name} {OPERATORS[one.op.removeprefix('column')]} {self.header(str(one.values[0]))}"
        match one.values[0]:
            case bool(value):
                return f"{'' if value else 'not '}{name}"
            case date() as day:
                return f"{name} {'since' if one.op == '>=' else 'before'} {day}"
        return f"{name} {OPERATORS[one.op]} " + " or ".join(map(self.constant, one.values))

    def constant(self, value: Constant) -> str:
        return f"{value:f}" if isinstance(value, Decimal) else f'"{value}"'


def _ordinal(number: int) -> str:
    return {2: "second", 3: "third", 4: "fourth", 5: "fifth"}.get(number, f"{number}th")
