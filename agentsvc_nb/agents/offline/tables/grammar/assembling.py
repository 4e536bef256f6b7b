"""From conditions, groups and measures to a plan: what is left of a question must be one of a few forms."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from agentsvc_nb.agents.offline.tables.grammar.comparisons import along, difference, share
from agentsvc_nb.agents.offline.tables.grammar.items import Item
from agentsvc_nb.agents.offline.tables.grammar.readings import Parts, QuestionReading, focus
from agentsvc_nb.agents.offline.tables.grammar.rules import has, pattern, values
from agentsvc_nb.agents.offline.tables.grammar.superlatives import implied, most_rows, superlative, top
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.formats.plans.conditions import Column, Condition, Criterion, OneOf, column_of
from agentsvc_nb.formats.plans.plan import Aggregate, Group
from agentsvc_nb.formats.plans.roles import is_identifier


def assembled(items: Sequence[Item], links: TableLinks) -> QuestionReading | None:
    """The reading; None if some item has no place in it."""
    parts = Parts(links, list(items))
    parts.conditions = values(items, "cond")
    parts.groups = values(items, "group")
    parts.core = [item for item in items if item.tag not in ("cond", "group")]
    if len(parts.groups) > 2 or _contradicts(parts.conditions):
        return None
    if has(parts.core, "only") and parts.conditions:
        parts.core = [item for item in parts.core if item.tag != "only"]
    return _formed(parts) or _without_row_names(parts) or _without_all(parts)


def _without_all(parts: Parts) -> QuestionReading | None:
    """`total revenue of all stores`."""
    columns = [after for before, after in pairwise(parts.core) if before.tag == "all" and after.tag == "column"]
    if any(parts.links.profile(item.value).kind != "text" for item in columns):
        return None
    parts.core = [item for item in parts.core if item.tag != "all" and not any(item is one for one in columns)]
    return _formed(parts) if columns and any(item.tag in ("column", "measure") for item in parts.core) else None


def _without_row_names(parts: Parts) -> QuestionReading | None:
    """`average revenue of orders from Germany`: the orders are only the rows."""
    links = parts.links
    names = [
        one
        for before, one in pairwise(parts.core)
        if before.tag != "wh" and (one.tag == "rows" or (one.tag == "column" and _names_rows(one.value, links)))
    ]
    if not parts.conditions or len(names) != 1:
        return None
    parts.core = [item for item in parts.core if item is not names[0]]
    return _formed(parts) if any(item.tag in ("column", "measure") for item in parts.core) else None


def _names_rows(column: Column, links: TableLinks) -> bool:
    return is_identifier(links.profile(column), links.table)


def _formed(parts: Parts) -> QuestionReading | None:
    text = "".join(f"{item.tag} " for item in parts.core)
    for form, make in _FORMS:
        if form.fullmatch(text) and (made := make(parts)) is not None:
            return made
    return None


def set_apart(items: Sequence[Item]) -> list[Item]:
    """Conditions and groups behind all other items, without an `and` that only joins such."""
    aside = ("cond", "group")
    kept = []
    for at, item in enumerate(items):
        near = [items[place].tag for place in (at - 1, at + 1) if 0 <= place < len(items)]
        if item.tag not in aside and not (item.tag == "and" and any(tag in aside for tag in near)):
            kept.append(item)
    return [*kept, *(item for item in items if item.tag in aside)]


def _contradicts(conditions: Sequence[Condition]) -> bool:
    """Whether two of them want different values of one column."""
    equal = [column_of(one.left) if isinstance(one, Criterion) else column_of(one.subject)
             for one in dict.fromkeys(conditions)
             if (isinstance(one, Criterion) and one.operator == "=") or isinstance(one, OneOf)]  # fmt: skip
    return len(equal) != len(set(equal))


# The forms.

_Make = Callable[[Parts], QuestionReading | None]


def _measures(parts: Parts) -> QuestionReading | None:
    """The measures; a mean for each row's own name is that of the rows (`average revenue per order`)."""
    [found] = values(parts.core, "measure")
    links = parts.links
    by_row = len(parts.groups) == 1 and is_identifier(links.profile(parts.groups[0].column), links.table)
    if by_row and all(isinstance(one, Aggregate) and one.operation == "mean" for one in found):
        return QuestionReading(parts.plan(*found, groups=[]))
    return QuestionReading(parts.plan(*found))


def _count(parts: Parts) -> QuestionReading | None:
    if not parts.conditions and not parts.groups:
        return None
    if not has(parts.core, "rows") and parts.links.named(*_AMOUNTS):
        return None  # `how many tents`: pieces, or rows
    return QuestionReading(parts.plan(Aggregate("count")))


_KINDS: Final = frozenset(
    ("category", "type", "kind", "class", "genre", "region", "channel", "segment", "department", "language", "brand",
     "kategorie", "typ", "art", "abteilung", "kanal", "categorie", "canal", "categoria", "tipo")
)  # fmt: skip
"""Nouns of which a question counts the different ones."""
_AMOUNTS: Final = ("unit", "quantity", "qty", "piece", "amount", "menge", "stuck", "anzahl", "quantite", "cantidad")


def _count_of(parts: Parts) -> QuestionReading | None:
    """`how many customers`: rows, if each has another; else different ones."""
    column = values(parts.core, "column")[-1]
    profile = parts.links.profile(column)
    if "" in values(parts.core, "rows"):
        return QuestionReading(parts.plan(Aggregate("count")))
    if parts.links.is_measure(profile):
        return QuestionReading(parts.plan(select=(column,))) if _one_row(parts) else None
    if profile.kind == "number" and not parts.links.is_key(profile):
        return None
    if parts.links.is_key(profile):
        return QuestionReading(parts.plan(Aggregate("count", column) if profile.empty else Aggregate("count")))
    few = 2 * profile.distinct <= parts.links.table.rows or not _KINDS.isdisjoint(parts.links.headers[column.name])
    if profile.kind != "text" or not few or parts.links.is_list(profile):
        return None  # `how many teams`: different ones, or rows
    return QuestionReading(parts.plan(Aggregate("distinct", column)))


def _column(parts: Parts) -> QuestionReading | None:
    """`revenue in March`, `the price of X`, `which city is X in`."""
    column = values(parts.core, "column")[0]
    links, profile = parts.links, parts.links.profile(column)
    if parts.groups:
        if links.is_key(profile) and not links.is_measure(profile) and not has(parts.core, "wh"):
            return QuestionReading(parts.plan(Aggregate("count")))
        if not links.adds_up(profile):
            return None
        return QuestionReading(parts.plan(Aggregate("sum", column)))
    if not parts.conditions:
        lists = any(word == "list" for word in values(parts.core, "wh")) or not has(parts.core, "wh")
        if profile.kind == "text" and lists and not links.is_key(profile):
            return QuestionReading(parts.plan(groups=[Group(column)]))
        return QuestionReading(parts.plan(Aggregate("sum", column))) if links.adds_up(profile) and not lists else None
    if _one_row(parts):
        return QuestionReading(parts.plan(select=(column,)))
    if links.adds_up(profile):
        return QuestionReading(parts.plan(Aggregate("sum", column)))
    if links.is_key(profile) and not links.is_measure(profile):
        return QuestionReading(parts.plan(select=(column,)))
    return QuestionReading(parts.plan(groups=[Group(column)]))


def _much(parts: Parts) -> QuestionReading | None:
    """`how much is the salary of X`."""
    return _column(parts) if _one_row(parts) and not parts.groups else None


def _one_row(parts: Parts) -> bool:
    """Whether the conditions are met by one row at most."""
    own = parts.conditions
    return any(
        isinstance(one, Criterion) and one.operator == "=" and isinstance(one.left, Column)
        and not isinstance(one.right, Column) and parts.links.is_key(parts.links.profile(one.left))
        for one in own
    )  # fmt: skip


def _asked(parts: Parts) -> QuestionReading | None:
    """`who had 5 wins`, `when was X published`."""
    column = focus(parts)
    if column is None or not parts.conditions or parts.groups:
        return None
    return QuestionReading(parts.plan(groups=[Group(column)]))


def _columns(parts: Parts) -> QuestionReading | None:
    """`list product and price of X`: a look-up of several columns."""
    found = tuple(values(parts.core, "column"))
    if parts.groups or not parts.conditions or len(set(found)) != len(found):
        return None
    return QuestionReading(parts.plan(select=found))


_FORMS: Final[tuple[tuple[re.Pattern[str], _Make], ...]] = tuple(
    (pattern(written), make)
    for written, make in (
        ("wh* much? measure", _measures),
        ("wh* much column", _much),
        ("wh* count rows?", _count),
        ("wh* count column rows?", _count_of),
        ("wh* count column", _count_of),
        ("wh* column count_after", _count_of),
        ("wh* column", _column),
        ("wh+", _asked),
        ("wh* column (and column)+", _columns),
        ("wh* period? column? number? sup|most|more|less column|measure", superlative),
        ("wh* number? column? sup|most|more|less column|measure", superlative),
        ("wh* number column sup|most column|measure", superlative),
        ("wh* column column sup|most|more|less", superlative),
        ("wh* period? column|measure sup", superlative),
        ("yesno column? more|less|sup|most column", superlative),
        ("yesno column more|less", superlative),
        ("yesno column? implied_more column?", implied),
        ("wh* period|column most rows", most_rows),
        ("wh* number? implied column*", implied),
        ("wh* number? column implied column?", implied),
        ("wh* implied|implied_more", implied),
        ("wh* column implied_more", implied),
        ("wh* top|bottom number? column|period ordered column|measure", top),
        ("wh* top|bottom number? column|period ordered_by|measure", top),
        ("wh* number top|bottom column|period ordered column|measure", top),
        ("wh* number top|bottom column|period ordered_by|measure", top),
        ("wh* share op? column|measure? rows? share?", share),
        ("wh* column|measure share", share),
        ("wh* share rows", share),
        ("wh* along op? column|measure to_before?", along),
        ("wh* column to_before? along to_before?", along),
        ("wh* difference column", difference),
        ("wh* difference pair column", difference),
        ("wh* column difference", difference),
        ("wh* count more|less column|rows pair", difference),
        ("wh* much more|less column pair", difference),
    )
)
