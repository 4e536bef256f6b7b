"""What a share is among: `what percentage of web orders were returned` is of web orders, not of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agentsvc_nb.agents.offline.tables.grammar.rules import Item, has
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.formats.plans.plan import Condition, columns_of

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
    dated = {at for at in limits if _is_dated(items[at].value, links)}
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


def _is_dated(condition: Condition, links: TableLinks) -> bool:
    return all(links.profile(one).kind in ("date", "datetime") for one in columns_of(condition))
