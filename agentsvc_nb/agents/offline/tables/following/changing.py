"""A plan changed by words that go on from it: `by month`, `only 2025`, `the average`, `which was the best`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from agentsvc_nb.agents.offline.tables.columns import day_of
from agentsvc_nb.agents.offline.tables.following.narrowing import compared_column, narrowed, parts, year_of
from agentsvc_nb.agents.offline.tables.grammar.amounts import AMOUNTS, When, is_year
from agentsvc_nb.agents.offline.tables.grammar.assembling import set_apart
from agentsvc_nb.agents.offline.tables.grammar.limits import CONDITIONS, joined
from agentsvc_nb.agents.offline.tables.grammar.phrases import GROUPS, MEASURES, aggregate, grouped, period
from agentsvc_nb.agents.offline.tables.grammar.readings import LIMIT_MAX, QuestionReading
from agentsvc_nb.agents.offline.tables.grammar.rules import Item, has, pattern, reduced, values
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.documents.plans.plan import (
    Aggregate,
    Along,
    Column,
    Compared,
    Condition,
    Group,
    Measure,
    Order,
    Plan,
    aggregates,
    columns_of,
)

_LEVELS: Final = ("mean", "median", "quantile", "min", "max", "stddev")


@dataclass(frozen=True, slots=True)
class Change:
    """What the words say beside their items: `instead`, of the best or the worst (`judged`), the groups (`by`), and
    that they go on (`marked`)."""

    instead: bool = False
    judged: bool = False
    by: bool = False
    marked: bool = False


def changed(
    items: Sequence[Item], before: QuestionReading, links: TableLinks, change: Change
) -> list[QuestionReading] | None:
    """The question before with the items in it; several when they can mean each of them, and none when that is not
    clear. None when they are nothing that goes on from it."""
    made = _reduced(items, before.plan, links)
    if made is None:
        return None
    core = [item for item in made if item.tag not in ("cond", "group", "only")]
    # A noun of the rows beside a condition only says what it is a condition of.
    if has(made, "cond") and all(item.tag == "rows" for item in core):
        core = []  # `without returned orders`
    groups, conditions = values(made, "group"), values(made, "cond")
    change = replace(change, by=bool(groups) and set(before.plan.groups) <= set(groups))
    reading = _core(core, before, links, change)
    if not isinstance(reading, QuestionReading):
        return reading
    limited = [column for condition in conditions for column in columns_of(condition)]
    if len(limited) != len(set(limited)):
        return []  # `in Spain, in Austria`
    only = has(made, "only") or has(items, "only")
    for group in groups:
        if (next_reading := _with_group(reading, group, change.instead)) is None:
            return []
        reading = next_reading
    readings = [reading]
    for condition in conditions:
        readings = [after for one in readings for after in _with_condition(one, condition, only, change.instead)]
    return readings


# The items.


def _reduced(items: Sequence[Item], before: Plan, links: TableLinks) -> list[Item] | None:
    found = [item for item in items if item.tag != "comma"]
    where = parts(before.where)
    year = year_of(where) if len(links.main_dates()) == 1 else None
    found = reduced([_in_year(item, year) for item in reduced(found, AMOUNTS, links)], GROUPS, links)
    compared = _with_column(found, where, links)
    if compared is None:
        return None
    return reduced(set_apart(reduced(compared, CONDITIONS, links), links), MEASURES, links)


def _in_year(item: Item, year: int | None) -> Item:
    """A month without a year is of the year that was asked for before."""

    def filled(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(map(filled, value))
        if isinstance(value, When) and year and value.year is None and value.weekday is None:
            return replace(value, year=year)
        return value

    return Item(item.tag, filled(item.value), item.told) if item.tag in ("when", "whens", "bound") else item


def _with_column(items: list[Item], where: Sequence[Condition], links: TableLinks) -> list[Item] | None:
    """`above 100`: of the column that was compared before; None when a year may be meant."""
    tags = [item.tag for item in items if item.tag not in ("only", "and", "not")]
    compared = compared_column(where)
    if tags == ["number"] and compared is not None:
        at = next(place for place, item in enumerate(items) if item.tag == "number")
        number = items[at].value
        if _is_year(number, links):
            return None
        items = [
            *items[:at],
            Item("bound", (compared[1], number)) if compared[1] != "=" else items[at],
            *items[at + 1 :],
        ]
    elif tags != ["bound"] or not _is_number(values(items, "bound")[0][1]):
        return items
    elif compared is None or _is_year(values(items, "bound")[0][1], links):
        return None
    at = next(place for place, item in enumerate(items) if item.tag in ("bound", "number"))
    at -= at > 0 and items[at - 1].tag == "not"
    return [*items[:at], Item("column", compared[0]), *items[at:]]


def _is_number(value: object) -> bool:
    return isinstance(value, Decimal) or (isinstance(value, tuple) and any(isinstance(one, Decimal) for one in value))


def _is_year(value: object, links: TableLinks) -> bool:
    """Whether a number may be a year of the table's dates."""
    if not is_year(value):
        return False
    days = [day for one in links.dates() for day in (day_of(one.smallest), day_of(one.largest)) if day]
    return any(low.year <= value <= high.year for low, high in zip(days[::2], days[1::2], strict=False))


# What is asked.

_Readings = QuestionReading | list[QuestionReading] | None


def _core(core: Sequence[Item], before: QuestionReading, links: TableLinks, change: Change) -> _Readings:
    text = "".join(f"{item.tag} " for item in core)
    if not text:
        return before
    for form, make in _FORMS:
        if form.fullmatch(text):
            return make(core, before, links, change)
    return None


def _operation(core: Sequence[Item], before: QuestionReading, links: TableLinks, change: Change) -> _Readings:
    """`the average`: of the same column; of groups it may be that of their results."""
    plan, operation = before.plan, values(core, "op")[0]
    if len(plan.measures) != 1 or plan.limit is not None:
        return []
    one = plan.measures[0]
    if not isinstance(one, Aggregate) or not isinstance(one.operand, Column) or one.where is not None:
        return []
    if plan.groups and not change.by and operation == "sum" and one.operation == "sum":
        return replace(before, plan=replace(plan, groups=(), order=()), asked=())
    if plan.groups and not change.by and one.operation not in _LEVELS:
        return []
    made = aggregate(operation, one.operand, links)
    if made is None or one.operation in ("count", "distinct") or (made.operation == "sum" and not _adds_up(one, links)):
        return []
    return replace(before, plan=replace(plan, measures=(made,)), asked=())


def _adds_up(one: Aggregate, links: TableLinks) -> bool:
    return isinstance(one.operand, Column) and links.adds_up(links.profile(one.operand))


def _column(core: Sequence[Item], before: QuestionReading, links: TableLinks, _: Change) -> _Readings:
    """`the price`: looked up as what was before, or computed as it was."""
    plan, column = before.plan, values(core, "column")[0]
    if plan.limit is not None or column in columns_of(plan.where):
        return []
    if not plan.measures:
        shown = replace(plan, select=(column,)) if plan.select else replace(plan, groups=(Group(column),))
        return replace(before, plan=shown, asked=()) if len(plan.select or plan.groups) == 1 else []
    one = plan.measures[0]
    if len(plan.measures) > 1 or not isinstance(one, Aggregate) or one.where is not None:
        return []
    operation = one.operation if one.operation in _LEVELS else "sum"
    suits = links.adds_up(links.profile(column)) if operation == "sum" else links.is_measure(links.profile(column))
    made = aggregate(operation, column, links) if suits else None
    return replace(before, plan=replace(plan, measures=(replace(made, quantile=one.quantile),))) if made else []


def _ordered(core: Sequence[Item], before: QuestionReading, links: TableLinks, _: Change) -> _Readings:
    """`by revenue`: the first by something else."""
    plan, column = before.plan, values(core, "ordered_by")[0]
    if plan.limit is None or len(plan.measures) != 1 or not links.adds_up(links.profile(column)):
        return []
    return replace(before, plan=replace(plan, measures=(Aggregate("sum", column),)))


def _top(core: Sequence[Item], before: QuestionReading, links: TableLinks, change: Change) -> _Readings:
    """`the top 3`, `which of them was the highest`, `which month was the best`."""
    plan = before.plan
    end = next(item for item in core if item.tag in ENDS)
    descending = end.tag == "top" or end.value == "desc"
    limit = int((values(core, "number") or [Decimal(1)])[0])
    if len(plan.measures) != 1 or not 1 <= limit <= LIMIT_MAX or isinstance(plan.measures[0], Along):
        return []
    if change.judged and not _more_is_better(plan.measures[0], links):
        return []
    named = _named(core, links)
    if named is not None and not named.by and not plan.groups and not change.marked:
        return None  # `which country is the biggest?` may be asked of anything
    groups = plan.groups or ((named,) if named else ())
    if not groups and end.tag == "sup" and limit == 1:
        return _operation([Item("op", "max" if descending else "min")], before, links, change)
    if len(groups) != 1 or (named is not None and groups != (named,)):
        return []
    return replace(
        before,
        plan=replace(plan, groups=groups, order=(Order(1, descending),), limit=limit),
        asked=(0,),
        absolute=False,
    )


def _named(core: Sequence[Item], links: TableLinks) -> Group | None:
    for item in core:
        if item.tag == "column":
            return grouped(item.value, links)
        if item.tag == "period":
            return period(item.value, links)
    return None


def _more_is_better(measure: Measure, links: TableLinks) -> bool:
    """Whether the best is the highest: not of costs, of ratios of them, or of what nobody wants."""
    columns = [one.operand for one in aggregates([measure]) if isinstance(one.operand, Column)]
    words = {word for column in columns for word in links.headers.get(column.name, ())}
    return not isinstance(measure, Compared) and words.isdisjoint(_LESS_IS_BETTER) and bool(columns)


_LESS_IS_BETTER: Final = frozenset(
    ("cost", "costs", "price", "prices", "spend", "spent", "expense", "expenses", "fee", "fees", "tax", "discount",
     "refund", "refunds", "return", "returns", "complaints", "errors", "defects", "bugs", "delay", "delays", "duration",
     "time", "age", "rank", "position", "place", "churn", "loss", "losses", "cpc", "cpm", "cpa", "cpl", "bounces",
     "bounce", "weight", "days", "hours", "minutes", "seconds", "distance", "debt", "salary", "tickets",
     "cancellations", "kosten", "preis", "ausgaben", "rabatt", "dauer", "fehler", "retouren", "cout", "couts",
     "prix", "depenses", "coste", "costes", "precio", "gasto", "gastos")
)  # fmt: skip
"""Nouns of numbers of which nobody can say whether the best is the highest."""


def _share(_: Sequence[Item], before: QuestionReading, __: TableLinks, ___: Change) -> _Readings:
    plan = before.plan
    one = plan.measures[0] if len(plan.measures) == 1 else None
    if not plan.groups or plan.limit is not None or not isinstance(one, Aggregate) or one.where is not None:
        return []
    if one.operation not in ("sum", "count"):
        return []
    return replace(before, plan=replace(plan, measures=(Along("share", one),), order=()), asked=())


def _along(core: Sequence[Item], before: QuestionReading, __: TableLinks, ___: Change) -> _Readings:
    """`the growth`, of what was by month."""
    plan, how = before.plan, values(core, "along")[0]
    one = plan.measures[0] if len(plan.measures) == 1 else None
    if len(plan.groups) != 1 or plan.groups[0].by in ("", "weekday") or plan.limit is not None:
        return []
    if not isinstance(one, Aggregate) or one.where is not None or one.operation not in ("sum", "count"):
        return []
    return replace(before, plan=replace(plan, measures=(Along(how, one),), order=(Order(0),)), asked=())


def _count(_: Sequence[Item], before: QuestionReading, __: TableLinks, ___: Change) -> _Readings:
    plan = before.plan
    if plan.limit is not None or not plan.measures:
        return []
    return replace(before, plan=replace(plan, measures=(Aggregate("count"),), order=()), asked=(), absolute=False)


def _measured(core: Sequence[Item], before: QuestionReading, __: TableLinks, ___: Change) -> _Readings:
    """`the average per country`, with the groups named again."""
    plan = before.plan
    if plan.limit is not None or not plan.measures:
        return []
    return replace(before, plan=replace(plan, measures=values(core, "measure")[0], order=()), asked=(), absolute=False)


ENDS: Final = ("top", "bottom", "sup", "most")
_Make = Callable[[Sequence[Item], QuestionReading, TableLinks, Change], _Readings]
_FORMS: Final = tuple(
    (pattern(written), make)
    for written, make in (
        ("op", _operation),
        ("column", _column),
        ("ordered_by", _ordered),
        ("measure", _measured),
        ("wh* number? (column|period)? top|bottom|sup|most number?", _top),
        ("share", _share),
        ("count rows?", _count),
        ("along to_before?", _along),
    )
)


# Groups and conditions.


def _with_group(reading: QuestionReading, group: Group, instead: bool) -> QuestionReading | None:
    plan = reading.plan
    if not plan.measures or plan.limit is not None or group in plan.groups:
        return reading if group in plan.groups else None
    if any(isinstance(one, Along) or (isinstance(one, Compared) and one.operation != "ratio") for one in plan.measures):
        return None
    kept = () if instead else tuple(one for one in plan.groups if one.column != group.column)
    return replace(reading, plan=replace(plan, groups=(*kept, group), order=()), asked=()) if len(kept) < 2 else None


def _with_condition(reading: QuestionReading, condition: Condition, only: bool, instead: bool) -> list[QuestionReading]:
    plan, columns = reading.plan, set(columns_of(condition))
    if any(not columns.isdisjoint(columns_of(one.where)) for one in aggregates(plan.measures)):
        made = _of_share(plan, condition)
        return [replace(reading, plan=made)] if made else []
    among = plan.limit is not None and not columns.isdisjoint(group.column for group in plan.groups if not group.by)
    if among and not columns.isdisjoint(columns_of(plan.where)):
        return []  # `and C?` after the higher of A and B
    ways = narrowed(parts(plan.where), condition, only, instead)
    return [replace(reading, plan=replace(plan, where=joined(way))) for way in ways]


def _of_share(plan: Plan, condition: Condition) -> Plan | None:
    """The share of something else."""
    one = plan.measures[0]
    if len(plan.measures) > 1 or not isinstance(one, Compared) or one.operation != "percent" or one.right.where:
        return None
    ways = narrowed(parts(one.left.where), condition, only=False, instead=False)
    left = replace(one.left, where=joined(ways[0])) if len(ways) == 1 else None
    return replace(plan, measures=(replace(one, left=left),)) if left else None
