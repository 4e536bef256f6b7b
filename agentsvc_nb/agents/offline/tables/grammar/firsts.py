"""What superlatives come to: the first of groups or rows by a measure, and the extreme of a column."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Final, cast

from agentsvc_nb.agents.offline.tables.grammar.implied import SCORES
from agentsvc_nb.agents.offline.tables.grammar.phrases import aggregate, grouped, makes_groups
from agentsvc_nb.agents.offline.tables.grammar.readings import (
    Parts,
    QuestionReading,
)
from agentsvc_nb.agents.offline.tables.grammar.rules import has, values
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.documents.plans.checks import Code
from agentsvc_nb.documents.plans.plan import Aggregate, Column, Group, Measure, OneOf, Order
from agentsvc_nb.documents.plans.profiles import ColumnProfile
from agentsvc_nb.documents.plans.roles import is_identifier


def how_many(parts: Parts) -> int:
    """As many as are asked for; for the second the first two are needed."""
    return int((values(parts.core, "number", "ordinal") or [Decimal(1)])[0])


def at_place(found: QuestionReading | None, parts: Parts) -> QuestionReading | None:
    """`the second highest`: the last of the first two."""
    if found is None or not has(parts.core, "ordinal"):
        return found
    nth = how_many(parts)
    return replace(found, nth=nth) if nth > 1 and found.asked and found.plan.limit == nth else None


def paired(parts: Parts) -> Parts:
    """`A or B`, of which one is asked for, as a condition."""
    pairs = values(parts.core, "pair")
    chosen = [OneOf(column, (one, two)) for column, one, two in pairs]
    return replace(parts, core=[one for one in parts.core if one.tag not in ("pair", "or")],
                   conditions=[*parts.conditions, *chosen])  # fmt: skip


def extreme(measured: object, descending: bool, parts: Parts) -> QuestionReading | None:
    if not isinstance(measured, Column) or "person" in values(parts.core, "wh"):
        return None  # `who was hired last` asks for no day
    if is_identifier(parts.links.profile(measured), parts.links.table) or has(parts.core[:1], "rows"):
        return None  # `the order with the highest price` asks for an order
    made = aggregate("max" if descending else "min", measured, parts.links)
    return QuestionReading(parts.plan(made)) if made else None


def first_of(
    named: Column | None, group: Group | None, measured: object, summed: bool, descending: bool, limit: int,
    parts: Parts,
) -> QuestionReading | None:  # fmt: skip
    """The first of groups by a measure, or of rows if each has another name."""
    links = parts.links
    if parts.groups or (named is not None and (links.is_list(links.profile(named)) or not makes_groups(named, links))):
        return None
    if isinstance(measured, Column):
        if measured == named or (named is not None and _nearly_tells_apart(links.profile(named), links)):
            return None
        profile = links.profile(measured)
        if named is not None and links.is_key(links.profile(named)):
            if profile.kind not in ("number", "date", "datetime", "time"):
                return None
            order = (Order(1, descending),)
            select = (links.name_beside(named), measured)
            return QuestionReading(parts.plan(select=select, order=order, limit=limit), (0,))
        made = _of_group(measured, summed, descending, parts)
    else:
        [made] = cast(tuple[Measure, ...], measured) if len(cast(tuple[Measure, ...], measured)) == 1 else [None]
    if made is None:
        return None
    if not descending and parts.conditions and isinstance(made, Aggregate) and made.operation in ("count", "distinct"):
        return None  # `the fewest orders in March` has who has none of them, whom no row names
    by = group or grouped(cast(Column, named), links)
    return QuestionReading(parts.plan(made, groups=[by], order=(Order(1, descending),), limit=limit), (0,))


def _nearly_tells_apart(column: ColumnProfile, links: TableLinks) -> bool:
    """Whether only few rows have the same text, as two people a name: no one asks for the sum of both."""
    rows = links.table.rows - column.empty
    return column.kind == "text" and not links.is_key(column) and 10 * column.distinct >= 9 * rows


def _of_group(column: Column, summed: bool, descending: bool, parts: Parts) -> Measure | None:
    """What `the highest X` of a group is: its sum for amounts, else its extreme; of texts, how many there are."""
    profile = parts.links.profile(column)
    if summed and is_identifier(profile, parts.links.table):
        return Aggregate("count")
    if profile.kind == "number":
        if parts.links.adds_up(profile):
            return Aggregate("sum", column)
        if summed:
            return None
        return aggregate("max" if descending else "min", column, parts.links)
    if summed and profile.kind == "text":
        return Aggregate("count") if parts.links.is_key(profile) else Aggregate("distinct", column)
    return None


def row_or_extreme(
    subject: Column, column: Column, descending: bool, limit: int, parts: Parts
) -> QuestionReading | None:
    links = parts.links
    if parts.groups or links.profile(column).kind == "text":
        return None
    if links.is_key(links.profile(subject)):
        order = (Order(1, descending),)
        select = (links.name_beside(subject), column)
        return QuestionReading(parts.plan(select=select, order=order, limit=limit), (0,), settled=SAID)
    mean = not SCORES.isdisjoint(links.headers[column.name])
    made = aggregate("mean" if mean else "max" if descending else "min", column, links)
    if made is None:
        return None
    plan = parts.plan(made, groups=[grouped(subject, links)], order=(Order(1, descending),), limit=limit)
    return QuestionReading(plan, (0,), settled=SAID)


SAID: Final[tuple[Code, ...]] = ("date_ordered",)
