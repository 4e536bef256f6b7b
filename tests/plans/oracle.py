"""Plans computed in plain Python, one row after the other, with `Decimal` and `statistics`."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from functools import cmp_to_key
from math import sqrt
from typing import Any

from agentsvc_nb.documents.plans.plan import (
    Aggregate,
    AllOf,
    Along,
    AnyOf,
    Between,
    Column,
    Compared,
    Condition,
    Contains,
    Correlation,
    Criterion,
    DatePart,
    Empty,
    Group,
    Not,
    OneOf,
    Operand,
    Order,
    Plan,
    Subject,
    column_of,
)
from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile

Row = Mapping[Column, Any]
PRECISION = 200
DECIMALS = 12
WHOLE_DIGITS = 12


@dataclass(frozen=True)
class Data:
    """A table with its rows."""

    profile: TableProfile
    rows: Sequence[Sequence[Any]]

    def records(self) -> list[Row]:
        columns = [Column(self.profile.name, column.name) for column in self.profile.columns]
        return [dict(zip(columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Number:
    """`scale` is how many decimals are computed, None where floating point is as good as it gets."""

    value: Any
    scale: int | None = 0

    @property
    def approximate(self) -> bool:
        return self.scale is None and self.value is not None


def rows_of(plan: Plan, data: Mapping[str, Data]) -> list[list[Number]]:
    """The rows of the result."""
    with localcontext(prec=PRECISION):
        fitting = [row for row in joined(plan, data) if holds(plan.where, row)]
        if plan.select:
            found = [[Number(row[column]) for column in plan.select] for row in fitting]
            return _first(plan, _sorted(plan.order, found, 0))
        return _first(plan, _sorted(plan.order, _grouped(plan, data, fitting), len(plan.groups)))


def used(plan: Plan, data: Mapping[str, Data]) -> int:
    with localcontext(prec=PRECISION):
        fitting = [row for row in joined(plan, data) if holds(plan.where, row)]
        return sum(1 for row in fitting if not plan.measures or any(_enters(one, row, data) for one in plan.measures))


def _enters(measure: Any, row: Row, data: Mapping[str, Data]) -> bool:
    match measure:
        case Correlation():
            return row[measure.left] is not None and row[measure.right] is not None
        case Compared():
            return _enters(measure.left, row, data) or _enters(measure.right, row, data)
        case Along():
            return _enters(measure.of, row, data)
    known = measure.operand is None or _operand(measure.operand, row, data).value is not None
    return known and holds(measure.where, row)


def joined(plan: Plan, data: Mapping[str, Data]) -> list[Row]:
    own = data[plan.table].records()
    if plan.join is None:
        return own
    found: list[Row] = []
    for row in own:
        for other in data[plan.join.table].records():
            if all(row[left] is not None and row[left] == other[right] for left, right in plan.join.keys):
                found.append({**row, **other})
    return found


# Conditions: true, false, or None where a cell is empty.


def holds(condition: Condition | None, row: Row) -> bool:
    return condition is None or truth(condition, row) is True


def truth(condition: Condition, row: Row) -> bool | None:
    match condition:
        case Not():
            inner = truth(condition.condition, row)
            return None if inner is None else not inner
        case AllOf():
            found = [truth(one, row) for one in condition.conditions]
            return False if False in found else None if None in found else True
        case AnyOf():
            found = [truth(one, row) for one in condition.conditions]
            return True if True in found else None if None in found else False
        case Empty():
            return row[condition.column] is None
        case Contains():
            cell = row[condition.column]
            return None if cell is None else condition.text.lower() in cell.lower()
        case OneOf():
            if _cell(condition.subject, row) is None:
                return None
            return any(_compared(condition.subject, "=", value, row) for value in condition.values)
        case Between():
            ends = (
                _compared(condition.subject, ">=", condition.low, row),
                _compared(condition.subject, "<=", condition.high, row),
            )
            return None if None in ends else all(ends)
        case Criterion():
            right = row[condition.right] if isinstance(condition.right, Column) else condition.right
            return _compared(condition.left, condition.operator, right, row, isinstance(condition.right, Column))


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _compared(subject: Subject, operator: str, right: Any, row: Row, columns: bool = False) -> bool | None:
    left = _cell(subject, row)
    if left is None or right is None:
        return None
    if isinstance(left, datetime) and not isinstance(right, datetime) and not columns:
        left = left.date()
    return _OPERATORS[operator](_moment(left, right), _moment(right, left))


def _moment(value: Any, other: Any) -> Any:
    """A date that meets a datetime is its midnight."""
    if isinstance(other, datetime) and isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time())
    return value


def _cell(subject: Subject, row: Row) -> Any:
    cell = row[column_of(subject)]
    return Decimal(_part(cell, subject.part)) if isinstance(subject, DatePart) and cell is not None else cell


def _part(moment: Any, part: str) -> int:
    match part:
        case "quarter":
            return (moment.month + 2) // 3
        case "week":
            return int(moment.isocalendar().week)
        case "weekday":
            return int(moment.isoweekday())
        case _:
            return int(getattr(moment, part))


# Numbers


def divided(above: Number, below: Number, percent: bool = False) -> Number:
    scale = None if above.scale is None or below.scale is None else max(DECIMALS, above.scale)
    if scale is not None and scale + (below.scale or 0) > 38 - WHOLE_DIGITS:
        scale = None
    if above.value is None or not below.value:
        return Number(None, scale)
    value = above.value * (100 if percent else 1) / below.value
    return Number(value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_EVEN) if scale is not None else value, scale)


def _scaled(data: Mapping[str, Data], column: Column, cell: Any) -> Number:
    return Number(cell, data[column.table].profile.column(column.name).decimals)


def _operand(operand: Operand, row: Row, data: Mapping[str, Data]) -> Number:
    if isinstance(operand, Column):
        return _scaled(data, operand, row[operand])
    left, right = (_scaled(data, column, row[column]) for column in (operand.left, operand.right))
    scales = (left.scale or 0, right.scale or 0)
    if operand.operator == "/":
        return divided(left, right)
    scale = sum(scales) if operand.operator == "*" else max(scales)
    if left.value is None or right.value is None:
        return Number(None, scale)
    if operand.operator == "*":
        return Number(left.value * right.value, scale)
    return Number(left.value + right.value if operand.operator == "+" else left.value - right.value, scale)


def _aggregated(one: Aggregate, rows: Iterable[Row], data: Mapping[str, Data]) -> Number:
    kept = [row for row in rows if holds(one.where, row)]
    if one.operand is None:
        return Number(Decimal(len(kept)))
    numbers = [_operand(one.operand, row, data) for row in kept]
    values = [number.value for number in numbers if number.value is not None]
    scale = _operand(one.operand, _Zeros(), data).scale
    match one.operation:
        case "count":
            return Number(Decimal(len(values)))
        case "distinct":
            return Number(Decimal(len(set(values))))
    if not values:
        return Number(None, scale)
    match one.operation:
        case "sum":
            return Number(sum(values, Decimal(0)), scale)
        case "mean":
            return divided(Number(sum(values, Decimal(0)), scale), Number(Decimal(len(values))))
        case "median":
            return Number(statistics.median(values), (scale or 0) + 1)
        case "min" | "max":
            return Number(min(values) if one.operation == "min" else max(values), scale)
        case "stddev":
            return Number(statistics.stdev(values) if len(values) > 1 else None, None)
        case "quantile":
            assert one.quantile is not None
            return Number(quantile(values, one.quantile))
    raise AssertionError(one.operation)


class _Zeros(dict[Column, Any]):
    def __missing__(self, column: Column) -> Decimal:
        return Decimal(1)


def quantile(values: Sequence[Decimal], share: Decimal) -> Decimal:
    """Interpolated between the two nearest: what numpy and pandas call linear."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = int(at)
    return ordered[low] + (ordered[min(low + 1, len(ordered) - 1)] - ordered[low]) * (at - low)


def correlation(pairs: Sequence[tuple[Decimal, Decimal]]) -> float | None:
    if len(pairs) < 2:
        return None
    lefts, rights = ([Fraction(pair[side]) for pair in pairs] for side in (0, 1))
    mean_left, mean_right = sum(lefts) / len(pairs), sum(rights) / len(pairs)
    spread = [sum((one - mean) ** 2 for one in ones) for ones, mean in ((lefts, mean_left), (rights, mean_right))]
    if not all(spread):
        return None
    both = sum((left - mean_left) * (right - mean_right) for left, right in zip(lefts, rights, strict=True))
    return float(both) / (sqrt(spread[0]) * sqrt(spread[1]))


# Groups, and what stands along them


def _grouped(plan: Plan, data: Mapping[str, Data], rows: Sequence[Row]) -> list[list[Number]]:
    members: dict[tuple[Any, ...], list[Row]] = {} if plan.groups else {(): []}
    for row in rows:
        members.setdefault(tuple(_group(group, row) for group in plan.groups), []).append(row)
    columns = [_column(measure, plan, members, data) for measure in plan.measures]
    return [[*map(Number, key), *(column[key] for column in columns)] for key in members]


def _group(group: Group, row: Row) -> Any:
    cell = row[group.column]
    if cell is None or not group.by:
        return cell
    day = cell.date() if isinstance(cell, datetime) else cell
    match group.by:
        case "weekday":
            return Decimal(day.isoweekday())
        case "day":
            return day
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(day=1, month=(day.month - 1) // 3 * 3 + 1)
        case "year":
            return day.replace(day=1, month=1)


Members = Mapping[tuple[Any, ...], Sequence[Row]]


def _column(measure: Any, plan: Plan, members: Members, data: Mapping[str, Data]) -> dict[tuple[Any, ...], Number]:
    match measure:
        case Aggregate():
            return {key: _aggregated(measure, rows, data) for key, rows in members.items()}
        case Correlation():
            pairs = {
                key: [(row[measure.left], row[measure.right]) for row in rows if _enters(measure, row, data)]
                for key, rows in members.items()
            }
            return {key: Number(correlation(found), None) for key, found in pairs.items()}
        case Compared():
            return {
                key: compared(measure, *(_aggregated(one, rows, data) for one in (measure.left, measure.right)))
                for key, rows in members.items()
            }
    values = {key: _aggregated(measure.of, rows, data) for key, rows in members.items()}
    if measure.operation == "share":
        whole = _total(values.values())
        return {key: divided(value, whole, percent=True) for key, value in values.items()}
    return _in_periods(measure, plan, values, data)


def _total(numbers: Iterable[Number]) -> Number:
    found = list(numbers)
    known = [one.value for one in found if one.value is not None]
    return Number(sum(known, Decimal(0)) if known else None, found[0].scale if found else 0)


def compared(measure: Compared | Along, left: Number, right: Number) -> Number:
    if measure.operation in ("ratio", "percent"):
        return divided(left, right, percent=measure.operation == "percent")
    scale = max(left.scale or 0, right.scale or 0)
    known = left.value is not None and right.value is not None
    difference = Number(left.value - right.value if known else None, scale)
    return divided(difference, right, percent=True) if measure.operation == "change" else difference


def period_place(groups: Sequence[Group], profile: Callable[[Column], ColumnProfile]) -> int | None:
    """Which group is a series of periods."""
    named = [place for place, group in enumerate(groups) if group.by not in ("", "weekday")]
    profiles = [profile(group.column) for group in groups]
    stepping = [
        place
        for place, (group, column) in enumerate(zip(groups, profiles, strict=True))
        if not group.by and (column.kind == "date" or (column.kind == "number" and column.decimals == 0))
    ]
    return next(iter(named + stepping), None)


def _in_periods(
    measure: Along, plan: Plan, values: Mapping[tuple[Any, ...], Number], data: Mapping[str, Data]
) -> dict[Any, Number]:
    place = period_place(plan.groups, lambda column: data[column.table].profile.column(column.name))
    assert place is not None
    by = plan.groups[place].by
    found = {}
    for key, value in values.items():
        if measure.operation == "running":
            beside = [
                number
                for other, number in values.items()
                if _others(other, place) == _others(key, place)
                and key[place] is not None
                and other[place] is not None
                and other[place] <= key[place]
            ]
            found[key] = _total(beside) if beside else Number(None)
        else:
            before = (*key[:place], _before(key[place], by), *key[place + 1 :])
            earlier = values.get(before) if key[place] is not None else None
            found[key] = compared(measure, value, earlier or Number(None, value.scale))
    return found


def _others(key: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    return key[:place] + key[place + 1 :]


def _before(period: Any, by: str) -> Any:
    if period is None or isinstance(period, Decimal):
        return None if period is None else period - 1
    match by:
        case "week":
            return period - timedelta(days=7)
        case "month":
            return (period - timedelta(days=1)).replace(day=1)
        case "quarter":
            return period.replace(year=period.year - 1, month=10) if period.month == 1 else _months(period, 3)
        case "year":
            return period.replace(year=period.year - 1)
        case _:
            return period - timedelta(days=1)


def _months(day: date, months: int) -> date:
    return day.replace(month=day.month - months)


# Order


def _sorted(order: Sequence[Order], rows: list[list[Number]], groups: int) -> list[list[Number]]:
    then = [Order(place) for place in range(groups) if place not in {one.place for one in order}]

    def compare(one: Sequence[Number], other: Sequence[Number]) -> int:
        return _before_or_after([*order, *then], one, other)

    return sorted(rows, key=cmp_to_key(compare))


def _before_or_after(order: Sequence[Order], one: Sequence[Number], other: Sequence[Number]) -> int:
    for by in order:
        left, right = one[by.place].value, other[by.place].value
        if left == right:
            continue
        if left is None or right is None:
            return 1 if left is None else -1
        return -1 if (left < right) != by.descending else 1
    return 0


def _first(plan: Plan, rows: list[list[Number]]) -> list[list[Number]]:
    if plan.limit is None:
        return rows
    if not plan.order:
        return rows[: plan.limit]
    ranks = [sum(1 for other in rows if _before_or_after(plan.order, other, row) < 0) for row in rows]
    known = [all(row[one.place].value is not None for one in plan.order) for row in rows]
    return [row for row, rank, fine in zip(rows, ranks, known, strict=True) if rank < plan.limit and fine]
