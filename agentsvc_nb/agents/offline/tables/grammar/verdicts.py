"""Questions for yes or no: whether one has more than another, and whether there is any such row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from agentsvc_nb.agents.offline.tables.grammar.amounts import When, is_year
from agentsvc_nb.agents.offline.tables.grammar.comparisons import compared_amount
from agentsvc_nb.agents.offline.tables.grammar.implied import implied_columns
from agentsvc_nb.agents.offline.tables.grammar.limits import in_period
from agentsvc_nb.agents.offline.tables.grammar.readings import Parts, QuestionReading
from agentsvc_nb.agents.offline.tables.grammar.rules import Item, has, values
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.documents.plans.plan import Aggregate, Column, Compared, Condition, Criterion, OneOf

ANY: Final = "any"
_MORE: Final = ("more", "less", "implied_more")
_LIST: Final = ("cell", "and", "comma", "prep")
_Sides = tuple[Column | None, tuple[object, ...], tuple[object, ...]]
"""The column of the values that are compared, None for periods; and those of either side."""


def sides(items: Sequence[Item], links: TableLinks) -> list[Item]:
    """`did A have more revenue than B`, `was revenue higher in May than in June`: A and B together, apart from the
    rest; else the items as they are."""
    places = [at for at, item in enumerate(items) if item.tag == "than"]
    first = next((item.tag for item in items if item.tag not in ("wh", "comma")), "")
    apart = [one.tag for one, after in pairwise(items) if after.tag in _MORE]
    asks = (first == "yesno" and not has(items, "wh")) or apart[:1] in (["much"], ["count"], ["in_percent"])
    if not asks or len(places) != 1 or not any(item.tag in _MORE for item in items[: places[0]]):
        return list(items)
    before, after = _named(items[first == "yesno" : places[0]]), list(items[places[0] + 1 :])
    right, rest = _first_named(after)
    left = _matching(before, right)
    if not right or not left or _is_also(rest, right):
        return list(items)
    found = _of(left, right)
    kept = [item for item in before if not any(item is one for one in left)]
    while kept and kept[-1].tag in ("and", "comma", "prep"):
        kept.pop()
    return [Item("sides", found), *kept, *rest] if found else list(items)


def _named(items: Sequence[Item]) -> list[Item]:
    return [_as_period(item) for item in items]


def _as_period(item: Item) -> Item:
    return Item("when", When(year=int(item.value))) if item.tag == "number" and is_year(item.value) else item


def _first_named(items: Sequence[Item]) -> tuple[list[Item], list[Item]]:
    """The period or the values right behind `than`, and what follows."""
    items = _named(items)
    while items and items[0].tag == "prep":
        items = items[1:]
    if items and items[0].tag == "when":
        return items[:1], items[1:]
    column = items[0].value[0] if items and items[0].tag == "cell" else None
    of = [item.tag in _LIST and (item.tag != "cell" or item.value[0] == column) for item in items]
    end = of.index(False) if False in of else len(items)
    while end and items[end - 1].tag != "cell":
        end -= 1
    return [item for item in items[:end] if item.tag == "cell"], items[end:]


def _matching(before: Sequence[Item], right: Sequence[Item]) -> list[Item]:
    """What is compared with it: of the same column, or a period, too."""
    if not right:
        return []
    if right[0].tag == "when":
        found = [item for item in before if item.tag == "when"]
        return found if len(found) == 1 else []
    return [item for item in before if item.tag == "cell" and item.value[0] == right[0].value[0]]


def _is_also(rest: Sequence[Item], right: Sequence[Item]) -> bool:
    """Whether what is compared is named once more: then it is not known which belongs where."""
    if right[0].tag == "when":
        return has(rest, "when")
    return any(item.tag == "cell" and item.value[0] == right[0].value[0] for item in rest)


def _of(left: Sequence[Item], right: Sequence[Item]) -> _Sides | None:
    if right[0].tag == "when":
        return None, (left[0].value,), (right[0].value,)
    one, two = (tuple(dict.fromkeys(item.value[1] for item in some)) for some in (left, right))
    return (right[0].value[0], one, two) if set(one).isdisjoint(two) else None


def compared(parts: Parts) -> QuestionReading | None:
    """Whether the first has more than the second."""
    [(column, left, right)] = values(parts.core, "sides")
    [how] = [item for item in parts.core if item.tag in _MORE]
    beside = has(parts.core, "op") and (has(parts.core, "measure") or set(values(parts.core, "op")) != {"sum"})
    if parts.groups or beside:
        return None
    made = [_condition(column, side, parts) for side in (left, right)]
    amount = _amount(how, column, parts)
    if amount is None or any(one is None for one in made):
        return None
    one, two = (replace(amount, where=where) for where in made)
    if has(parts.core, "in_percent"):
        return QuestionReading(parts.plan(Compared("change", one, two)), absolute=True)
    if has(parts.core, "much") or has(parts.core, "count"):
        return QuestionReading(parts.plan(Compared("difference", one, two)), absolute=True)
    more = how.tag == "more" or str(how.value).endswith("desc")
    return QuestionReading(parts.plan(Compared("difference", one, two)), verdict=">" if more else "<")


def _condition(column: Column | None, side: Sequence[object], parts: Parts) -> Condition | None:
    if column is None:
        return in_period(parts.links, side[0])
    texts = tuple(str(one) for one in side)
    return Criterion(column, "=", texts[0]) if len(texts) == 1 else OneOf(column, texts)


def _amount(how: Item, of: Column | None, parts: Parts) -> Aggregate | None:
    if how.tag != "implied_more":
        return compared_amount(of, parts)
    which, _, direction = str(how.value).partition(" ")
    found = implied_columns(which, parts.links, direction == "desc")
    named = values(parts.core, "column")
    if which == "rows":
        return Aggregate("count") if not named and not has(parts.core, "measure") else None
    if len(found) != 1 or (named and named != found) or has(parts.core, "measure"):
        return None
    return compared_amount(of, replace(parts, core=[Item("column", found[0])]))


def exists(parts: Parts) -> QuestionReading | None:
    """`are there any orders from Spain`."""
    if values(parts.core, "yesno") != [ANY] or not parts.conditions or parts.groups:
        return None
    named = values(parts.core, "column")
    if named and not parts.links.is_key(parts.links.profile(named[0])):
        return None
    return QuestionReading(parts.plan(Aggregate("count")), verdict=">")
