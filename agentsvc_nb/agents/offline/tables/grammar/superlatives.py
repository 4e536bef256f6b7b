"""Readings of superlatives: the first of rows or groups by something."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Final, cast

from agentsvc_nb.agents.offline.tables.grammar.firsts import (
    SAID,
    at_place,
    extreme,
    first_of,
    how_many,
    paired,
    row_or_extreme,
)
from agentsvc_nb.agents.offline.tables.grammar.phrases import aggregate
from agentsvc_nb.agents.offline.tables.grammar.readings import (
    LIMIT_MAX,
    Parts,
    QuestionReading,
    either,
    focus,
    period_asked,
)
from agentsvc_nb.agents.offline.tables.grammar.rules import Item, has, values
from agentsvc_nb.documents.plans.plan import Aggregate, Column, Condition, Empty, Group, Not, Order
from agentsvc_nb.documents.plans.roles import is_identifier


def superlative(parts: Parts) -> QuestionReading | None:
    """`which channel had the highest revenue`, `who has the most points`, `the highest price for each channel`."""
    sup = next(item for item in parts.core if item.tag in _SUPERLATIVES)
    parts = paired(parts)
    of_two = sup.tag in ("more", "less") and _is_one_of_two(sup, parts)
    if (sup.tag in ("more", "less") or has(parts.core, "yesno")) and not (either(parts) or of_two):
        return None
    if (has(parts.core, "much") and sup.tag != "sup") or not set(values(parts.core, "op")) <= {"sum"}:
        return None
    summed = has(parts.core, "op")
    descending = sup.value == "desc" or sup.tag == "more"
    named, measured = _named_and_measured(parts, sup)
    if sup.tag == "most" and isinstance(measured, Column) and not _is_several(measured, parts):
        return None  # `the most that any team won`
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
    if has(parts.core, "in_one"):
        return _most_in_one(sup, group, parts)
    first = parts.core[0]
    asks = sup.tag != "sup" or has(parts.core, "yesno") or first.tag == "number"
    asks = asks or (first.tag == "wh" and first.value != "list")
    asks = asks or first.tag == "rows" or (first.tag == "wh" and has(parts.core[1:at], "rows"))
    if group is None and not named and asks and not is_value and (column := focus(parts) or row_names(parts)):
        named = [column]
    limit = how_many(parts)
    if not 1 <= limit <= LIMIT_MAX or (group is not None and named):
        return None
    if group is None and not named and not is_value and _asks_for_rows(parts):
        return None  # `which match had the biggest crowd`, where no column names a match
    if group is None and not named:
        return extreme(measured, descending, parts) if sup.tag == "sup" and limit == 1 else None
    if named and measured == parts.links.size() and measured not in values(parts.core, "column"):
        found = row_or_extreme(named[0], cast(Column, measured), descending, limit, parts)
    else:
        found = first_of(named[0] if named else None, group, measured, sup.tag == "most", descending, limit, parts)
    return at_place(found, parts)


def _is_one_of_two(sup: Item, parts: Parts) -> bool:
    """`which site had more rain`, where there are two sites."""
    amounts = values(parts.core[parts.core.index(sup) :], "column")
    if not all(parts.links.adds_up(parts.links.profile(one)) for one in amounts):
        return False  # `more humidity`: on average, or at most
    asked = [of.value for one, of in pairwise(parts.core) if one == Item("wh", "thing") and of.tag == "column"]
    profiles = [parts.links.profile(one) for one in asked]
    return len(profiles) == 1 and profiles[0].kind == "text" and (profiles[0].distinct, profiles[0].empty) == (2, 0)


def _most_in_one(sup: Item, group: Group | None, parts: Parts) -> QuestionReading | None:
    """`the greatest number of wins in a year`: that number, and not the year. `the highest total in a month` may be
    one row's."""
    at = next(at for at, item in enumerate(parts.core) if item.tag == "in_one")
    measured, of = (values(some, "column") for some in (parts.core[:at], parts.core[at:]))
    rows = has(parts.core[at:], "rows")
    tags = {item.tag for item in parts.core} - {"wh", "column", "period", "in_one", "count", "rows"}
    if tags != {sup.tag} or len(measured) != 1 or len(of) + (group is not None) + rows != 1 or not _asks_what(parts):
        return None
    if rows or (of and parts.links.is_key(parts.links.profile(of[0]))):
        return extreme(measured[0], sup.value == "desc", parts)
    if sup.tag != "most":
        return None
    found = first_of(of[0] if of else None, group, measured[0], True, sup.value == "desc", 1, parts)
    return replace(found, asked=(1,)) if found else None


def _asks_what(parts: Parts) -> bool:
    """Whether the number is asked for: `what was`, or nothing at all."""
    return set(values(parts.core, "wh")) <= {"thing"} and parts.core[0].tag != "column"


def _is_several(counted: Column, parts: Parts) -> bool:
    """Whether a column of texts is named in the plural, so that `most` may be of how many there are."""
    if parts.links.language.code != "en" or parts.links.profile(counted).kind != "text":
        return True
    plural = any(item.plural for item in parts.core if item.tag == "column" and item.value == counted)
    return plural or counted.name.endswith("s") or either(parts)


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
    if sup.tag == "most" and before and parts.links.profile(before[-1]).kind == "text" and not either(parts):
        return before, None  # `which team of which driver won the least` counts no teams
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


def row_names(parts: Parts) -> Column | None:
    """What tells rows apart, if the question is for one of them."""
    asked = has(parts.core, "rows") and any(has(parts.core, tag) for tag in ("wh", "top", "bottom", "number"))
    asked = asked or has(parts.core[:1], "rows")
    if asked and "period" in values(parts.core, "rows"):
        return parts.links.row_dates()
    called = "noun" in values(parts.core, "rows")
    return (parts.links.label(named=called) or parts.links.identifier()) if asked else None


def most_rows(parts: Parts) -> QuestionReading | None:
    """`which channel appears most often`, `the most common reason`."""
    parts = paired(parts)
    named, most = values(parts.core, "column"), values(parts.core, "most", "busy") or ["desc"]
    counted = any(one.tag == "most" and of.tag == "column" and parts.links.profile(of.value).kind == "number"
                  for one, of in pairwise(parts.core))  # fmt: skip
    if counted or (has(parts.core, "most") and any(parts.links.adds_up(parts.links.profile(one)) for one in named)):
        return None  # `most red cards in a match` are not the commonest number of them
    if has(parts.core, "busy") and parts.links.named(*_CROWDS):
        return None  # where most people came, or most rows are
    group = period_asked(parts.core, parts)
    if group is None and has(parts.core, "period"):
        return None
    if not named and group is None and (column := focus(parts)):
        named = [column]
    if (len(named) == 1) == (group is not None) or (has(parts.core, "yesno") and not either(parts)):
        return None
    if named and parts.links.is_key(parts.links.profile(named[0])):
        return None  # each has one row
    measured = (Aggregate("count"),)
    parts.conditions = [*parts.conditions, *_filled(named, parts)]
    return first_of(named[0] if named else None, group, measured, True, most[0] == "desc", 1, parts)


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


def top(parts: Parts) -> QuestionReading | None:
    """`top 3 products by revenue`, `which class comes first by average age`, `the first date`."""
    descending = not has(parts.core, "bottom") and "asc" not in values(parts.core, "sup")
    limit = how_many(parts)
    columns, measured = values(parts.core, "column"), values(parts.core, "measure", "ordered_by")
    by = [at for at, item in enumerate(parts.core) if item.tag in ("ordered", "by")]
    if not by and not has(parts.core, "ordered_by"):
        return _first_day(columns, parts) if limit == 1 and not has(parts.core, "ordinal") else None
    if not measured and (after := values(parts.core[by[0] :], "column")):
        columns, measured = [one for one in columns if one != after[0]], after[:1]
    if has(parts.core, "sup") and not _is_of_kinds(columns, measured, parts):
        return None  # `the highest salaries by department`
    group = period_asked(parts.core, parts)
    if not columns and group is None and (column := focus(parts) or row_names(parts)):
        columns = [column]
    if len(measured) != 1 or (len(columns) == 1) == (group is not None) or not 1 <= limit <= LIMIT_MAX:
        return None
    # `third by trips`: by how many there are.
    counts = any(item.plural and item.value == measured[0] for item in parts.core if item.tag == "column")
    counts = counts and is_identifier(parts.links.profile(measured[0]), parts.links.table)
    of = columns[0] if columns else None
    return at_place(first_of(of, group, measured[0], counts, descending, limit, parts), parts)


def _is_of_kinds(columns: list[Column], measured: list[object], parts: Parts) -> bool:
    """Whether something that is called otherwise is ordered by an amount: `the strongest categories by revenue`."""
    links = parts.links
    amounts = [one for one in measured if not isinstance(one, Column) or links.adds_up(links.profile(one))]
    several = any(item.plural for item in parts.core if item.tag == "column" and item.value in columns)
    if several and not has(parts.core, "number"):
        return False  # how many of them
    return len(columns) == 1 and links.profile(columns[0]).kind == "text" and len(amounts) == len(measured) == 1


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
        return QuestionReading(parts.plan(select=(name, columns[0]), order=order, limit=1), (0,), settled=SAID)
    made = aggregate("min" if which == "first" else "max", columns[0], parts.links)
    return QuestionReading(parts.plan(made)) if made else None
