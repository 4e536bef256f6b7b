"""From conditions, groups and measures to a plan: what is left of a question must fill the slots of one of a few
forms."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from agentsvc_nb.agents.offline.tables.grammar.cheapest import implied
from agentsvc_nb.agents.offline.tables.grammar.comparisons import (
    along,
    between_periods,
    difference,
    extent,
    share,
    share_of_each,
)
from agentsvc_nb.agents.offline.tables.grammar.having import having, periods_counted
from agentsvc_nb.agents.offline.tables.grammar.limits import DATES_TOLD
from agentsvc_nb.agents.offline.tables.grammar.phrases import aggregate
from agentsvc_nb.agents.offline.tables.grammar.readings import (
    Parts,
    QuestionReading,
    asked,
    column,
    columns,
    count,
    count_of,
    listed,
    rows_alone,
)
from agentsvc_nb.agents.offline.tables.grammar.restated import period_of_row, said_once
from agentsvc_nb.agents.offline.tables.grammar.rules import Item, has, values
from agentsvc_nb.agents.offline.tables.grammar.superlatives import most_rows, superlative, top
from agentsvc_nb.agents.offline.tables.grammar.verdicts import compared, exists
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.documents.plans.plan import (
    Aggregate,
    Column,
    Condition,
    Criterion,
    Empty,
    Group,
    Measure,
    Not,
    OneOf,
    Order,
    aggregates,
    column_of,
    columns_of,
    columns_of_operand,
    leaves,
)
from agentsvc_nb.documents.plans.roles import is_identifier

_ASIDE: Final = frozenset({"cond", "group", "base", "comma", "among", "kinds"})
_SLOT: Final = re.compile(r"(?P<tags>[\w|]+)(?P<times>[?*+]?)")
_MANY: Final = 99


@dataclass(slots=True)
class _Slot:
    """Items that a question may have, of these tags, and how many."""

    tags: frozenset[str]
    least: int
    most: int


def _form(written: str) -> tuple[_Slot, ...]:
    """`share column|measure? rows*`: each slot's tags, once, or as often as its mark says."""
    return tuple(
        _Slot(frozenset(found["tags"].split("|")), int(times in ("", "+")), _MANY if times in ("*", "+") else 1)
        for found in _SLOT.finditer(written)
        for times in (found["times"],)
    )


def _fits(slots: Sequence[_Slot], items: Sequence[Item]) -> bool:
    """Whether each item has a slot, and each slot what it needs."""
    taken = [0] * len(slots)
    for item in items:
        # The order of the items does not count: it is another in each language (decision 0043).
        at = next((at for at, one in enumerate(slots) if item.tag in one.tags and taken[at] < one.most), None)
        if at is None:
            return False
        taken[at] += 1
    return all(count >= one.least for count, one in zip(taken, slots, strict=True))


def assembled(items: Sequence[Item], links: TableLinks) -> QuestionReading | None:
    """The reading; None if some item has no place in it."""
    parts = Parts(links, [item for item in items if item.tag not in _ASIDE], kinds=values(items, "kinds"))
    parts.conditions, parts.groups, parts.base = (values(items, tag) for tag in ("cond", "group", "base"))
    if _may_be_of_another_date(items, links) or len(parts.groups) > 2 or _contradicts([*parts.conditions, *parts.base]):
        return None
    if has(parts.core, "only") and parts.conditions:
        parts.core = [item for item in parts.core if item.tag != "only"]
    if "noun" in values(parts.core, "rows") and any(_is_of_one_row(one, links) for one in leaves(parts.where)):
        return None  # `how many goals has Ann`, who has one row, counts none
    named = _computed(parts.core)
    amounts = [one for one in named if not is_identifier(links.profile(one), links.table)]
    if (
        has(parts.core, "much")
        and not has(parts.core, "share")
        and not any(links.profile(one).kind in ("number", "time") for one in amounts)
    ):
        return None  # `how much have we won per region` counts no rows
    units = {links.profile(one).unit for one in named} | {word for one in named for word in links.headers[one.name]}
    parts.core = [item for item in parts.core if item.tag != "unit" or item.value not in units]
    directions = values(parts.core, "direction")
    parts.core = [item for item in parts.core if item.tag != "direction"]
    parts.core = [_asked_by(item, parts) for item in parts.core]
    parts.core = said_once(parts.core)
    if not _tied(parts):
        return None
    parts.core = [item for item in parts.core if item.tag != "tie"]
    if not amounts and any(one.tag == "much" and of.tag == "rows" for one, of in pairwise(parts.core)):
        return None  # `combien de commandes` are counted
    if has(parts.core, "compare") and not _compares(parts):
        return None
    # A form that has a place for the noun of the rows comes first: there it is what is asked for.
    found = _formed(parts) or _without_row_names(parts)
    found = _each_counted(found, parts) if found else None
    return _ordered(found, directions) if found and directions else found


def _each_counted(found: QuestionReading, parts: Parts) -> QuestionReading:
    """`how many said yes, maybe and no`: each for itself, as all of them together limit nothing."""
    listed = [one for one in parts.conditions if isinstance(one, OneOf)]
    plan = found.plan
    if plan.measures != (Aggregate("count"),) or plan.groups or len(listed) != 1 or len(parts.conditions) > 1:
        return found
    of = column_of(listed[0].subject)
    is_all = len(listed[0].values) == parts.links.profile(of).distinct
    return replace(found, plan=replace(plan, groups=(Group(of),))) if is_all else found


def _computed(core: Sequence[Item]) -> list[Column]:
    """The columns that are named, and those of measures."""
    measures = (one for found in values(core, "measure") for one in found)
    operands = (columns_of_operand(one.operand) for one in aggregates(list(measures)))
    return [*values(core, "column"), *(column for columns in operands for column in columns)]


def _asked_by(item: Item, parts: Parts) -> Item:
    """`wann ist X eingetreten`: the day of the verb; `wer leitet X`: who does it."""
    kinds = {"time": "date", "person": "text"}
    asked = [kinds[word] for word in values(parts.core, "wh") if word in kinds] if item.tag == "tie" else []
    found = [one for one in item.value if parts.links.profile(one).kind in asked] if asked else []
    is_asked = len(found) == 1 and not has(parts.core, "column")
    return Item("column", found[0], item.told) if is_asked else item


def _tied(parts: Parts) -> bool:
    """Whether all verbs are of columns that the question is about: `paid` alone is a condition that nothing has."""
    used = {one for condition in (*parts.conditions, *parts.base) for one in columns_of(condition)}
    used |= {group.column for group in parts.groups} | set(values(parts.core, "column"))
    for one in (one for found in values(parts.core, "measure") for one in aggregates(found)):
        used |= {*columns_of_operand(one.operand), *columns_of(one.where)}
    return all(not used.isdisjoint(columns) for columns in values(parts.core, "tie"))


def _is_of_one_row(condition: Condition, links: TableLinks) -> bool:
    if not isinstance(condition, Criterion) or condition.operator != "=" or not isinstance(condition.right, str):
        return False
    return 10 * links.profile(column_of(condition.left)).distinct >= 8 * links.table.rows


def _ordered(found: QuestionReading, directions: Sequence[str]) -> QuestionReading | None:
    """`highest first`: groups in the order of their measure."""
    plan = found.plan
    if len(directions) > 1 or not plan.groups or len(plan.measures) != 1 or plan.limit is not None:
        return None
    return replace(found, plan=replace(plan, order=(Order(len(plan.groups), directions[0] == "desc"),)))


def _compares(parts: Parts) -> bool:
    """`compare the revenue of A and B`: each for itself."""
    chosen = [column_of(one.subject) for one in parts.conditions if isinstance(one, OneOf)]
    if len(chosen) != 1 or parts.groups:
        return False
    parts.core = [item for item in parts.core if item.tag != "compare"]
    parts.groups = [Group(chosen[0])]
    return True


def _without_row_names(parts: Parts) -> QuestionReading | None:
    """`average revenue of orders from Germany`: the orders are only the rows."""
    links = parts.links
    names = [
        item
        for at, item in enumerate(parts.core)
        if item.tag == "column" and (item in parts.kinds or _names_rows(item, links) or _stands_between(item, parts))
        and (not at or parts.core[at - 1].tag != "wh")
    ]  # fmt: skip
    if len(names) != 1 or not (parts.conditions or parts.groups):
        return None
    counted = [Item("rows", "title")] if parts.core[0].tag == "count" and parts.core[1] is names[0] else []
    parts.core = [one for item in parts.core for one in (counted if item is names[0] else [item])]
    return _formed(parts) if any(item.tag in ("column", "measure") for item in parts.core) else None


def _stands_between(item: Item, parts: Parts) -> bool:
    """`how many invoices went to customers in Berlin`: each invoice has one."""
    profile = parts.links.profile(item.value)
    counted = values(parts.core, "measure") == [(Aggregate("count"),)]
    return counted and item.plural and profile.kind == "text" and not profile.empty and bool(parts.conditions)


def _names_rows(item: Item, links: TableLinks) -> bool:
    """Whether the column is what the rows are: each has another, or most of them, which are named in the plural."""
    profile = links.profile(item.value)
    most = profile.kind == "text" and 2 * profile.distinct >= links.table.rows
    return is_identifier(profile, links.table) or (item.plural and most)


def _formed(parts: Parts) -> QuestionReading | None:
    for slots, make in _FORMS:
        if _fits(slots, parts.core) and (made := make(parts)) is not None:
            return made
    return None


def set_apart(items: Sequence[Item], links: TableLinks) -> list[Item]:
    """Conditions and groups behind all other items, without an `and` that only joins such. Of a share, the conditions
    of what it is a share among are its base."""
    aside = ("cond", "group", "base")
    kept, behind = [], []
    among = next((at for at, item in enumerate(items) if item.tag == "among"), None)
    asked = next((at for at, item in enumerate(items) if item.tag == "share"), None)
    for at, item in enumerate(items):
        near = [items[place].tag for place in (at - 1, at + 1) if 0 <= place < len(items)]
        if item.tag in aside:
            is_base = item.tag == "cond" and among is not None and asked is not None
            is_base = is_base and (among < at < asked if among < asked else at > among)  # type: ignore[operator]
            behind.append(Item("base", item.value, item.told) if is_base else item)
        elif not (item.tag == "and" and any(tag in aside for tag in near)):
            kept.append(item)
            if item.plural and at and _is_of_values(items[at - 1]) and links.profile(item.value).kind == "text":
                behind.append(Item("kinds", item))  # `search campaigns` are rows
    return [*kept, *behind]


def _is_of_values(item: Item) -> bool:
    found = list(leaves(item.value)) if item.tag == "cond" else []
    return bool(found) and all(
        isinstance(getattr(one, "right", ""), str) and not isinstance(one, Empty) for one in found
    )


def _may_be_of_another_date(items: Sequence[Item], links: TableLinks) -> bool:
    """`cancelled in 2025`, where several columns have dates: that of the row need not be the one meant."""
    conditions = [item for item in items if item.tag in ("cond", "base")]
    found = [one for item in conditions for one in leaves(item.value)]
    # What is left out was not done on the day that is named.
    met = [one for item in conditions if not isinstance(item.value, Not) for one in leaves(item.value)]
    done = any(isinstance(one, Criterion) and str(one.right).endswith("ed") for one in met)
    dates = {links.column(one.name) for one in links.dates()}
    dated = any(not dates.isdisjoint(columns_of(one)) for one in found)
    return done and (
        (dated and len(dates) > 1) or any(line.startswith(DATES_TOLD) for one in conditions for line in one.told)
    )


def _contradicts(conditions: Sequence[Condition]) -> bool:
    """Whether two of them want different values of one column."""
    equal = [column_of(one.left) if isinstance(one, Criterion) else column_of(one.subject)
             for one in dict.fromkeys(conditions)
             if (isinstance(one, Criterion) and one.operator == "=") or isinstance(one, OneOf)]  # fmt: skip
    return len(equal) != len(set(equal))


def _measures(parts: Parts) -> QuestionReading | None:
    """The measures; a mean for each row's own name is that of the rows (`average revenue per order`)."""
    [found] = values(parts.core, "measure")
    links = parts.links
    if any(_is_of_another_period(one, group, links) for one in aggregates(found) for group in parts.groups):
        return None
    if any(group.by not in ("", "weekday") for group in parts.groups) and any(_is_mean(one, links) for one in found):
        return None  # `average monthly revenue`: of the rows of each month, or of the months
    by_row = len(parts.groups) == 1 and is_identifier(links.profile(parts.groups[0].column), links.table)
    if by_row and all(isinstance(one, Aggregate) and one.operation in ("mean", "median") for one in found):
        return QuestionReading(parts.plan(*found, groups=[]))
    return QuestionReading(parts.plan(*found))


def _is_mean(measure: Measure, links: TableLinks) -> bool:
    """Whether it is the mean of what could be added up."""
    if not isinstance(measure, Aggregate) or measure.operation != "mean" or not isinstance(measure.operand, Column):
        return False
    return links.adds_up(links.profile(measure.operand))


def _is_of_another_period(measure: Aggregate, group: Group, links: TableLinks) -> bool:
    """`Jahresgehalt`, where the table has a `Monatsgehalt`: no column is that by year."""
    by = {
        which
        for column in columns_of_operand(measure.operand)
        for word in links.opened_headers[column.name]
        for one in (word, *links.language.compounds.get(word, "").split())
        for part, which in links.language.phrases.get((one,), ())
        if part in ("each", "period")
    }
    return group.by not in ("", "weekday") and bool(by) and group.by not in by


def _measured_apart(parts: Parts) -> QuestionReading | None:
    """`what is the average, over all orders, of revenue`."""
    [operation], [of] = values(parts.core, "op"), values(parts.core, "column")
    made = aggregate(operation, of, parts.links)
    return QuestionReading(parts.plan(made)) if made else None


_Make = Callable[[Parts], QuestionReading | None]
_FORMS: Final[tuple[tuple[tuple[_Slot, ...], _Make], ...]] = tuple(
    (_form(written), make)
    for written, make in (
        ("wh* much? measure rows*", _measures),
        ("wh* count|count_after rows* op?", count),
        ("wh* count|count_after rows* column op?", count_of),
        ("wh* count? kept column? period? rows*", having),
        ("wh* count period rows*", periods_counted),
        ("wh* much? column rows*", column),
        ("wh+", asked),
        ("wh+ rows+", listed),
        ("wh+ period column? rows*", period_of_row),
        ("wh* distinct column rows*", listed),
        ("rows*", rows_alone),
        ("wh* op column rows*", _measured_apart),
        ("wh* column column+ and+", columns),
        ("wh* sides more|less|implied_more much|count|in_percent? op? column|measure? rows*", compared),
        ("yesno rows* column?", exists),
        ("wh* yesno? most column? period? rows+", most_rows),
        ("wh* commonest column rows*", most_rows),
        ("wh* busy column? period? rows*", most_rows),
        ("wh* yesno? much? op? period? column* number|ordinal? sup|most|more|less measure? rows* pair?", superlative),
        ("wh* sup|most column+ count? in_one period? rows?", superlative),
        ("wh* yesno? sup|top? number|ordinal? implied|implied_more column* period? op? rows* pair?", implied),
        ("wh* top|bottom number|ordinal? column* period? ordered|by? measure|ordered_by? rows*", top),
        ("wh* sup number|ordinal? column* ordered|by|ordered_by column? measure? rows*", top),
        ("wh* ordinal column* period? ordered|by? measure|ordered_by? rows*", top),
        ("wh* much? share op? column|measure? rows* count? in_percent?", share),
        ("wh* much? share column column in_percent?", share_of_each),
        ("wh* much? along along? op? column|measure|count? rows* to_before? in_percent?", along),
        ("wh* much? along periods op? column|measure|count? rows* in_percent? count?", between_periods),
        ("wh* much? difference periods op? column|measure|count? rows*", between_periods),
        ("wh* much? difference sup sup column and?", extent),
        ("wh* much? difference pair? column|measure? count? rows*", difference),
        ("wh* count|much more|less column|rows pair rows*", difference),
    )
)
