"""What a question leaves out or finds empty: `all but A`, `neither A nor B`, `(not the list price)`; `no discount`,
`not delivered`, `with a coupon`."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from agentsvc_nb.agents.offline.tables.grammar.amounts import is_year
from agentsvc_nb.agents.offline.tables.grammar.rules import Item, Made, has, values
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.documents.plans.plan import Column, Condition, Criterion, Empty, Not


def negated(items: Sequence[Item], condition: Condition | None) -> Made:
    """The condition, or that it is not met."""
    if condition is None:
        return None
    return Item("cond", Not(condition) if has(items, "not") else condition)


def without(items: Sequence[Item], links: TableLinks) -> Made:
    """`no discount`: where there is none, if empty cells alone can say so."""
    column = values(items, "column")[0]
    profile = links.profile(column)
    zero = profile.kind == "number" and profile.smallest and Decimal(profile.smallest) <= 0
    if profile.kind == "boolean":
        return Item("cond", Not(Criterion(column, "=", True)))
    if profile.empty and not zero:
        return Item("cond", Empty(column))
    return Item("cond", Criterion(column, "=", Decimal(0))) if zero and not profile.empty else None


def unfilled(items: Sequence[Item], links: TableLinks) -> Made:
    """`no reason filled in`."""
    column = items[1].value
    return Item("cond", Empty(column)) if links.profile(column).empty else None


def filled(items: Sequence[Item], links: TableLinks) -> Made:
    """`with a coupon`: where there is one."""
    column = items[1].value
    return Item("cond", Not(Empty(column))) if links.profile(column).empty else None


def neither(items: Sequence[Item], links: TableLinks) -> Made:
    made = [without([item], links) for item in items if item.tag == "column"]
    return [one for one in made if isinstance(one, Item)] if all(made) else None


def undone(items: Sequence[Item], links: TableLinks) -> Made:
    """`not delivered`, where there is no day of it."""
    column = items[1].value
    profile = links.profile(column)
    return Item("cond", Empty(column)) if profile.kind in ("date", "datetime") and profile.empty else None


def emptiness(items: Sequence[Item], _: TableLinks) -> Made:
    condition: Condition = Empty(values(items, "column")[0])
    return Item("cond", Not(condition) if has(items, "filled") != has(items, "not") else condition)


def run_out(items: Sequence[Item], links: TableLinks) -> Made:
    """`out of stock`: there is none left."""
    profile = links.profile(items[1].value)
    if items[0].value != "out" or items[1].plural or not links.adds_up(profile):
        return None
    none = profile.smallest and Decimal(profile.smallest) <= 0 and not profile.empty
    return Item("cond", Criterion(items[1].value, "=", Decimal(0))) if none else Item("apart")


def is_never_done(items: Sequence[Item], column: Column, links: TableLinks) -> bool:
    """`not shipped in May`, where some have no day of it: these were not shipped in May either."""
    profile = links.profile(column)
    return has(items, "not") and profile.kind in ("date", "datetime") and bool(profile.empty)


NEITHER: Final = "neither"
ASIDE: Final = "aside"
UNCOUNTED: Final = "uncounted"
"""Which `not` an item is."""
_COMPARED: Final = ("bound", "cmp", "post", "time", "number", "when", "not", "only")


def negations(items: Sequence[Item], links: TableLinks) -> list[Item]:
    return _asides(_neither(_exceptions(items, links), links), links)


def _exceptions(items: Sequence[Item], links: TableLinks) -> list[Item]:
    """`all categories but A` leaves A out; between two conditions `but` is `and`."""
    made: list[Item] = []
    for at, item in enumerate(items):
        if item.tag != "but":
            made.append(item)
            continue
        before, after = [*made[-2:]], items[at + 1 : at + 2]
        if not made:
            continue  # `but which channel had most`
        if after and after[0].tag == "cell":
            of = [one.tag == "column" and one.value == after[0].value[0] for one in before]
            every = any(one.tag in ("all", "each", "by", "count", "not") for one in before)
            made.append(Item("not") if (of and of[-1]) or every else item)
        elif after and after[0].tag == "when" and before and before[-1].tag in ("period", "each"):
            made.append(Item("not"))
        else:
            made.append(Item("and") if after and after[0].tag in _COMPARED else item)
    return made


def _neither(items: Sequence[Item], links: TableLinks) -> list[Item]:
    """`neither over 50 nor from A`: both are left out. Of values of one column a list does, and of two columns `none`
    does (`neither phone nor mail`)."""
    places = [at for at, item in enumerate(items) if item.tag == "not" and item.value == NEITHER]
    if not places:
        return [item for item in items if item.tag != "nor"]
    at = places[0]
    if any(item.tag == "not" for item in items[: max(at - 1, 0)]):
        return [Item("or") if place in places else item for place, item in enumerate(items)]  # `sans A ni B`
    items = [Item("or") if place in places[1:] else item for place, item in enumerate(items)]
    if at and items[at - 1].tag == "not":
        return _neither([*items[: at - 1], *items[at:]], links)  # `no vienen ni de A ni de B`
    end = next((place for place, item in enumerate(items) if item.tag in ("or", "nor") and place > at), None)
    if end is None:
        return list(items)
    first = [item for item in items[at + 1 : end] if item.tag != "prep"]
    second = [item for item in items[end + 1 :] if item.tag != "prep"][:1]
    if [item.tag for item in (*first, *second)] in (["cell", "cell"], ["column", "column"]) and _is_of_one(
        first, second
    ):
        return [Item("or") if item.tag == "nor" else item for item in items]
    return [*items[:at], Item("not"), *items[at + 1 : end], Item("and"), Item("not"), *items[end + 1 :]]


def _is_of_one(first: Sequence[Item], second: Sequence[Item]) -> bool:
    return first[0].tag == "column" or first[0].value[0] == second[0].value[0]


def _asides(items: Sequence[Item], links: TableLinks) -> list[Item]:
    """`the highest wind, not counting gusts`, `unit price (not the list price)`: a column that is told apart from the
    one that is meant needs no part."""
    columns = [item.value for item in items if item.tag in ("column", "glossing")]
    made: list[Item] = []
    at = 0
    while at < len(items):
        behind = items[at + 1 : at + 2]
        # `the total, not counting shipping`, is without it: only of the highest nothing is taken away.
        extreme = has(items, "sup") or has(items, "implied") or not {"max", "min"}.isdisjoint(values(items, "op"))
        told = (ASIDE, UNCOUNTED) if extreme else (ASIDE,)
        aside = items[at].tag == "not" and items[at].value in told and bool(behind)
        if aside and _told_apart(behind[0], columns, items[at + 2 : at + 3], links):
            at += 2
        elif aside and not _is_condition(behind[0], links):
            return [*made, Item("apart"), *items[at + 1 :]]  # of nothing that is named: no reading
        else:
            made.append(items[at])
            at += 1
    return made


def _is_condition(item: Item, links: TableLinks) -> bool:
    """Whether what stands behind `(not` may limit the rows; a period may be outside of the brackets."""
    if item.tag in ("column", "glossing"):
        return links.profile(item.value).kind == "boolean"
    return item.tag not in ("when", "number", "period", "bound", "and", "or")


def _told_apart(item: Item, columns: Sequence[Column], after: Sequence[Item], links: TableLinks) -> bool:
    if item.tag not in ("column", "glossing") or columns.count(item.value) != 1:
        return False
    if after and after[0].tag in ("bound", "cmp", "post", "number", "truth", "empty", "filled", "than", "not"):
        return False  # `not units over 5`
    profile = links.profile(item.value)
    others = [one for one in map(links.profile, columns) if one.name != profile.name]
    # `not discounted` may say which rows are meant, where a discount is a number.
    done = any(line.split()[0].endswith(("ed", "ing")) for line in item.told)
    dated = profile.kind in ("date", "datetime") or profile in links.years()
    if done and not dated:
        return False
    if dated and (dates := links.main_dates()) and profile not in links.years():
        others += dates if len(dates) == 1 and dates[0].name != profile.name else []
    return (dated or profile.kind == "number") and any(one.kind == profile.kind for one in others)


def listed_periods(items: Sequence[Item], at: int, after: Item) -> bool:
    """Whether the comma at a place stands in a list of months or years: `June, July and August`."""
    before = items[at - 1] if at else Item("start")
    if before.tag == "when" and after.tag in ("when", "and", "or"):
        return True
    dated = at > 1 and items[at - 2].tag == "when"
    years = is_year(before.value) and is_year(after.value) if before.tag == after.tag == "number" else False
    return years and not dated
