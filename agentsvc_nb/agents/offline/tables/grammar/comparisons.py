"""Readings of shares, changes along periods, and differences of two."""

from __future__ import annotations

from typing import Literal, cast

from agentsvc_nb.agents.offline.tables.grammar.limits import in_period, joined
from agentsvc_nb.agents.offline.tables.grammar.phrases import aggregate
from agentsvc_nb.agents.offline.tables.grammar.readings import Parts, QuestionReading
from agentsvc_nb.agents.offline.tables.grammar.rules import has, values
from agentsvc_nb.formats.plans.plan import (
    Aggregate,
    Along,
    Column,
    Compared,
    Condition,
    Criterion,
    Group,
    Measure,
    OneOf,
    Order,
    Plan,
    column_of,
    columns_of,
)

_How = Literal["running", "difference", "change"]


def share(parts: Parts) -> QuestionReading | None:
    """`what share of revenue comes from Email`, `share of revenue by channel`, `percentage of rows where ...`."""
    columns = values(parts.core, "column", "measure")
    one = Aggregate("count")
    if columns and isinstance(columns[0], Column):
        profile = parts.links.profile(columns[0])
        if parts.links.adds_up(profile):
            one = Aggregate("sum", columns[0])
        elif not parts.links.is_key(profile):
            return None
    elif columns:
        [found] = columns
        if len(found) != 1 or not isinstance(found[0], Aggregate):
            return None
        one = found[0]
    if parts.groups:
        # A period limits what the share is of; of rows, other conditions say which of them have it.
        when = [condition for condition in parts.conditions if _is_dated(condition, parts)]
        of = [condition for condition in parts.conditions if condition not in when]
        parts.conditions = [*when, *parts.base]
        if of and one == Aggregate("count"):  # `percentage of women by department`: of the rows of each
            return QuestionReading(parts.plan(Compared("percent", Aggregate("count", None, joined(of)), one)))
        parts.conditions += of
        return QuestionReading(parts.plan(Along("share", one)))
    if not parts.conditions:
        return None
    narrowed = Aggregate(one.operation, one.operand, parts.where)
    measured = (Compared("percent", narrowed, one),)
    return QuestionReading(Plan(parts.links.table.name, measured, where=joined(parts.base)))


def share_of_each(parts: Parts) -> QuestionReading | None:
    """`Anteil der Länder am Umsatz`: the share that each has in an amount."""
    of, amount = values(parts.core, "column")
    kinds = (parts.links.profile(of).kind, parts.links.adds_up(parts.links.profile(amount)))
    if parts.groups or parts.base or kinds != ("text", True):
        return None
    return QuestionReading(parts.plan(Along("share", Aggregate("sum", amount)), groups=[Group(of)]))


def _is_dated(condition: Condition, parts: Parts) -> bool:
    return all(parts.links.profile(one).kind in ("date", "datetime") for one in columns_of(condition))


def along(parts: Parts) -> QuestionReading | None:
    """Running totals and changes along periods."""
    how = next((one for one in values(parts.core, "along") if one != "difference"), "difference")
    if has(parts.core, "in_percent"):
        how = "change"
    if len(parts.groups) != 1 or (parts.groups[0].by in ("", "weekday") and not _is_series(parts)):
        return None
    one = _amount(parts)
    if one is None or (how != "running" and parts.groups[0].column in columns_of(parts.where)):
        return None  # the period before would be left out
    shown: tuple[Measure, ...] = (Along(cast(_How, how), one),)
    return QuestionReading(parts.plan(*shown, order=(Order(0),)))


def _is_series(parts: Parts) -> bool:
    profile = parts.links.profile(parts.groups[0].column)
    return parts.groups[0].by == "" and (profile.kind == "date" or profile in parts.links.years())


def _amount(parts: Parts) -> Aggregate | None:
    """The sum of the column that is named, the one measure, or how many rows there are."""
    columns, measured = values(parts.core, "column"), values(parts.core, "measure")
    if not columns and not measured and (has(parts.core, "rows") or has(parts.core, "count")):
        return Aggregate("count")
    if len(columns) + len(measured) != 1:
        return None
    if columns and has(parts.core, "op"):
        return None
    if columns:
        return Aggregate("sum", columns[0]) if parts.links.adds_up(parts.links.profile(columns[0])) else None
    [found] = measured
    return found[0] if len(found) == 1 and isinstance(found[0], Aggregate) else None


def difference(parts: Parts) -> QuestionReading | None:
    """`difference in revenue between A and B`, `how many more points has A than B`."""
    pairs = [item.value for item in parts.core if item.tag == "pair"]
    others = list(parts.conditions)
    if not pairs:
        chosen = [one for one in others if isinstance(one, OneOf) and len(one.values) == 2]
        if len(chosen) != 1:
            return None
        others.remove(chosen[0])
        pairs = [(column_of(chosen[0].subject), *chosen[0].values)]
    if len(pairs) != 1 or parts.groups:
        return None
    column, one, two = pairs[0]
    amount = _compared_amount(column, parts)
    if amount is None:
        return None
    left, right = (Aggregate(amount.operation, amount.operand, Criterion(column, "=", value)) for value in (one, two))
    plan = Plan(parts.links.table.name, (Compared("difference", left, right),), where=joined(others))
    return QuestionReading(plan, absolute=True)


def _compared_amount(of: Column, parts: Parts) -> Aggregate | None:
    columns, links = values(parts.core, "column"), parts.links
    if not columns and has(parts.core, "rows"):
        return Aggregate("count")
    if len(columns) == 1 and not links.adds_up(links.profile(columns[0])) and links.is_key(links.profile(of)):
        return aggregate("max", columns[0], links)  # of one row
    return _amount(parts)


def between_periods(parts: Parts) -> QuestionReading | None:
    """`by how many percent did revenue change from May to June`, `difference in revenue between 2021 and 2022`."""
    [(first, last)] = values(parts.core, "periods")
    amount, links = _amount(parts), parts.links
    if amount is None or parts.groups:
        return None
    made = [in_period(links, when) for when in (last, first)]
    if any(one is None for one in made) or made[0] == made[1]:
        return None
    percent = has(parts.core, "in_percent") or "change" in values(parts.core, "along")
    left, right = (Aggregate(amount.operation, amount.operand, one) for one in made)
    absolute = has(parts.core, "difference")
    return QuestionReading(parts.plan(Compared("change" if percent else "difference", left, right)), absolute=absolute)


def extent(parts: Parts) -> QuestionReading | None:
    """`the difference between the highest and the lowest price`."""
    [of] = values(parts.core, "column")
    if sorted(values(parts.core, "sup")) != ["asc", "desc"] or parts.groups:
        return None
    ends = [aggregate(operation, of, parts.links) for operation in ("max", "min")]
    if not all(ends) or parts.links.profile(of).kind != "number":
        return None
    return QuestionReading(parts.plan(Compared("difference", ends[0], ends[1])))  # type: ignore[arg-type]
