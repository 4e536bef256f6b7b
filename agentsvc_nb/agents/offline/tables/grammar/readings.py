"""Readings of a question: their parts, the column that a question word asks for, and the readings that ask for rows:
how many there are, and what stands in their columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from agentsvc_nb.agents.offline.tables.grammar.limits import joined
from agentsvc_nb.agents.offline.tables.grammar.phrases import period
from agentsvc_nb.agents.offline.tables.grammar.rules import Item, has, values
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.agents.offline.tables.question import alike
from agentsvc_nb.documents.plans.checks import Code
from agentsvc_nb.documents.plans.plan import (
    Aggregate,
    Column,
    Condition,
    Criterion,
    Empty,
    Group,
    Measure,
    OneOf,
    Plan,
    column_of,
    columns_of,
    leaves,
)
from agentsvc_nb.documents.plans.profiles import ColumnProfile
from agentsvc_nb.documents.plans.roles import is_currency, is_identifier, is_label, is_ratio

LIMIT_MAX: Final = 1000


@dataclass(frozen=True, slots=True)
class QuestionReading:
    """A plan, and which columns of its result are what was asked for: all if `asked` is empty. `absolute` says that the
    sign of a difference was not asked for."""

    plan: Plan
    asked: tuple[int, ...] = ()
    absolute: bool = False
    settled: tuple[Code, ...] = ()
    """What the question itself has said, and so needs no asking back."""
    verdict: Literal["", ">", "<"] = ""
    """Of a question for yes or no: how the one value of the plan is to be to 0."""
    counted: bool = False
    """Whether it was asked how many groups there are, and not which."""
    nth: int = 0
    """Which row was asked for: the second, if all before it differ from it."""


@dataclass(slots=True)
class Parts:
    """What the items of a question were reduced to: conditions and groups set apart, and the rest of them (`core`)."""

    links: TableLinks
    core: list[Item]
    conditions: list[Condition] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    base: list[Condition] = field(default_factory=list)
    """What a share is among."""
    kinds: list[Item] = field(default_factory=list)
    """Columns that are named behind a value, and so may only say what it is a value of."""

    @property
    def where(self) -> Condition | None:
        return joined(self.conditions)

    def plan(self, *measures: Measure, groups: Sequence[Group] | None = None, **more: object) -> Plan:
        given = tuple(self.groups if groups is None else groups)
        return Plan(self.links.table.name, tuple(measures), given, self.where, **more)  # type: ignore[arg-type]


_OTHERS: Final = ("manager", "supervisor", "boss", "fuhrungskraft", "vorgesetzter", "vorgesetzte")
_THINGS: Final = ("product", "item", "article", "deal", "campaign", "project", "file", "event", "course", "category")
_PERSONS: Final = (
    ("player", "person", "athlete", "driver", "rider", "candidate", "winner", "swimmer", "employee", "customer",
     "coach", "director", "author", "artist", "champion", "competitor", "skater", "cyclist", "student",
     "member", "president", "buyer", "client", "owner", "rep", "seller", "salesperson", "salesman", "assignee",
     "kunde", "mitarbeiter", "spieler", "cliente"),
    ("name", "names", "nom", "nombre"),
    ("team", "nation", "country", "club"),
)  # fmt: skip
"""Nouns for who, the nearest first."""
_PLACES: Final = ("location", "venue", "city", "place", "town", "stadium", "country", "site", "state", "region",
                  "ort", "stadt", "land", "ville", "lieu", "pays", "ciudad", "lugar", "pais")  # fmt: skip


def _asked_by(word: str, parts: Parts) -> Column | None:
    """The one column that answers who, when or where."""
    links = parts.links
    limited = {column_of(one.left).name for one in leaves(parts.where) if isinstance(one, Criterion)}
    tiers: list[list[ColumnProfile]] = []
    match word:
        case "person":
            others = {one.name for one in links.named(*_OTHERS)}  # `who earns most` asks for no manager
            others |= {one.name for one in links.named(*_THINGS)}  # nor for the name of a product
            tiers = [[one for one in links.named(*nouns) if one.name not in others] for nouns in _PERSONS]
        case "time":
            tiers = [links.dates(), links.years(), links.named("date"), links.named("year")]
        case "place":
            tiers = [links.named(*_PLACES)]
    # Names are asked for before ids, which tell a reader nothing.
    names = [[one for one in tier if "id" not in links.headers[one.name]] for tier in tiers]
    for tier in (*names, *tiers):
        found = [one for one in tier if one.name not in limited and (word == "time" or one.kind == "text")]
        if found:
            return links.column(found[0].name) if len(found) == 1 else None
    return None


def focus(parts: Parts) -> Column | None:
    """What is asked for: a column that is named before the rest, or that goes with the question word."""
    chosen = [column_of(one.subject) for one in parts.conditions if isinstance(one, OneOf)]
    if len(chosen) == 1 and either(parts):
        return chosen[0]
    words = [item.value for item in parts.core if item.tag == "wh" and item.value not in ("thing", "list")]
    return _asked_by(words[0], parts) if len(set(words)) == 1 else None


def either(parts: Parts) -> bool:
    """Whether there is a choice between two values."""
    return any(isinstance(one, OneOf) and len(one.values) == 2 for one in parts.conditions)


def period_asked(items: Sequence[Item], parts: Parts) -> Group | None:
    found = values(items, "period")
    return period(found[0], parts.links) if found else None


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
    unsaid = not has(parts.core, "rows") and not _of_persons(parts)
    if unsaid and (not (parts.conditions or parts.groups) or parts.links.named(*_AMOUNTS)):
        return None  # `how many tents`: pieces, or rows
    return QuestionReading(parts.plan(Aggregate("count")))


def _of_persons(parts: Parts) -> bool:
    """`how many women`: they are no pieces."""
    equal = (one for one in leaves(parts.where) if isinstance(one, Criterion))
    genders = {parts.links.column(one.name) for one in parts.links.named("gender", "sex")}
    return any(one.operator == "=" and one.left in genders for one in equal)


def count_of(parts: Parts) -> QuestionReading | None:
    """`how many customers`: rows, if each has another; else different ones."""
    of = values(parts.core, "column")[-1]
    profile = parts.links.profile(of)
    if _in_a_currency(parts) or set(values(parts.core, "op")) - {"sum"} or "noun" in values(parts.core, "rows"):
        return None
    equal = (one for one in leaves(parts.where) if isinstance(one, Criterion | OneOf))
    limited = [column_of(one.left if isinstance(one, Criterion) else one.subject) for one in equal]
    if "" in values(parts.core, "rows") or of in limited or _counts_rows_first(of, parts):
        return QuestionReading(parts.plan(Aggregate("count")))
    if profile.kind in ("date", "datetime") and _is_happening(of, parts):
        return QuestionReading(parts.plan(Aggregate("count")))
    if parts.links.is_measure(profile):
        return QuestionReading(parts.plan(select=(of,))) if _one_row(parts) else None
    if _is_modifier(of, parts):
        return None
    if profile.kind in ("number",) and not parts.links.is_key(profile) and not is_label(profile):
        return None
    if parts.links.is_key(profile):
        return QuestionReading(parts.plan(Aggregate("count", of) if profile.empty else Aggregate("count")))
    if parts.links.named(*_AMOUNTS) and not _ARTICLES.isdisjoint(parts.links.headers[of.name]):
        return None  # `how many products were sold`: different ones, or pieces
    at = {item.tag: place for place, item in reversed(list(enumerate(parts.core)))}
    if has(parts.core, "rows") and at.get("count", -9) + 1 == at["rows"] < at["column"]:
        return None  # `in how many orders was a coupon used` counts orders, and a coupon is a limit
    if "in" in values(parts.core, "count") and profile.kind == "date" and parts.conditions:
        if may_be_of_groups(of, parts):
            return None
        return QuestionReading(parts.plan(Aggregate("distinct", of)))
    few = 2 * profile.distinct <= parts.links.table.rows or not _KINDS.isdisjoint(parts.links.headers[of.name])
    if profile.kind != "text" or not (few or is_label(profile)) or parts.links.is_list(profile):
        return None  # `how many teams`: different ones, or rows
    return QuestionReading(parts.plan(Aggregate("distinct", of)))


def _is_modifier(of: Column, parts: Parts) -> bool:
    """`how many rooms`, where the column is their type."""
    header = parts.links.headers[of.name]
    said = [line.split(" was read")[0] for item in parts.core if item.value == of for line in item.told]
    behind = next((at for at, word in enumerate(header) if word in _OF), 0)
    return behind > 0 and any(alike(one, word) for one in said for word in header[behind + 1 :])


_OF: Final = ("de", "du", "des", "d", "del")


def _counts_rows_first(of: Column, parts: Parts) -> bool:
    """`how many orders did the customers from Spain make`."""
    tags = [item.tag for item in parts.core]
    last = parts.core[-1]
    return (
        (tags[:2], last.tag, last.plural) == (["count", "rows"], "column", True)
        and parts.links.profile(of).kind == "text"
        and bool(parts.conditions)
    )


def _is_happening(of: Column, parts: Parts) -> bool:
    """`hires by year`, `how many entries were there in May`: each day of the column is of one of them."""
    used = {group.column for group in parts.groups if group.by} | set(columns_of(parts.where))
    return of in used and not parts.links.profile(of).empty


def rows_alone(parts: Parts) -> QuestionReading | None:
    """`orders above 500`: how many."""
    if not parts.core and not parts.conditions:
        return None  # `per owner` alone asks for nothing
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
    if "person" in values(parts.core, "wh") and links.headers[of.name][-1:] == ("id",):
        return None  # `who supplies X` is told a name
    if has(parts.core, "much") and profile.kind not in ("number", "time"):
        return None
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
    if is_ratio(profile) and "list" not in values(parts.core, "wh"):
        return None  # the rates of several rows are not the rate
    unclear = _in_a_currency(parts) or may_be_of_groups(of, parts)
    if has(parts.core, "much") and profile not in links.named(*_PRICES):
        return None  # `how high is the budget`, of which there are several
    return None if unclear else QuestionReading(parts.plan(groups=[Group(of)]))


_PRICES: Final = ("price", "cost", "fee", "preis", "prix", "precio")
"""What mostly is the same in all rows of something."""


def may_be_of_groups(of: Column, parts: Parts) -> bool:
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
        return None if may_be_of_groups(of[0], parts) else QuestionReading(parts.plan(groups=[Group(of[0])]))
    names = parts.links.label() or parts.links.identifier()
    return QuestionReading(parts.plan(select=(names,))) if names else None


def columns(parts: Parts) -> QuestionReading | None:
    """`list product and price of X`: a look-up of several columns."""
    found = tuple(values(parts.core, "column"))
    if parts.groups or not parts.conditions or len(set(found)) != len(found):
        return None
    return QuestionReading(parts.plan(select=found))
