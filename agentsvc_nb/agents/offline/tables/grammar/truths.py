"""Columns of yes and no: conditions that a row says yes, and what counts such rows."""

from __future__ import annotations

from collections.abc import Sequence

from agentsvc_nb.agents.offline.tables.grammar.negations import negated
from agentsvc_nb.agents.offline.tables.grammar.rules import Item, Made, values
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.documents.plans.plan import Criterion


def true(items: Sequence[Item], links: TableLinks) -> Made:
    """`smoker is yes`."""
    column = items[0].value
    if links.profile(column).kind != "boolean":
        return None
    return negated(items, Criterion(column, "=", items[-1].value == "yes"))


def equal(items: Sequence[Item], links: TableLinks) -> Made:
    """`active = yes`, and in Spanish `activo = no`."""
    column, sign, said = items
    if links.profile(column.value).kind != "boolean" or sign.value != "=":
        return None
    return Item("cond", Criterion(column.value, "=", said.tag == "truth" and said.value == "yes"))


def yes(items: Sequence[Item], links: TableLinks) -> Made:
    """`returned orders`, `not paid`: a column of yes and no."""
    column = values(items, "column")[0]
    if links.profile(column).kind != "boolean":
        return None
    return negated(items, Criterion(column, "=", True))


def quota(items: Sequence[Item], links: TableLinks) -> Made:
    """`Retourenquote`, `return rate`: of all rows, those that a column of yes and no says it of."""
    made = yes(items[:1], links)
    return [Item("share"), made] if isinstance(made, Item) else None


def noun_counted(items: Sequence[Item], links: TableLinks) -> Made:
    """`how many returns`, where a column of yes and no says of each row whether it is one."""
    if not items[1].plural or items[0] == Item("much", "high"):
        return None  # `wie hoch sind die Retouren` asks for an amount
    made = yes(items[1:], links)
    counts = Item("count", "") if items[0].tag == "much" else items[0]  # `wie viel Retouren`
    return [counts, Item("rows", ""), made] if isinstance(made, Item) else None
