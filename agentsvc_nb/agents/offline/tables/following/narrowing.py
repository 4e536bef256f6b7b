"""The conditions of a question, after those of one that goes on from it: replaced, added, or either."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from typing import Final, TypeGuard

from agentsvc_nb.documents.plans.plan import (
    AllOf,
    Between,
    Column,
    Condition,
    Criterion,
    DatePart,
    Not,
    OneOf,
    column_of,
    columns_of,
    leaves,
)

_LOWER, _UPPER = (">", ">="), ("<", "<=")
_FINER: Final = ("weekday", "hour")


def parts(where: Condition | None) -> tuple[Condition, ...]:
    """The conditions all of which hold."""
    if where is None:
        return ()
    return tuple(one for inner in where.conditions for one in parts(inner)) if isinstance(where, AllOf) else (where,)


def narrowed(before: Sequence[Condition], new: Condition, only: bool, instead: bool) -> list[tuple[Condition, ...]]:
    """What holds after `new` was said: it takes the place of what was said of its column, or is added to it. Several
    ways when the words can mean each of them."""
    met = [one for one in before if not set(columns_of(one)).isdisjoint(columns_of(new))]
    added = (*before, new)
    replaced = (*(one for one in before if one not in met), new)
    if not met or new in before:
        return [tuple(dict.fromkeys(added))]
    if instead:
        return [replaced]
    # Conditions over several columns overlap in part alone: whether the new one stands for them is not said.
    if any(columns_of(one) != columns_of(new) or len(columns_of(one)) != 1 for one in met):
        return [replaced, added]
    choices = {_choice(one, new, only) for one in met}
    if choices == {"replace"}:
        return [replaced]
    if choices == {"add"}:
        return [added]
    return [replaced, added]


def _choice(old: Condition, new: Condition, only: bool) -> str:
    """`replace`, `add` or `either`."""
    if isinstance(new, Not):
        return _negated(old, new)
    if isinstance(old, Not):
        return "replace"
    parts_of = {_part(one) for one in leaves(old)}, {_part(one) for one in leaves(new)}
    if parts_of[0] != parts_of[1]:
        return _other_part(parts_of[0], parts_of[1], only)
    ends = _ends(old), _ends(new)
    if ends[0] is None or ends[1] is None:
        return "replace"
    return _ranges(ends[0], ends[1], only)


def _negated(old: Condition, new: Not) -> str:
    """`without Austria` narrows a list that has it, and what has nothing to do with it; else it may stand instead."""
    if isinstance(old, OneOf) and set(_values(new.condition)) < set(old.values):
        return "add"
    return "either"


def _values(condition: Condition) -> Iterator[object]:
    for leaf in leaves(condition):
        match leaf:
            case Criterion(operator="="):
                yield leaf.right
            case OneOf():
                yield from leaf.values
            case _:
                yield leaf


def _part(leaf: Condition) -> str:
    match leaf:
        case (
            Criterion(left=DatePart(part=part))
            | Between(subject=DatePart(part=part))
            | OneOf(subject=DatePart(part=part))
        ):
            return part
        case _:
            return ""


def _other_part(old: set[str], new: set[str], only: bool) -> str:
    """Sundays of a month, a month of a year; but `2025` after `in March` may be all of it."""
    if only or any(part in _FINER for part in old | new) or old == {""}:
        return "add"
    return "either"


Ends = tuple[date | Decimal | None, date | Decimal | None]


def _ends(condition: Condition) -> Ends | None:
    """The lowest and the highest value; None for what is no range."""
    match condition:
        case Between(subject=Column(), low=low, high=high):
            return (low, high) if _orders(low) and _orders(high) else None
        case Criterion(left=Column(), operator=operator, right=right) if _orders(right):
            end: date | Decimal = right
            low_end = end if operator in (*_LOWER, "=") else None
            return None if operator == "!=" else (low_end, end if operator in (*_UPPER, "=") else None)
        case _:
            return None


def _orders(value: object) -> TypeGuard[date | Decimal]:
    return isinstance(value, date | Decimal)


def _ranges(old: Ends, new: Ends, only: bool) -> str:
    """A range for a range, an end for the same end. One end within what was said narrows it; the other end may."""
    if None not in new:
        wider = None not in old and old != new and new[0] <= old[0] and old[1] <= new[1]  # type: ignore[operator]
        other_year = _whole_years(new) and not _whole_years(old)
        return "either" if wider or other_year else "replace"
    if None in old:
        same = (old[0] is None) == (new[0] is None)
        return "replace" if same else "add" if only else "either"
    if old[0] == old[1]:
        return "replace"
    end = new[0] if new[0] is not None else new[1]
    return "add" if old[0] <= end <= old[1] else "either"  # type: ignore[operator]


def _whole_years(ends: Ends) -> bool:
    low, high = ends
    if not isinstance(low, date) or not isinstance(high, date):
        return False
    return (low.month, low.day, high.month, high.day) == (1, 1, 12, 31)


def year_of(conditions: Sequence[Condition]) -> int | None:
    """The one year that all dates of a range are in."""
    years: set[int] = set()
    for one in conditions:
        ends = _ends(one)
        for end in ends or ():
            if isinstance(end, date):
                years.add(end.year)
    return years.pop() if len(years) == 1 else None


def compared_column(conditions: Sequence[Condition]) -> tuple[Column, str] | None:
    """The one column that is compared with a number, and how; None if there are several, or none."""
    found = [
        (column_of(one.left), one.operator)
        for condition in conditions
        for one in leaves(condition)
        if isinstance(one, Criterion) and isinstance(one.left, Column) and isinstance(one.right, Decimal)
    ]
    return found[0] if len(found) == 1 and not any(isinstance(one, Not) for one in conditions) else None
