"""A plan as a question in plain English, which is understood as this plan; and the titles of what is computed."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Final

from agentsvc_nb.documents.plans.expressions import value as written
from agentsvc_nb.documents.plans.plan import (
    Aggregate,
    AllOf,
    Along,
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
    Plan,
    Value,
)

_CALLED: Final = {"sum": "total", "mean": "average", "median": "median", "min": "lowest", "max": "highest",
                  "stddev": "standard deviation of", "distinct": "number of different"}  # fmt: skip
_ASKED: Final = {"min": "minimum", "max": "maximum"}
_DATED: Final = {"<": "before", ">": "after", "<=": "until", ">=": "since", "=": "", "!=": "not"}
_COMPARED: Final = {"<": "under", ">": "over", "<=": "at most", ">=": "at least", "=": "", "!=": "not"}


def measure(one: Measure) -> str:
    """`total revenue`, as a title."""
    match one:
        case Aggregate(operand=None):
            return "number of rows"
        case Aggregate(operand=Formula(left=left, operator=sign, right=right)):
            return f"{_CALLED.get(one.operation, one.operation)} {left.name} {sign} {right.name}"
        case Aggregate(operand=Column(name=name)):
            if one.operation == "count":
                return f"number of {name}"
            if one.operation == "quantile":
                return f"{(one.quantile or Decimal(0)) * 100:.0f}th percentile of {name}"
            return f"{_CALLED[one.operation]} {name}"
        case Correlation():
            return f"correlation of {one.left.name} and {one.right.name}"
        case Compared(operation="percent"):
            return f"share of {measure(one.right)}"
        case Compared(operation="ratio"):
            return f"{measure(one.left)} per {measure(one.right)}"
        case Compared():
            return f"{one.operation} of {measure(one.left)}"
        case Along(operation="share"):
            return f"share of {measure(one.of)}"
        case Along(operation="running"):
            return f"running {measure(one.of)}"
        case Along():
            return f"{one.operation} of {measure(one.of)} to the period before"
    raise AssertionError(one)


def question(plan: Plan) -> str:
    """The question; empty for a plan that is not easily said."""
    if len(plan.measures) > 1 or len(plan.select) > 1 or plan.keep:
        return ""
    asked = ""
    if plan.measures:
        if not (asked := _asked(plan.measures[0])):
            return ""
    elif plan.select:
        asked = f"list {quoted(plan.select[0].name)}"
    if plan.limit is not None:
        if not plan.measures or len(plan.groups) != 1 or not asked:
            return ""
        end = "top" if plan.order and plan.order[0].descending else "bottom"
        asked = f"{end} {plan.limit} {_group(plan.groups[0])} ranked by {asked}"
    elif plan.groups and asked:
        asked = f"{asked} by {' and '.join(map(_group, plan.groups))}"
        if plan.order and plan.order[0].place >= len(plan.groups):
            asked += f", {'highest' if plan.order[0].descending else 'lowest'} first"
    elif plan.groups:
        asked = f"list {' and '.join(map(_group, plan.groups))}"
    limits = [_limit(one) for one in (plan.where.conditions if isinstance(plan.where, AllOf) else (plan.where,)) if one]
    if not asked or not all(limits):
        return ""
    return f"{asked[0].upper()}{asked[1:]}{' where ' + ' and '.join(limits) if limits else ''}?"


def quoted(name: str) -> str:
    return f'"{name}"' if '"' not in name else ""


def _asked(one: Measure) -> str:
    match one:
        case Aggregate(operand=None, where=None):
            return "number of rows"
        case Aggregate(operand=Column(name=name), where=None, operation=operation) if operation in _CALLED:
            return f"{_ASKED.get(operation, _CALLED[operation])} {quoted(name)}"
        case Along(operation="share", of=of):
            return f"share of {_asked(of)}" if of.operation == "sum" else ""
        case Along(operation=operation, of=of):
            called = {"running": "running total of", "change": "growth of", "difference": "change of"}
            return f"{called[operation]} {_asked(of)}"
        case Compared(
            operation="ratio", left=Aggregate(operand=Column(name=left)), right=Aggregate(operand=Column(name=right))
        ):
            return f"ratio of {quoted(left)} to {quoted(right)}"
        case _:
            return ""


def _group(group: Group) -> str:
    return f"{group.by} of {quoted(group.column.name)}" if group.by else quoted(group.column.name)


def _limit(condition: Condition) -> str:
    match condition:
        case Criterion(left=Column(name=name), right=right) if not isinstance(right, Column):
            word = (_DATED if isinstance(right, date) else _COMPARED)[condition.operator]
            return f"{quoted(name)} {word} {_value(right)}".replace("  ", " ")
        case OneOf(subject=Column(name=name)):
            return f"{quoted(name)} {' or '.join(map(_value, condition.values))}"
        case Between(subject=Column(name=name)):
            return f"{quoted(name)} between {_value(condition.low)} and {_value(condition.high)}"
        case Contains():
            return f'{quoted(condition.column.name)} contains "{condition.text}"'
        case Empty():
            return f"{quoted(condition.column.name)} is empty"
        case Not(condition=Criterion(left=Column(name=name), operator="=", right=str(right))):
            return f"{quoted(name)} not {_value(right)}"
        case Not(condition=OneOf(subject=Column(name=name), values=values)):
            return f"{quoted(name)} not {' or '.join(map(_value, values))}"
        case Criterion(left=DatePart()) | _:
            return ""


def _value(one: Value) -> str:
    return quoted(one) if isinstance(one, str) else written(one)
