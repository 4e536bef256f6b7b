"""A plan in one line that a person can check: `sum(revenue) by channel over 128 of 140 rows of sales.csv`."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Final

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
    Formula,
    Group,
    Measure,
    Not,
    OneOf,
    Operand,
    Plan,
    Subject,
    Value,
)
from agentsvc_nb.documents.plans.profiles import TableProfile, Tables, table_of
from agentsvc_nb.documents.plans.results import Result

_PLAIN: Final = re.compile(r"\w[\w %€$£/.-]*")
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def expression(plan: Plan, tables: Tables, result: Result | None = None) -> str:
    """The calculation, and with its result how many rows it used. Raises `PlanError` for unknown tables."""
    table = table_of(tables, plan.table)
    what = ", ".join([_measure(one) for one in plan.measures] or [name(one.name) for one in plan.select])
    by = " and ".join(map(_group, plan.groups))
    parts = [f"{what} by {by}" if what and by else what or f"values of {by}"]
    if plan.where is not None:
        parts.append(f"where {_condition(plan.where)}")
    if plan.keep:
        titles = [*map(_group, plan.groups), *map(_measure, plan.measures)]
        parts.append("with " + " and ".join(f"{titles[one.place]} {one.operator} {one.number:f}" for one in plan.keep))
    if plan.order or plan.limit is not None:
        parts.append(_ordered(plan))
    used = f"{result.used} of {result.total} rows" if result is not None else "the rows"
    parts.append(f"over {used} of {title(table)}")
    if plan.join is not None:
        keys = " and ".join(
            name(own.name) if own.name == other.name else f"{name(own.name)} = {name(other.name)}"
            for own, other in plan.join.keys
        )
        parts.append(f"joined with {title(table_of(tables, plan.join.table))} on {keys}")
    return " ".join(parts)


def column_titles(plan: Plan, tables: Tables) -> list[str]:
    """The titles of the result's columns; no two are equal, whatever the case of their letters."""
    titles = [_group(one) if one.by else one.column.name for one in plan.groups]
    titles += [_measure(one) for one in plan.measures] + [one.name for one in plan.select]
    found: list[str] = []
    for place, wanted in enumerate(titles, 1):
        base = wanted or f"column {place}"
        made, number = base, 1
        while made.casefold() in {one.casefold() for one in found}:
            number += 1
            made = f"{base} ({number})"
        found.append(made)
    return found


def title(table: TableProfile) -> str:
    return f"{name(table.path)}, sheet {name(table.sheet)}" if table.sheet else name(table.path)


def name(text: str) -> str:
    """A name as it stands, or in brackets where its characters could be taken for a part of the expression."""
    return text if _PLAIN.fullmatch(text) else f"[{_visible(text)[1:-1]}]"


def value(one: Value) -> str:
    match one:
        case bool():
            return "true" if one else "false"
        case str():
            return _visible(one)
        case Decimal():
            return f"{one:f}"
        case _:
            return one.isoformat()


def _visible(text: str) -> str:
    """In quotation marks, on one line, with every character that can't be seen as its number."""
    written = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in written)


def _group(group: Group) -> str:
    return f"{group.by}({name(group.column.name)})" if group.by else name(group.column.name)


def _operand(operand: Operand) -> str:
    if isinstance(operand, Formula):
        return f"{name(operand.left.name)} {operand.operator} {name(operand.right.name)}"
    return name(operand.name)


def _measure(measure: Measure) -> str:
    match measure:
        case Aggregate():
            return _aggregate(measure)
        case Correlation():
            return f"correlation({name(measure.left.name)}, {name(measure.right.name)})"
        case Compared():
            left, right = _aggregate(measure.left), _aggregate(measure.right)
            match measure.operation:
                case "difference":
                    return f"{left} - {right}"
                case "change":
                    return f"change in % from {right} to {left}"
                case "percent":
                    return f"{left} / {right} in %"
                case "ratio":
                    return f"{left} / {right}"
        case Along():
            of = _aggregate(measure.of)
            return {
                "share": f"share in % of {of}",
                "running": f"running total of {of}",
                "difference": f"difference of {of} to the period before",
                "change": f"change in % of {of} to the period before",
            }[measure.operation]


def _aggregate(one: Aggregate) -> str:
    inner = "rows" if one.operand is None else _operand(one.operand)
    if one.operation == "distinct":
        inner = f"distinct {inner}"
    where = f" where {_condition(one.where)}" if one.where is not None else ""
    share = f", {one.quantile.normalize():f}" if one.quantile is not None else ""
    return f"{'count' if one.operation == 'distinct' else one.operation}({inner}{where}{share})"


def _ordered(plan: Plan) -> str:
    titles = [_group(one) for one in plan.groups] + [_measure(one) for one in plan.measures]
    titles += [name(one.name) for one in plan.select]
    by = [f"{titles[one.place]}{' descending' if one.descending else ''}" for one in plan.order]
    if plan.limit is None:
        return f"in order of {', '.join(by)}"
    if not by:
        return f"first {plan.limit}"
    if len(by) == 1:
        end = "top" if plan.order[0].descending else "bottom"
        return f"{end} {plan.limit} by {titles[plan.order[0].place]}"
    return f"first {plan.limit} in order of {', '.join(by)}"


def _subject(subject: Subject) -> str:
    return f"{subject.part}({name(subject.column.name)})" if isinstance(subject, DatePart) else name(subject.name)


def _against(subject: Subject, one: Value | Column) -> str:
    if isinstance(one, Column):
        return name(one.name)
    if isinstance(subject, DatePart) and subject.part == "weekday" and isinstance(one, Decimal) and one in range(1, 8):
        return _WEEKDAYS[int(one) - 1]
    return value(one)


def _condition(condition: Condition, inside: bool = False) -> str:
    match condition:
        case Criterion():
            right = _against(condition.left, condition.right)
            return f"{_subject(condition.left)} {condition.operator} {right}"
        case Between():
            low, high = (_against(condition.subject, one) for one in (condition.low, condition.high))
            return f"{_subject(condition.subject)} from {low} to {high}"
        case OneOf():
            values = ", ".join(_against(condition.subject, one) for one in condition.values)
            return f"{_subject(condition.subject)} in ({values})"
        case Contains():
            return f"{name(condition.column.name)} contains {value(condition.text)}"
        case Empty():
            return f"{name(condition.column.name)} is empty"
        case Not(condition=Empty(column=column)):
            return f"{name(column.name)} is not empty"
        case Not():
            return f"not ({_condition(condition.condition)})"
        case AllOf() | AnyOf():
            word, none = (" and ", "always") if isinstance(condition, AllOf) else (" or ", "never")
            shown = word.join(_condition(one, inside=True) for one in condition.conditions) or none
            return f"({shown})" if inside and len(condition.conditions) > 1 else shown
