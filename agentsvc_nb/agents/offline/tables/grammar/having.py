"""Groups that are limited by their measure: `customers with more than 5 orders`."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from math import prod
from typing import Final, get_args

from agentsvc_nb.agents.offline.tables.grammar.phrases import aggregate
from agentsvc_nb.agents.offline.tables.grammar.readings import (
    Parts,
    QuestionReading,
    focus,
    may_be_of_groups,
    period_asked,
)
from agentsvc_nb.agents.offline.tables.grammar.rules import Item, Made, Rule, has, rule, values
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.documents.plans.plan import (
    Aggregate,
    Criterion,
    Empty,
    Group,
    Kept,
    Not,
    Operator,
    column_of,
    columns_of,
    leaves,
)
from agentsvc_nb.documents.plans.roles import is_identifier


def _of_rows(items: Sequence[Item], links: TableLinks) -> Made:
    """`more than 5 orders`."""
    bound, rows = items
    if rows.tag == "column" and not is_identifier(links.profile(rows.value), links.table):
        return None
    if rows.tag == "rows" and rows.value == "noun":
        return None
    return _kept(Aggregate("count"), bound)


def _of_measure(items: Sequence[Item], links: TableLinks) -> Made:
    """`a total revenue above 500`, `more than 50 units in total`."""
    [operation], [column] = values(items, "op"), values(items, "column")
    made = aggregate(operation, column, links)
    if made is None or (operation == "sum" and not links.adds_up(links.profile(column))):
        return None
    return _kept(made, next(item for item in items if item.tag == "bound"))


def _kept(measure: Aggregate, bound: Item) -> Made:
    operator, value = bound.value
    number = value[0] if isinstance(value, tuple) else value
    if operator not in get_args(Operator) or not isinstance(number, Decimal):
        return None
    return Item("kept", (measure, operator, number))


HAVING: Final[tuple[Rule, ...]] = (
    rule("op column bound", _of_measure),
    rule("bound column op", _of_measure),
    rule("bound op column", _of_measure),
    rule("bound rows", _of_rows),
    rule("bound column", _of_rows),
)
"""Before the conditions, which limit rows."""


def periods_counted(parts: Parts) -> QuestionReading | None:
    """`in how many months did A have a return`: the months that have such rows."""
    group = period_asked(parts.core, parts)
    limited = list(leaves(parts.where))
    if (
        group is None
        or (may_be_of_groups(group.column, parts) and not _has_one_row(group, parts))
        or parts.groups
        or values(parts.core, "count") != ["in"]
        or not limited
    ):
        return None
    if any(is_identifier(parts.links.profile(one), parts.links.table) for one in columns_of(parts.where)):
        return None
    if parts.links.profile(group.column).empty:
        parts.conditions = [*parts.conditions, Not(Empty(group.column))]
    return QuestionReading(parts.plan(Aggregate("count"), groups=[group]), (0,), counted=True)


def _has_one_row(group: Group, parts: Parts) -> bool:
    """Whether each day of what is named has one row, as those of each station have."""
    of = {column_of(one.left) for one in leaves(parts.where)
          if isinstance(one, Criterion) and one.operator == "=" and isinstance(one.right, str)}  # fmt: skip
    rows = prod(parts.links.profile(one).distinct for one in (group.column, *of))
    return group.by == "day" and bool(of) and rows == parts.links.table.rows


def having(parts: Parts) -> QuestionReading | None:
    """The groups, or how many there are."""
    [(measure, operator, number)] = values(parts.core, "kept")
    columns = values(parts.core, "column")
    links = parts.links
    group = period_asked(parts.core, parts)
    of = columns[0] if columns else group.column if group else focus(parts)
    if of is None or (columns and group) or parts.groups or set(values(parts.core, "rows")) - {"title"}:
        return None
    profile = links.profile(of)
    alone = group is None and (links.is_key(profile) or is_identifier(profile, links.table))
    met = [one for one in parts.conditions if not isinstance(one, Not)]
    if (
        alone
        or links.adds_up(profile)
        or links.is_list(profile)
        or (columns and any(of in columns_of(one) for one in met))
    ):
        return None
    if profile.empty:
        parts.conditions = [*parts.conditions, Not(Empty(of))]  # rows without a customer are none's
    plan = parts.plan(measure, groups=[group or Group(of)], keep=(Kept(1, operator, number),))
    return QuestionReading(plan, (0,), counted=has(parts.core, "count"))
