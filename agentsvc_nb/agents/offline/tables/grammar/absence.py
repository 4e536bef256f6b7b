"""Conditions on whether a column has something: `no discount`, `not delivered`, `with a coupon`."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from agentsvc_nb.agents.offline.tables.grammar.rules import Item, Made, has, values
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.formats.plans.plan import Condition, Criterion, Empty, Not


def without(items: Sequence[Item], links: TableLinks) -> Made:
    """`no discount`: where there is none, if empty cells alone can say so."""
    column = values(items, "column")[0]
    profile = links.profile(column)
    zero = profile.kind == "number" and profile.smallest and Decimal(profile.smallest) <= 0
    if profile.kind == "boolean":
        return Item("cond", Not(Criterion(column, "=", True)))
    if profile.empty and not zero:
        return Item("cond", Empty(column))
    return Item("cond", Criterion(column, "=", Decimal(0))) if zero and not profile.empty else None


def unfilled(items: Sequence[Item], links: TableLinks) -> Made:
    """`no reason filled in`."""
    column = items[1].value
    return Item("cond", Empty(column)) if links.profile(column).empty else None


def filled(items: Sequence[Item], links: TableLinks) -> Made:
    """`with a coupon`: where there is one."""
    column = items[1].value
    return Item("cond", Not(Empty(column))) if links.profile(column).empty else None


def neither(items: Sequence[Item], links: TableLinks) -> Made:
    made = [without([item], links) for item in items if item.tag == "column"]
    return [one for one in made if isinstance(one, Item)] if all(made) else None


def undone(items: Sequence[Item], links: TableLinks) -> Made:
    """`not delivered`, where there is no day of it."""
    column = items[1].value
    profile = links.profile(column)
    return Item("cond", Empty(column)) if profile.kind in ("date", "datetime") and profile.empty else None


def emptiness(items: Sequence[Item], _: TableLinks) -> Made:
    condition: Condition = Empty(values(items, "column")[0])
    return Item("cond", Not(condition) if has(items, "filled") != has(items, "not") else condition)
