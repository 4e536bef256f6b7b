"""Readings of superlatives: the first of rows or groups by something."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from typing import Final, cast

from agentsvc_nb.agents.offline.tables.grammar.implied import OF_PERIODS, SCORES, SUMMED, goods, implied_columns
from agentsvc_nb.agents.offline.tables.grammar.phrases import aggregate, grouped, makes_groups
from agentsvc_nb.agents.offline.tables.grammar.readings import (
    LIMIT_MAX,
    Parts,
    QuestionReading,
    either,
    focus,
    period_asked,
)
from agentsvc_nb.agents.offline.tables.grammar.rules import Item, has, values
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.formats.plans.checks import Code
from agentsvc_nb.formats.plans.plan import Aggregate, Column, Condition, Empty, Group, Measure, Not, OneOf, Order
from agentsvc_nb.formats.plans.profiles import ColumnProfile
from agentsvc_nb.formats.plans.roles import is_identifier


def superlative(parts: Parts) -> QuestionReading | None:
    """`which channel had the highest revenue`, `who has the most points`, `the highest price for each channel`."""
    sup = next(item for item in parts.core if item.tag in _SUPERLATIVES)
    parts = _paired(parts)
    if (sup.tag in ("more", "less") or has(parts.core, "yesno")) and not either(parts):
        return None
    if (has(parts.core, "much") and sup.tag != "sup") or not set(values(parts.core, "op")) <= {"sum"}:
        return None
    summed = has(parts.core, "op")
    descending = sup.value == "desc" or sup.tag == "more"
    named, measured = _named_and_measured(parts, sup)
    if is_value := _asks_for_value(parts):
        named = []
    if measured is None or len(named) > 1 or (summed and not _sums(measured, parts)):
        return None
    if sup.tag == "sup" and isinstance(measured, Column) and _is_numbering(measured, parts):
        return None  # the largest order is that of the largest amount, and not of the highest number
    at = parts.core.index(sup)
    if has(parts.core[at:], "number"):
        return None
    group = period_asked(parts.core[:at], parts) or period_asked(parts.core[at:], parts)
    if group is None and has(parts.core, "period"):
        return None  # `in which month`, where several columns have some
    first = parts.core[0]
    asks = sup.tag != "sup" or has(parts.core, "yesno") or first.tag == "number"
    asks = asks or (first.tag == "wh" and first.value != "list")
    asks = asks or first.tag == "rows" or (first.tag == "wh" and has(parts.core[1:at], "rows"))
    if group is None and not named and asks and not is_value and (column := focus(parts) or _row_names(parts)):
        named = [column]
    how_many = _how_many(parts)
    if not 1 <= how_many <= LIMIT_MAX or (group is not None and named):
        return None
    if group is None and not named and not is_value and _asks_for_rows(parts):
        return None  # `which match had the biggest crowd`, where no column names a match
    if group is None and not named:
        return _extreme(measured, descending, parts) if sup.tag == "sup" and how_many == 1 else None
    if named and measured == parts.links.size() and measured not in values(parts.core, "column"):
        found = _row_or_extreme(named[0], cast(Column, measured), descending, how_many, parts)
    else:
        found = _first(named[0] if named else None, group, measured, sup.tag == "most", descending, how_many, parts)
    return _at_place(found, parts)


def _how_many(parts: Parts) -> int:
    """As many as are asked for; for the second the first two are needed."""
    return int((values(parts.core, "number", "ordinal") or [Decimal(1)])[0])


def _at_place(found: QuestionReading | None, parts: Parts) -> QuestionReading | None:
    """`the second highest`: the last of the first two."""
    if found is None or not has(parts.core, "ordinal"):
        return found
    nth = _how_many(parts)
    return replace(found, nth=nth) if nth > 1 and found.asked and found.plan.limit == nth else None


def _is_numbering(measured: Column, parts: Parts) -> bool:
    return is_identifier(parts.links.profile(measured), parts.links.table) and parts.links.size() is not None


def _asks_for_value(parts: Parts) -> bool:
    """`what is the highest price of products`: no product, but a price."""
    core = [item for item in parts.core if item.tag != "wh" or item.value != "place"]  # `where`
    before, after = core[:3], core[3:]
    tags = [item.tag for item in before]
    asked = tags in (["wh", "sup", "column"], ["wh", "measure", "sup"]) and before[0].value == "thing"
    return asked and bool(after) and all(item.tag in ("column", "rows") and item.of for item in after)


def _asks_for_rows(parts: Parts) -> bool:
    asked = (one for one, of in pairwise(parts.core) if one.tag == "wh" and of.tag == "rows")
    return any(one.value != "list" for one in asked)


_SUPERLATIVES: Final = ("sup", "most", "more", "less")


def _named_and_measured(parts: Parts, sup: Item) -> tuple[list[Column], object]:
    """What is looked for, and by what: a measure, or the column that follows the superlative, or the last of two."""
    at = parts.core.index(sup)
    before, after = (list(dict.fromkeys(values(some, "column"))) for some in (parts.core[:at], parts.core[at + 1 :]))
    if measures := values(parts.core, "measure"):
        return [*before, *after], measures[0] if _all_asked_for(after, parts) else None
    if after:
        of = after[0] if _all_asked_for(after[1:], parts) or _is_amount(after[0], parts) else None
        return [*before, *after[1:]], of
    if len(before) == 1 and either(parts) and sup.tag in ("more", "less"):
        return [], before[0]  # `did A or B weigh more`
    measures = [one for one in before if parts.links.is_measure(parts.links.profile(one))]
    sized = sup.tag == "sup" and any(of.tag == "rows" for of in parts.core[at + 1 : at + 2])
    if sized and len(before) < 2 and not after and (size := parts.links.size()):
        return before, size  # `the largest order`
    alone = len(before) == 1 and ((sup.tag == "sup" and measures) or focus(parts))  # `le prix le plus élevé`
    return before[:-1], before[-1] if len(before) == 2 or alone else None


def _is_amount(column: Column, parts: Parts) -> bool:
    """`the highest revenue products`: an amount is followed by what it is of."""
    return parts.links.adds_up(parts.links.profile(column))


def _all_asked_for(columns: list[Column], parts: Parts) -> bool:
    """Whether a question word is right before each column."""
    return set(columns) <= {of.value for one, of in pairwise(parts.core) if one.tag == "wh" and of.tag == "column"}


def _sums(measured: object, parts: Parts) -> bool:
    """Whether `in total` says nothing else than what is computed anyhow."""
    if not isinstance(measured, Column):
        return False
    named = [one for one in values(parts.core, "column") if one != measured]
    is_of_groups = len(named) == 1 and not parts.links.is_key(parts.links.profile(named[0]))
    return is_of_groups and parts.links.adds_up(parts.links.profile(measured))


def _row_names(parts: Parts) -> Column | None:
    """What tells rows apart, if the question is for one of them."""
    asked = has(parts.core, "rows") and any(has(parts.core, tag) for tag in ("wh", "top", "bottom", "number"))
    asked = asked or has(parts.core[:1], "rows")
    if asked and "period" in values(parts.core, "rows"):
        return parts.links.row_dates()
    called = "noun" in values(parts.core, "rows")
    return (parts.links.label(named=called) or parts.links.identifier()) if asked else None


def _paired(parts: Parts) -> Parts:
    """`A or B`, of which one is asked for, as a condition."""
    pairs = values(parts.core, "pair")
    chosen = [OneOf(column, (one, two)) for column, one, two in pairs]
    return replace(parts, core=[one for one in parts.core if one.tag not in ("pair", "or")],
                   conditions=[*parts.conditions, *chosen])  # fmt: skip


def _extreme(measured: object, descending: bool, parts: Parts) -> QuestionReading | None:
    if not isinstance(measured, Column) or "person" in values(parts.core, "wh"):
        return None  # `who was hired last` asks for no day
    if is_identifier(parts.links.profile(measured), parts.links.table) or has(parts.core[:1], "rows"):
        return None  # `the order with the highest price` asks for an order
    made = aggregate("max" if descending else "min", measured, parts.links)
    return QuestionReading(parts.plan(made)) if made else None


def _first(
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


def most_rows(parts: Parts) -> QuestionReading | None:
    """`which channel appears most often`, `the most common reason`."""
    parts = _paired(parts)
    named, most = values(parts.core, "column"), values(parts.core, "most", "busy") or ["desc"]
    if has(parts.core, "most") and any(parts.links.adds_up(parts.links.profile(one)) for one in named):
        return None  # `most red cards in a match` are not the commonest number of them
    if has(parts.core, "busy") and parts.links.named(*_CROWDS):
        return None  # where most people came, or most rows are
    group = period_asked(parts.core, parts)
    if not named and group is None and (column := focus(parts)):
        named = [column]
    if (len(named) == 1) == (group is not None) or (has(parts.core, "yesno") and not either(parts)):
        return None
    if named and parts.links.is_key(parts.links.profile(named[0])):
        return None  # each has one row
    measured = (Aggregate("count"),)
    parts.conditions = [*parts.conditions, *_filled(named, parts)]
    return _first(named[0] if named else None, group, measured, True, most[0] == "desc", 1, parts)


_CROWDS: Final = (
    "visitor",
    "attendance",
    "passenger",
    "guest",
    "traffic",
    "attendee",
    "spectator",
    "footfall",
    "visit",
)


def _filled(named: list[Column], parts: Parts) -> list[Condition]:
    """That there is a value: the commonest is never none."""
    return [Not(Empty(one)) for one in named if parts.links.profile(one).empty]


def implied(parts: Parts) -> QuestionReading | None:
    """`the cheapest product`, `who is the oldest`: the superlative says of which column."""
    item = next(item for item in parts.core if item.tag in ("implied", "implied_more"))
    which, _, direction = item.value.partition(" ")
    parts = _paired(parts)
    if item.tag == "implied_more" and not either(parts):
        return None
    links, named = parts.links, values(parts.core, "column")
    if set(values(parts.core, "op")) - {"mean"}:
        return None
    found = implied_columns(which, links, direction == "desc")
    if which == "age" and not found:
        found = [links.column(one.name) for one in links.named("birth", "born") if one.kind != "text"]
        direction = "asc" if direction == "desc" else "desc"
    explicit = [one for one in named if one in found]
    subjects = [one for one in named if one not in explicit and not _only_names_rows(one, parts)]
    if len(explicit) > 1 or len(subjects) > 1 or (not explicit and len(found) != 1):
        return None
    column = explicit[0] if explicit else found[0]
    by_rows = parts.conditions or has(parts.core, "rows")
    subject = subjects[0] if subjects else focus(parts) or (links.label() if by_rows else None)
    if subject == column:
        subject = None
    how_many = _how_many(parts)
    if not 1 <= how_many <= LIMIT_MAX:
        return None
    if subject is None and which == "quantity":
        subject = goods(links)
    if subject is None and "period" in values(parts.core, "rows") and (days := links.row_dates()):
        subject = days
    if subject is None and how_many > 1:
        subject = _row_names(parts)
    if subject is None and (group := period_asked(parts.core, parts)):
        which = "mean" if has(parts.core, "op") else which
        return _at_place(_first_period(group, column, which, direction == "desc", how_many, parts), parts)
    if subject is None:
        if has(parts.core, "op"):
            return None
        alone = how_many == 1 and (explicit or (has(parts.core, "wh") and named))
        return _extreme(column, direction == "desc", parts) if alone else None
    if has(parts.core, "op"):
        mean = aggregate("mean", column, links)
        first = _first(subject, None, (mean,), True, direction == "desc", how_many, parts) if mean else None
    elif which in SUMMED:
        first = _first(subject, None, column, True, direction == "desc", how_many, parts)
    else:
        first = _row_or_extreme(subject, column, direction == "desc", how_many, parts)
    return _at_place(first, parts)


def _first_period(
    group: Group, column: Column, which: str, descending: bool, limit: int, parts: Parts
) -> QuestionReading | None:
    """`the wettest month` by its sum, `the hottest month` by its highest."""
    operation = "mean" if which == "mean" else "sum" if which in SUMMED else "max" if descending else "min"
    made = aggregate(operation, column, parts.links) if which in (*OF_PERIODS, "mean") else None
    return _first(None, group, (made,), True, descending, limit, parts) if made else None


def _only_names_rows(column: Column, parts: Parts) -> bool:
    identifies = is_identifier(parts.links.profile(column), parts.links.table)
    return (
        identifies
        and has(parts.core, "implied")
        and parts.core[0].tag != "wh"
        and len(values(parts.core, "column")) > 1
    )


def _row_or_extreme(
    subject: Column, column: Column, descending: bool, limit: int, parts: Parts
) -> QuestionReading | None:
    links = parts.links
    if parts.groups or links.profile(column).kind == "text":
        return None
    if links.is_key(links.profile(subject)):
        order = (Order(1, descending),)
        select = (links.name_beside(subject), column)
        return QuestionReading(parts.plan(select=select, order=order, limit=limit), (0,), settled=_SAID)
    mean = not SCORES.isdisjoint(links.headers[column.name])
    made = aggregate("mean" if mean else "max" if descending else "min", column, links)
    if made is None:
        return None
    plan = parts.plan(made, groups=[grouped(subject, links)], order=(Order(1, descending),), limit=limit)
    return QuestionReading(plan, (0,), settled=_SAID)


_SAID: Final[tuple[Code, ...]] = ("date_ordered",)


def top(parts: Parts) -> QuestionReading | None:
    """`top 3 products by revenue`, `which class comes first by average age`, `the first date`."""
    descending = not has(parts.core, "bottom")
    limit = _how_many(parts)
    columns, measured = values(parts.core, "column"), values(parts.core, "measure", "ordered_by")
    by = [at for at, item in enumerate(parts.core) if item.tag in ("ordered", "by")]
    if not by and not has(parts.core, "ordered_by"):
        return _first_day(columns, parts) if limit == 1 and not has(parts.core, "ordinal") else None
    if not measured and (after := values(parts.core[by[0] :], "column")):
        columns, measured = [one for one in columns if one != after[0]], after[:1]
    group = period_asked(parts.core, parts)
    if not columns and group is None and (column := focus(parts) or _row_names(parts)):
        columns = [column]
    if len(measured) != 1 or (len(columns) == 1) == (group is not None) or not 1 <= limit <= LIMIT_MAX:
        return None
    # `third by trips`: by how many there are.
    counts = any(item.plural and item.value == measured[0] for item in parts.core if item.tag == "column")
    counts = counts and is_identifier(parts.links.profile(measured[0]), parts.links.table)
    of = columns[0] if columns else None
    return _at_place(_first(of, group, measured[0], counts, descending, limit, parts), parts)


def _first_day(columns: list[Column], parts: Parts) -> QuestionReading | None:
    """The earliest or the latest of a column of dates."""
    [which] = values(parts.core, "top", "bottom")
    dates = parts.links.main_dates()
    if not columns and values(parts.core, "wh") == ["time"] and has(parts.core, "rows") and len(dates) == 1:
        columns = [parts.links.column(dates[0].name)]
    if which not in ("first", "last") or len(columns) != 1 or parts.links.profile(columns[0]).kind == "number":
        return None
    if "person" in values(parts.core, "wh"):  # `who was hired last`
        name, order = parts.links.label(), (Order(1, which == "last"),)
        if name is None or name == columns[0]:
            return None
        return QuestionReading(parts.plan(select=(name, columns[0]), order=order, limit=1), (0,), settled=_SAID)
    made = aggregate("min" if which == "first" else "max", columns[0], parts.links)
    return QuestionReading(parts.plan(made)) if made else None
