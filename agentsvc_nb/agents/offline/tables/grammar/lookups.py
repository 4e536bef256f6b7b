"""Readings of questions for rows: how many there are, and what stands in their columns."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.agents.offline.tables.grammar.readings import Parts, QuestionReading, focus
from agentsvc_nb.agents.offline.tables.grammar.rules import has, values
from agentsvc_nb.formats.plans.plan import (
    Aggregate,
    Column,
    Criterion,
    Empty,
    Group,
    OneOf,
    column_of,
    columns_of,
    leaves,
)
from agentsvc_nb.formats.plans.roles import is_currency, is_identifier, is_label

_KINDS: Final = frozenset(
    ("category", "type", "kind", "class", "genre", "region", "channel", "segment", "department", "language", "brand",
     "kategorie", "typ", "art", "abteilung", "kanal", "categorie", "canal", "categoria", "tipo")
)  # fmt: skip
"""Nouns of which a question counts the different ones."""
_ARTICLES: Final = frozenset(("product", "item", "article", "sku", "produkt", "artikel", "produit", "producto"))
_AMOUNTS: Final = ("unit", "quantity", "qty", "piece", "amount", "menge", "stuck", "anzahl", "quantite", "cantidad")


def count(parts: Parts) -> QuestionReading | None:
    if _in_a_currency(parts) or set(values(parts.core, "op")) - {"sum"}:
        return None
    alone = not (parts.conditions or parts.groups)
    if (
        alone
        and set(values(parts.core, "rows")) == {"noun"}
        and (values(parts.core, "count") != [""] or has(parts.core, "op"))
    ):
        return None  # `the number of losses`
    if parts.conditions and all(isinstance(one, Empty) for one in parts.conditions):
        return QuestionReading(parts.plan(Aggregate("count")))
    if not has(parts.core, "rows") and (not (parts.conditions or parts.groups) or parts.links.named(*_AMOUNTS)):
        return None  # `how many tents`: pieces, or rows
    return QuestionReading(parts.plan(Aggregate("count")))


def count_of(parts: Parts) -> QuestionReading | None:
    """`how many customers`: rows, if each has another; else different ones."""
    of = values(parts.core, "column")[-1]
    profile = parts.links.profile(of)
    if _in_a_currency(parts) or set(values(parts.core, "op")) - {"sum"} or "noun" in values(parts.core, "rows"):
        return None
    equal = (one for one in leaves(parts.where) if isinstance(one, Criterion | OneOf))
    limited = [column_of(one.left if isinstance(one, Criterion) else one.subject) for one in equal]
    if "" in values(parts.core, "rows") or of in limited:
        return QuestionReading(parts.plan(Aggregate("count")))
    if parts.links.is_measure(profile):
        return QuestionReading(parts.plan(select=(of,))) if _one_row(parts) else None
    if profile.kind in ("number",) and not parts.links.is_key(profile) and not is_label(profile):
        return None
    if parts.links.is_key(profile):
        return QuestionReading(parts.plan(Aggregate("count", of) if profile.empty else Aggregate("count")))
    if parts.links.named(*_AMOUNTS) and not _ARTICLES.isdisjoint(parts.links.headers[of.name]):
        return None  # `how many products were sold`: different ones, or pieces
    few = 2 * profile.distinct <= parts.links.table.rows or not _KINDS.isdisjoint(parts.links.headers[of.name])
    if profile.kind != "text" or not (few or is_label(profile)) or parts.links.is_list(profile):
        return None  # `how many teams`: different ones, or rows
    return QuestionReading(parts.plan(Aggregate("distinct", of)))


def rows_alone(parts: Parts) -> QuestionReading | None:
    """`orders above 500`: how many."""
    if not parts.core and not all(isinstance(one, Empty) for one in parts.conditions):
        return None
    if set(values(parts.core, "rows")) == {"noun"} and parts.groups:
        return None  # `impressions by campaign`
    if _in_a_currency(parts):
        return None
    return QuestionReading(parts.plan(Aggregate("count"))) if parts.conditions or parts.groups else None


def _in_a_currency(parts: Parts) -> bool:
    """`expenses in EUR` are rather amounts than rows, or rows of that currency."""
    return any(is_currency(parts.links.profile(one)) for one in columns_of(parts.where))


def column(parts: Parts) -> QuestionReading | None:
    """`revenue in March`, `the price of X`, `which city is X in`."""
    of = values(parts.core, "column")[0]
    links, profile = parts.links, parts.links.profile(of)
    names_rows = links.is_key(profile) and not links.is_measure(profile) and not has(parts.core, "wh")
    if names_rows and _in_a_currency(parts):
        return None
    if names_rows and (parts.groups or (is_identifier(profile, links.table) and parts.conditions)):
        return QuestionReading(parts.plan(Aggregate("count")))
    if any(isinstance(one, Criterion) and one.operator == "=" and one.left == of for one in parts.conditions):
        return None  # `who has rank 1` does not ask for the rank
    if parts.groups:
        return QuestionReading(parts.plan(Aggregate("sum", of))) if links.adds_up(profile) else None
    if not parts.conditions:
        lists = any(word == "list" for word in values(parts.core, "wh")) or not has(parts.core, "wh")
        if profile.kind == "text" and lists and not links.is_key(profile):
            return QuestionReading(parts.plan(groups=[Group(of)]))
        return QuestionReading(parts.plan(Aggregate("sum", of))) if links.adds_up(profile) and not lists else None
    if _one_row(parts):
        return QuestionReading(parts.plan(select=(of,)))
    if links.adds_up(profile):
        return QuestionReading(parts.plan(Aggregate("sum", of)))
    if links.is_key(profile) and not links.is_measure(profile):
        return QuestionReading(parts.plan(select=(of,)))
    unclear = _in_a_currency(parts) or _may_be_of_groups(of, parts)
    return None if unclear else QuestionReading(parts.plan(groups=[Group(of)]))


def _may_be_of_groups(of: Column, parts: Parts) -> bool:
    """`countries with revenue above 1,000`: in one row, or in all rows of a country."""
    links = parts.links
    bounds = (one for one in leaves(parts.where) if isinstance(one, Criterion) and one.operator not in ("=", "!="))
    bounded = [one.left for one in bounds if isinstance(one.left, Column)]
    return not links.is_key(links.profile(of)) and any(links.adds_up(links.profile(one)) for one in bounded)


def _one_row(parts: Parts) -> bool:
    """Whether the conditions are met by one row at most."""
    return any(
        isinstance(one, Criterion) and one.operator == "=" and isinstance(one.left, Column)
        and not isinstance(one.right, Column) and parts.links.is_key(parts.links.profile(one.left))
        for one in parts.conditions
    )  # fmt: skip


def asked(parts: Parts) -> QuestionReading | None:
    """`who had 5 wins`, `when was X published`."""
    of = focus(parts)
    if of is None or not parts.conditions or parts.groups:
        return None
    return QuestionReading(parts.plan(groups=[Group(of)]))


def listed(parts: Parts) -> QuestionReading | None:
    """`which orders are open`: their names; `the different channels`."""
    of = values(parts.core, "column")
    if parts.groups or (not of and parts.core[0].tag != "wh") or (not of and not parts.conditions):
        return None
    if of:
        return None if _may_be_of_groups(of[0], parts) else QuestionReading(parts.plan(groups=[Group(of[0])]))
    names = parts.links.label() or parts.links.identifier()
    return QuestionReading(parts.plan(select=(names,))) if names else None


def columns(parts: Parts) -> QuestionReading | None:
    """`list product and price of X`: a look-up of several columns."""
    found = tuple(values(parts.core, "column"))
    if parts.groups or not parts.conditions or len(set(found)) != len(found):
        return None
    return QuestionReading(parts.plan(select=found))
