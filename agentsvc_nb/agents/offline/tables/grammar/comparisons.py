"""Readings of shares, changes along periods, and differences of two; and what a share is among: `what percentage of web
orders were returned` is of web orders, not of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, cast

from agentsvc_nb.agents.offline.tables.grammar.limits import in_period, joined
from agentsvc_nb.agents.offline.tables.grammar.phrases import aggregate
from agentsvc_nb.agents.offline.tables.grammar.readings import Parts, QuestionReading
from agentsvc_nb.agents.offline.tables.grammar.rules import Item, has, values
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.documents.plans.plan import (
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
    amount = compared_amount(column, parts)
    if amount is None:
        return None
    left, right = (Aggregate(amount.operation, amount.operand, Criterion(column, "=", value)) for value in (one, two))
    plan = Plan(parts.links.table.name, (Compared("difference", left, right),), where=joined(others))
    return QuestionReading(plan, absolute=True)


def compared_amount(of: Column | None, parts: Parts) -> Aggregate | None:
    """What two are compared by: the sum of an amount, how many rows there are, or the value of their one row."""
    columns, links = values(parts.core, "column"), parts.links
    if not columns and not has(parts.core, "measure") and has(parts.core, "rows"):
        return Aggregate("count")
    if len(columns) == 1 and not links.adds_up(links.profile(columns[0])) and of and links.is_key(links.profile(of)):
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


_SAYS: Final = ("bound", "cmp", "post", "number", "measured", "empty", "filled", "truth", "between", "time", "not")


def verbs_between(items: Sequence[Item], links: TableLinks) -> list[Item]:
    """The items with the verb alone that divides what a share is among from what is said of it, not the one within
    `whose total is over 100`."""
    made: list[Item] = []
    for at, item in enumerate(items):
        before, after = made[-1:], items[at + 1 : at + 2]
        if item.tag == "copula" and before and after and _within(before[0], after[0], links):
            continue
        if item.tag != "copula" or has(items, "share"):
            made.append(item)
    return made


def _within(before: Item, after: Item, links: TableLinks) -> bool:
    if before.tag != "column":
        return False
    if after.tag == "cell":
        return bool(after.value[0] == before.value)
    return after.tag in _SAYS and links.profile(before.value).kind != "text"


def bases(items: Sequence[Item], links: TableLinks) -> list[Item]:
    """The conditions of a share, of which those that it is among are its base; unclear where both could be meant."""
    asked = next((at for at, item in enumerate(items) if item.tag == "share"), None)
    verb = next((at for at, item in enumerate(items) if item.tag == "copula" and at > (asked or 0)), None)
    plain = [item for item in items if item.tag != "copula"]
    limits = [at for at, item in enumerate(items) if item.tag == "cond"]
    if asked is None or has(items, "among") or has(items, "group") or len(limits) < 2:
        return plain
    dated = {at for at in limits if _limits_dates(items[at].value, links)}
    before = {at for at in limits if at < asked or (verb is not None and at < verb)}
    behind = set(limits) - before
    if before and behind:
        base = before
    elif dated and verb is None and not before:
        base = dated if dated != set(limits) else set()
    else:
        base = set()
    others = set(limits) - base
    # `were paid by card in May`: of all, or of those of May?
    unclear = (len(others) > 1 and (verb is None or bool(others & dated))) or not others
    made = [Item("base", item.value, item.told) if at in base else item for at, item in enumerate(items)]
    made = [item for item in made if item.tag != "copula"]
    return [*made, Item("apart")] if unclear else made


def _limits_dates(condition: Condition, links: TableLinks) -> bool:
    return all(links.profile(one).kind in ("date", "datetime") for one in columns_of(condition))
