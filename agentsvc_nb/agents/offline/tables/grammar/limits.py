"""From items to conditions: values, bounds and columns with them become comparisons. Each
negation and comparator is taken by the one condition beside it; what is left over is no condition."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final, get_args

from agentsvc_nb.agents.offline.tables.grammar.amounts import When, between, compared, first_ones, is_year, numbered
from agentsvc_nb.agents.offline.tables.grammar.negations import (
    emptiness,
    filled,
    is_never_done,
    negated,
    neither,
    run_out,
    undone,
    unfilled,
    without,
)
from agentsvc_nb.agents.offline.tables.grammar.rules import Item, Made, Rule, has, rule, values
from agentsvc_nb.agents.offline.tables.grammar.truths import equal, noun_counted, quota, true, yes
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.agents.offline.tables.question import is_form_of_any
from agentsvc_nb.documents.plans.plan import (
    AllOf,
    AnyOf,
    Between,
    Column,
    Condition,
    Contains,
    Criterion,
    DatePart,
    Not,
    OneOf,
    Operator,
    columns_of,
)
from agentsvc_nb.documents.plans.profiles import ColumnProfile
from agentsvc_nb.documents.plans.roles import is_identifier, is_rank

_OPERATORS: Final = get_args(Operator)


def _cells(items: Sequence[Item], _: TableLinks) -> Made:
    """Values beside each other: those of one column together, with an `or` between columns."""
    made: list[Item] = []
    joint = ""
    for item in items:
        if item.tag != "cell":
            joint = item.tag if item.tag != "comma" else joint
            continue
        column, text = item.value
        last = made[-1] if made and made[-1].tag == "cells" else None
        if last is not None and last.value[0] == column:
            texts = tuple(dict.fromkeys((*last.value[1], text)))
            made[-1] = Item("cells", (column, texts), (*last.told, *item.told))
        else:
            made += [Item("or")] if joint == "or" else []
            made.append(Item("cells", (column, (text,)), item.told))
        joint = ""
    return made


def _pair(items: Sequence[Item], _: TableLinks) -> Made:
    """`A than B`, two values to be compared."""
    (column, one), (other, two) = values(items, "cell")
    return Item("pair", (column, one, two)) if column == other and one != two else None


def _ends(items: Sequence[Item], _: TableLinks) -> Made:
    """`between A and B`, as differences have it."""
    cells = [item for item in items if item.tag == "cell"]
    columns = {one for one, _ in values(items, "cell")} | set(values(items, "column"))
    return [cells[0], Item("and"), cells[1]] if len(columns) == 1 else None


def _bounded_twice(items: Sequence[Item], links: TableLinks) -> Made:
    """`fewer than 150 clicks but at least one`, `a total of at least 100 and at most 200`."""
    named = [item for item in items if item.tag == "column"]
    bounds = [item for item in items if item.tag == "bound"]
    kept = []
    if len(named) == 2:  # `orders with at least 2 but fewer than 4 units`; `shipping over 5 and at most 4 units`
        kept = named[:1] if is_identifier(links.profile(named[0].value), links.table) else []
        named = [named[-1], named[-1]] if kept else named
    pairs = zip(named * 2 if len(named) == 1 else named, bounds, strict=False)
    if any(is_identifier(links.profile(one.value), links.table) for one in named):
        return None
    made = [_limited([column, bound], links) for column, bound in pairs]
    found = [one for one in made if isinstance(one, Item)]
    return [*kept, *found] if len(found) == len(bounds) else None


def _more_than(items: Sequence[Item], links: TableLinks) -> Made:
    """`with fewer wins than losses`: row by row."""
    left, right = items[1], items[3]
    return _columns_compared([left, Item("cmp", ">" if items[0].tag == "more" else "<"), right], links)


def _in(items: Sequence[Item], links: TableLinks) -> Made:
    """The condition of values, with their column if that is named, and it is theirs."""
    column, texts = values(items, "cells")[0]
    if set(values(items, "cmp")) - {"="}:
        return None
    # A value of another column than the one that is named is no condition of either.
    if any(named != column for named in values(items, "column")):
        return None
    condition = Criterion(column, "=", texts[0]) if len(texts) == 1 else OneOf(column, texts)
    return negated(items, condition)


def _prefixed(items: Sequence[Item], _: TableLinks) -> Made:
    return items[1:]


def _shipped(items: Sequence[Item], links: TableLinks) -> Made:
    """`shipped to Austria`, where that is the `Ship country`, and `shipped` a status besides."""
    (_, verb), (column, _) = items[0].value, items[-1].value
    return items[-1] if is_form_of_any(verb, links.headers[column.name]) else None


def _columns_compared(items: Sequence[Item], links: TableLinks) -> Made:
    """`size larger than tip`: row by row."""
    left, right = values(items, "column")
    kinds = {(links.profile(one).kind, links.profile(one).unit) for one in (left, right)}
    if left == right or len(kinds) > 1 or not {kind for kind, _ in kinds} <= {"number", "date", "datetime"}:
        return None
    if any(is_rank(links.profile(one)) or is_identifier(links.profile(one), links.table) for one in (left, right)):
        return None
    return negated(items, Criterion(left, values(items, "cmp", "time")[0], right))


def _kept(items: Sequence[Item], links: TableLinks) -> Made:
    """`which product other than A`: a condition, and what is asked for."""
    made = (_in if has(items, "cells") else _limited)(items[1:], links)
    return [items[0], next(item for item in items if item.tag == "column"), made] if isinstance(made, Item) else None


def _of_verb(items: Sequence[Item], links: TableLinks) -> Made:
    """`ont duré plus de 24 heures`: the verb says which column is limited."""
    operator, value = values(items, "bound")[0]
    made = [_against(column, operator, value, links) for column in values(items, "tie")[0]]
    found = [one for one in made if one is not None]
    return negated(items, found[0]) if len(found) == 1 else None


def _against(column: Column, operator: str, value: Any, links: TableLinks) -> Condition | None:
    profile = links.profile(column)
    if is_rank(profile) and operator != "=":
        return None  # the first is the highest
    if is_identifier(profile, links.table) and not isinstance(value, Decimal):
        return None
    if operator == "between":
        low, high = value[0], value[1]
        if profile in links.years() and isinstance(low, Decimal) and not (is_year(low) and is_year(high)):
            return None
        if len(value) == 3 and profile.unit != value[2]:
            return None
        if isinstance(low, When):
            return between(column, low, high, links)
        if profile.kind in ("date", "datetime") and is_year(low) and is_year(high):
            return between(column, When(year=int(low)), When(year=int(high)), links)
        if is_year(low) and is_year(high) and _may_be_when(profile, links):
            return None
        return Between(column, low, high) if profile.kind == "number" and low <= high else None
    if isinstance(value, tuple):
        value, unit = value
        if profile.unit != unit:
            return None
    assert operator in _OPERATORS
    if is_year(value) and _may_be_when(profile, links) and (operator == "=" or is_identifier(profile, links.table)):
        return None
    if isinstance(value, When):
        return compared(column, operator, value, links)  # type: ignore[arg-type]
    if profile.kind in ("date", "datetime") and is_year(value):
        if not profile.smallest[:4] <= str(int(value)) <= profile.largest[:4]:
            return None
        return compared(column, operator, When(year=int(value)), links)  # type: ignore[arg-type]
    return Criterion(column, operator, value) if profile.kind == "number" else None  # type: ignore[arg-type]


def _may_be_when(profile: ColumnProfile, links: TableLinks) -> bool:
    """Whether a number like 2024 beside this column is rather a year that stands in another column."""
    return profile.kind == "number" and profile not in links.years() and bool(links.dates() or links.years())


def _limited(items: Sequence[Item], links: TableLinks) -> Made:
    operator, value = values(items, "bound")[0]
    column = values(items, "column")[0]
    if is_never_done(items, column, links):
        return None
    several = any(item.plural for item in items)
    if (items[-1].tag == "column" or several) and is_identifier(links.profile(column), links.table):
        return None  # `more than 5 orders` are counted
    return negated(items, _against(column, operator, value, links))


def _equal(items: Sequence[Item], links: TableLinks) -> Made:
    column, value = values(items, "column")[0], values(items, "number", "measured", "ordinal", "when")[0]
    if is_never_done(items, column, links):
        return None
    return negated(items, _against(column, "=", value, links))


def _time_columns(links: TableLinks, when: Any) -> list[Column]:
    """Where a period may stand that has no column with it: the dates, or the years if it is one."""
    dates = links.main_dates()
    if not dates and (not isinstance(when, When) or when == When(year=when.year)):
        dates = links.years()
    return [links.column(one.name) for one in dates]


def in_period(links: TableLinks, when: Any) -> Condition | None:
    """The rows of a period, by the one column that may have it."""
    columns = _time_columns(links, when if isinstance(when, When) else Decimal(when))
    found = [one for column in columns if (one := _against(column, "=", when, links))]
    return found[0] if len(found) == 1 else None


def _dated(items: Sequence[Item], links: TableLinks) -> Made:
    """A period without a column's name, which is in the one column that has such."""
    operator, value = values(items, "bound")[0] if has(items, "bound") else ("=", items[-1].value)
    if not has(items, "bound") and has(items, "number") and not is_year(value):
        return None
    probe = value[0] if isinstance(value, tuple) else value
    if not isinstance(probe, When) and not is_year(probe):
        return None
    found = [one for column in _time_columns(links, probe) if (one := _against(column, operator, value, links))]
    if len(found) != 1:
        return None
    if len(links.dates()) > 1:
        [told] = [one for one in links.main_dates() if links.column(one.name) in columns_of(found[0])]
        items = [*items, Item("told", told=(f"{DATES_TOLD} {told.name}.",))]
        return Item("cond", Not(found[0]) if has(items, "not") else found[0], items[-1].told)
    return negated(items, found[0])


DATES_TOLD: Final = "Dates are those of the column"


def _of_money(items: Sequence[Item], links: TableLinks) -> Made:
    """`invoices over 1,000 €`: of the one column of amounts, or of their total."""
    operator, value = values(items, "bound")[0]
    unit = value[-1] if isinstance(value, tuple) and isinstance(value[-1], str) else ""
    found = [one for one in links.numbers() if one.unit == unit and links.adds_up(one)] if unit in _MONEY else []
    found = [one for one in found if one in links.named(*_TOTALS)] if len(found) > 1 else found
    if len(found) != 1:
        return None
    made = negated(items, _against(links.column(found[0].name), operator, value, links))
    told = (f"The amount was read as the column {found[0].name}.",)
    return [items[0], Item("cond", made.value, told)] if isinstance(made, Item) else None


_MONEY: Final = ("€", "$", "£")
_TOTALS: Final = ("total", "amount")


def _any_dated(items: Sequence[Item], links: TableLinks) -> Made:
    several = values(items, "whens", "numbers")[0]
    if not has(items, "column") and not all(isinstance(one, When) or is_year(one) for one in several):
        return None
    columns = values(items, "column") or _time_columns(links, several[0])
    if len(columns) != 1:
        return None
    made = [_against(columns[0], "=", one, links) for one in several]
    found = tuple(one for one in made if one is not None)
    return negated(items, AnyOf(found)) if len(found) == len(several) else None


def _any_dated_before(items: Sequence[Item], links: TableLinks) -> Made:
    """`9 or 10 points`; but a year before a column is a year."""
    years = all(isinstance(one, When) or is_year(one) for one in items[0].value)
    return None if years and links.profile(items[1].value) not in links.years() else _any_dated(items[::-1], links)


def _containing(items: Sequence[Item], links: TableLinks) -> Made:
    """A quoted text is in a column of texts: the one that is named."""
    columns = values(items, "column")
    if len(columns) != 1 or links.profile(columns[0]).kind != "text":
        return None
    text = next(item.value if item.tag == "text" else item.value[1] for item in items if item.tag in ("text", "cell"))
    return negated(items, Contains(columns[0], text))


def _weekend(items: Sequence[Item], links: TableLinks) -> Made:
    dates = links.main_dates()
    if len(dates) != 1:
        return None
    return negated(items, Criterion(DatePart(links.column(dates[0].name), "weekday"), ">=", Decimal(6)))


def _without_rows(items: Sequence[Item], _: TableLinks) -> Made:
    """`ignore orders without a customer`."""
    condition = items[2].value
    return Item("cond", condition.condition if isinstance(condition, Not) else Not(condition))


def _or(items: Sequence[Item], _: TableLinks) -> Made:
    if isinstance(items[0].value, Not) and columns_of(items[0].value) != columns_of(items[2].value):
        return None  # `not from A or over 500`: is the second left out, too?
    return Item("cond", AnyOf((items[0].value, items[2].value)))


# Rules that need more come before those that need less: the first that fits takes the items.
CONDITIONS: Final[tuple[Rule, ...]] = (
    rule("column quote", quota),
    # `how many paid tents` may be pieces, and is left to other rules.
    Rule(re.compile(r"(?<!\S)(?:count|much|most) column (?!cells?|column|rows|not|no|prep|quote)"), noun_counted),
    rule("top|bottom number column", first_ones),
    rule("among column", run_out),
    rule("ordinal column", numbered),
    rule("column not? contains text|cell", _containing),
    rule("cell than|versus cell", _pair),
    rule("between column? cell and column? cell", _ends),
    rule("cell prep cell", _shipped),
    rule("prep cell", _prefixed),
    rule("cell (and|or|comma+ cell)*", _cells),
    rule("wh column not cells", _kept),
    rule("wh cells column", _kept),
    rule("wh column not? bound", _kept),
    rule("not column cmp? cells", _in),
    rule("column not? cmp? cells", _in),
    rule("not? cells column", _in),
    rule("not? cells", _in),
    rule("not column bound", _limited),
    rule("column not? bound", _limited, ahead="and? column bound"),
    rule("column bound and? bound column", _bounded_twice),
    rule("bound and? bound column", _bounded_twice),
    rule("column bound and? bound", _bounded_twice),
    rule("bound column and? bound", _bounded_twice),
    rule("more|less column than column", _more_than),
    rule("having column", filled),
    rule("column cmp truth|not", equal),
    rule("column not? truth", true),
    rule("having cond", _prefixed),
    rule("neither column or column", neither),
    rule("column not? cmp|time column", _columns_compared),
    rule("tie not? bound", _of_verb),
    rule("not? bound tie", _of_verb),
    rule("not column number|measured|ordinal|when", _equal),
    rule("not? bound column", _limited),
    rule("column not? bound", _limited),
    rule("column not? number|measured|ordinal|when", _equal),
    rule("column not? whens|numbers", _any_dated),
    rule("whens|numbers column", _any_dated_before),
    rule("not? whens|numbers", _any_dated),
    rule("not? bound", _dated),
    rule("rows not? bound", _of_money),
    rule("not? when|number", _dated),
    rule("not? weekend", _weekend),
    rule("no column filled", unfilled),
    rule("no column", without),
    rule("empty|filled column", emptiness),
    rule("column not? empty|filled", emptiness),
    rule("not column", undone),
    Rule(re.compile(r"(?<!\S)(?<!wh )(?<!by )(?<!per )(?<!distinct )(?:not )?column "), yes),
    rule("not rows cond", _without_rows),
    rule("cond or cond", _or),
    rule("only cond", lambda items, _: items[1]),
    rule("cond only", lambda items, _: items[0]),
)


def joined(conditions: Sequence[Condition]) -> Condition | None:
    """All of them; None for none."""
    once = tuple(dict.fromkeys(conditions))
    if not once:
        return None
    return once[0] if len(once) == 1 else AllOf(once)
