"""From conditions, groups and measures to a plan: what is left of a question must be one of a few forms."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from typing import Final, cast

from agentsvc_nb.agents.offline.tables.items import Item
from agentsvc_nb.agents.offline.tables.limits import joined
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.agents.offline.tables.phrases import aggregate, grouped, period
from agentsvc_nb.agents.offline.tables.rules import has, pattern, values
from agentsvc_nb.formats.plans.checks import Code
from agentsvc_nb.formats.plans.conditions import Column, Condition, Criterion, OneOf, column_of, leaves
from agentsvc_nb.formats.plans.plan import Aggregate, Along, Compared, Group, Measure, Order, Plan
from agentsvc_nb.formats.plans.profiles import ColumnProfile
from agentsvc_nb.formats.plans.roles import is_identifier

LIMIT_MAX: Final = 1000


@dataclass(frozen=True, slots=True)
class Reading:
    """A plan, and which columns of its result are what was asked for: all if `asked` is empty. `absolute` says that the
    sign of a difference was not asked for."""

    plan: Plan
    asked: tuple[int, ...] = ()
    absolute: bool = False
    settled: tuple[Code, ...] = ()
    """What the question itself has said, and so needs no asking back."""


@dataclass(slots=True)
class _Parts:
    links: TableLinks
    core: list[Item]
    conditions: list[Condition] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)

    @property
    def where(self) -> Condition | None:
        return joined(self.conditions)

    def plan(self, *measures: Measure, groups: Sequence[Group] | None = None, **more: object) -> Plan:
        given = tuple(self.groups if groups is None else groups)
        return Plan(self.links.table.name, tuple(measures), given, self.where, **more)  # type: ignore[arg-type]


def assembled(items: Sequence[Item], links: TableLinks) -> Reading | None:
    """The reading; None if some item has no place in it."""
    parts = _Parts(links, list(items))
    parts.conditions = values(items, "cond")
    parts.groups = values(items, "group")
    parts.core = [item for item in items if item.tag not in ("cond", "group")]
    if len(parts.groups) > 2 or _contradicts(parts.conditions):
        return None
    if has(parts.core, "only") and parts.conditions:
        parts.core = [item for item in parts.core if item.tag != "only"]
    return _formed(parts) or _without_row_names(parts)


def _without_row_names(parts: _Parts) -> Reading | None:
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


def _formed(parts: _Parts) -> Reading | None:
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


# Which column is meant by a question word.


_PERSONS: Final = (
    ("player", "person", "athlete", "driver", "rider", "candidate", "winner", "swimmer", "employee", "customer",
     "manager", "coach", "director", "author", "artist", "champion", "competitor", "skater", "cyclist", "student",
     "member", "president", "buyer", "client", "kunde", "mitarbeiter", "spieler", "cliente"),
    ("name", "names", "nom", "nombre"),
    ("team", "nation", "country", "club"),
)  # fmt: skip
"""Nouns for who, the nearest first."""
_PLACES: Final = ("location", "venue", "city", "place", "town", "stadium", "country", "site", "state", "region",
                  "ort", "stadt", "land", "ville", "lieu", "pays", "ciudad", "lugar", "pais")  # fmt: skip


def _asked_by(word: str, parts: _Parts) -> Column | None:
    """The one column that answers who, when or where."""
    links = parts.links
    limited = {column_of(one.left).name for one in leaves(parts.where) if isinstance(one, Criterion)}
    tiers: list[list[ColumnProfile]] = []
    match word:
        case "person":
            tiers = [links.named(*nouns) for nouns in _PERSONS]
        case "time":
            tiers = [links.dates(), links.years(), links.named("date"), links.named("year")]
        case "place":
            tiers = [links.named(*_PLACES)]
    for tier in tiers:
        found = [one for one in tier if one.name not in limited and (word == "time" or one.kind == "text")]
        if found:
            return links.column(found[0].name) if len(found) == 1 else None
    return None


def _focus(parts: _Parts) -> Column | None:
    """What is asked for: a column that is named before the rest, or that goes with the question word."""
    chosen = [column_of(one.subject) for one in parts.conditions if isinstance(one, OneOf)]
    if len(chosen) == 1 and _either(parts):
        return chosen[0]
    words = [item.value for item in parts.core if item.tag == "wh" and item.value not in ("thing", "list")]
    return _asked_by(words[0], parts) if len(set(words)) == 1 else None


# The forms.

_Make = Callable[[_Parts], Reading | None]


def _measures(parts: _Parts) -> Reading | None:
    """The measures; a mean for each row's own name is that of the rows (`average revenue per order`)."""
    [found] = values(parts.core, "measure")
    links = parts.links
    by_row = len(parts.groups) == 1 and is_identifier(links.profile(parts.groups[0].column), links.table)
    if by_row and all(isinstance(one, Aggregate) and one.operation == "mean" for one in found):
        return Reading(parts.plan(*found, groups=[]))
    return Reading(parts.plan(*found))


def _count(parts: _Parts) -> Reading | None:
    if not parts.conditions and not parts.groups:
        return None
    if not has(parts.core, "rows") and parts.links.named(*_AMOUNTS):
        return None  # `how many tents`: pieces, or rows
    return Reading(parts.plan(Aggregate("count")))


_KINDS: Final = frozenset(
    ("category", "type", "kind", "class", "genre", "region", "channel", "segment", "department", "language", "brand",
     "kategorie", "typ", "art", "abteilung", "kanal", "categorie", "canal", "categoria", "tipo")
)  # fmt: skip
"""Nouns of which a question counts the different ones."""
_AMOUNTS: Final = ("unit", "quantity", "qty", "piece", "amount", "menge", "stuck", "anzahl", "quantite", "cantidad")


def _count_of(parts: _Parts) -> Reading | None:
    """`how many customers`: rows, if each has another; else different ones."""
    column = values(parts.core, "column")[-1]
    profile = parts.links.profile(column)
    if "" in values(parts.core, "rows"):
        return Reading(parts.plan(Aggregate("count")))
    if profile.kind in ("number",) and not parts.links.is_key(profile):
        return None
    if parts.links.is_key(profile):
        return Reading(parts.plan(Aggregate("count", column) if profile.empty else Aggregate("count")))
    few = 2 * profile.distinct <= parts.links.table.rows or not _KINDS.isdisjoint(parts.links.headers[column.name])
    if profile.kind != "text" or not few or parts.links.is_list(profile):
        return None  # `how many teams`: different ones, or rows
    return Reading(parts.plan(Aggregate("distinct", column)))


def _column(parts: _Parts) -> Reading | None:
    """`revenue in March`, `the price of X`, `which city is X in`."""
    column = values(parts.core, "column")[0]
    links, profile = parts.links, parts.links.profile(column)
    if parts.groups:
        if links.is_key(profile) and not links.is_measure(profile) and not has(parts.core, "wh"):
            return Reading(parts.plan(Aggregate("count")))
        if not links.adds_up(profile):
            return None
        return Reading(parts.plan(Aggregate("sum", column)))
    if not parts.conditions:
        lists = any(word == "list" for word in values(parts.core, "wh")) or not has(parts.core, "wh")
        if profile.kind == "text" and lists and not links.is_key(profile):
            return Reading(parts.plan(groups=[Group(column)]))
        return Reading(parts.plan(Aggregate("sum", column))) if links.adds_up(profile) and not lists else None
    if _one_row(parts):
        return Reading(parts.plan(select=(column,)))
    if links.adds_up(profile):
        return Reading(parts.plan(Aggregate("sum", column)))
    if links.is_key(profile) and not links.is_measure(profile):
        return Reading(parts.plan(select=(column,)))
    return Reading(parts.plan(groups=[Group(column)]))


def _one_row(parts: _Parts) -> bool:
    """Whether the conditions are met by one row at most."""
    own = parts.conditions
    return any(
        isinstance(one, Criterion) and one.operator == "=" and isinstance(one.left, Column)
        and not isinstance(one.right, Column) and parts.links.is_key(parts.links.profile(one.left))
        for one in own
    )  # fmt: skip


def _asked(parts: _Parts) -> Reading | None:
    """`who had 5 wins`, `when was X published`."""
    column = _focus(parts)
    if column is None or not parts.conditions or parts.groups:
        return None
    return Reading(parts.plan(groups=[Group(column)]))


def _columns(parts: _Parts) -> Reading | None:
    """`list product and price of X`: a look-up of several columns."""
    found = tuple(values(parts.core, "column"))
    if parts.groups or not parts.conditions or len(set(found)) != len(found):
        return None
    return Reading(parts.plan(select=found))


def _superlative(parts: _Parts) -> Reading | None:
    """`which channel had the highest revenue`, `who has the most points`, `the highest price`."""
    sup = next(item for item in parts.core if item.tag in ("sup", "most", "more", "less"))
    if (sup.tag in ("more", "less") or has(parts.core, "yesno")) and not _either(parts):
        return None
    descending = sup.value == "desc" or sup.tag == "more"
    at = parts.core.index(sup)
    before, after = parts.core[:at], parts.core[at + 1 :]
    measured = values(after, "measure", "column") or values(before, "measure")
    named = values(before, "column")
    if not measured and len(named) == 1 and _either(parts) and sup.tag in ("more", "less"):
        named, measured = [], named  # `did A or B weigh more`
    if not measured and len(named) == 2:
        named, measured = named[:1], named[1:]  # `which player weighed the least`
    if len(measured) != 1:
        return None
    group = _period_asked(before, parts)
    if group is None and not named and (column := _focus(parts)):
        named = [column]
    how_many = int((values(parts.core, "number") or [Decimal(1)])[0])
    if not 1 <= how_many <= LIMIT_MAX:
        return None
    if group is None and not named:
        return _extreme(measured[0], descending, parts) if sup.tag == "sup" and how_many == 1 else None
    return _first(named[0] if named else None, group, measured[0], sup.tag == "most", descending, how_many, parts)


def _either(parts: _Parts) -> bool:
    """Whether there is a choice between two values."""
    return any(isinstance(one, OneOf) and len(one.values) == 2 for one in parts.conditions)


def _period_asked(items: Sequence[Item], parts: _Parts) -> Group | None:
    found = values(items, "period")
    return period(found[0], parts.links) if found else None


def _extreme(measured: object, descending: bool, parts: _Parts) -> Reading | None:
    if not isinstance(measured, Column) or parts.groups:
        return None
    made = aggregate("max" if descending else "min", measured, parts.links)
    return Reading(parts.plan(made)) if made else None


def _first(
    named: Column | None, group: Group | None, measured: object, summed: bool, descending: bool, limit: int,
    parts: _Parts,
) -> Reading | None:  # fmt: skip
    """The first of groups by a measure, or of rows if each has another name."""
    links = parts.links
    if parts.groups or (named is not None and links.is_list(links.profile(named))):
        return None
    if isinstance(measured, Column):
        if measured == named:
            return None
        profile = links.profile(measured)
        if named is not None and links.is_key(links.profile(named)):
            if profile.kind not in ("number", "date", "datetime", "time"):
                return None
            order = (Order(1, descending),)
            return Reading(parts.plan(select=(named, measured), order=order, limit=limit), (0,))
        made = _of_group(measured, summed, descending, parts)
    else:
        [made] = cast(tuple[Measure, ...], measured) if len(cast(tuple[Measure, ...], measured)) == 1 else [None]
    if made is None:
        return None
    by = group or grouped(cast(Column, named), links)
    return Reading(parts.plan(made, groups=[by], order=(Order(1, descending),), limit=limit), (0,))


def _of_group(column: Column, summed: bool, descending: bool, parts: _Parts) -> Measure | None:
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


def _most_rows(parts: _Parts) -> Reading | None:
    """`which channel appears most often`."""
    named, most = values(parts.core, "column"), values(parts.core, "most")
    group = _period_asked(parts.core, parts)
    if (len(named) == 1) == (group is not None):
        return None
    measured = (Aggregate("count"),)
    return _first(named[0] if named else None, group, measured, True, most[0] == "desc", 1, parts)


def _implied(parts: _Parts) -> Reading | None:
    """`the cheapest product`, `who is the oldest`: the superlative says of which column."""
    item = next(item for item in parts.core if item.tag in ("implied", "implied_more"))
    which, _, direction = item.value.partition(" ")
    if item.tag == "implied_more" and not _either(parts):
        return None
    links, named = parts.links, values(parts.core, "column")
    found = _implied_columns(which, links)
    explicit = [one for one in named if one in found]
    subjects = [one for one in named if one not in explicit]
    if len(explicit) > 1 or len(subjects) > 1 or (not explicit and len(found) != 1):
        return None
    column = explicit[0] if explicit else found[0]
    subject = subjects[0] if subjects else _focus(parts) or (links.label() if parts.conditions else None)
    if subject == column:
        subject = None
    if subject is None:
        return _extreme(column, direction == "desc", parts) if explicit or (has(parts.core, "wh") and named) else None
    how_many = int((values(parts.core, "number") or [Decimal(1)])[0])
    return _row_or_extreme(subject, column, direction == "desc", how_many, parts)


def _row_or_extreme(subject: Column, column: Column, descending: bool, limit: int, parts: _Parts) -> Reading | None:
    links = parts.links
    if parts.groups or links.profile(column).kind == "text":
        return None
    if links.is_key(links.profile(subject)):
        order = (Order(1, descending),)
        return Reading(parts.plan(select=(subject, column), order=order, limit=limit), (0,), settled=_SAID)
    made = aggregate("max" if descending else "min", column, links)
    if made is None:
        return None
    plan = parts.plan(made, groups=[grouped(subject, links)], order=(Order(1, descending),), limit=limit)
    return Reading(plan, (0,), settled=_SAID)


_SAID: Final[tuple[Code, ...]] = ("date_ordered",)
_IMPLIED: Final = {
    "cost": ("price", "cost", "preis", "prix", "precio"),
    "length": (
        "length",
        "duration",
        "distance",
        "time",
        "runtime",
        "days",
        "hours",
        "minutes",
        "lange",
        "dauer",
        "duree",
        "longueur",
    ),
    "height": ("height", "tall", "elevation", "grosse", "hohe", "hauteur", "altura"),
    "weight": ("weight", "gewicht", "poids", "peso"),
    "depth": ("depth", "tiefe", "profondeur"),
    "population": ("population", "inhabitants", "einwohner", "habitants"),
    "age": ("age", "alter", "edad"),
}


def _implied_columns(which: str, links: TableLinks) -> list[Column]:
    """The columns of the nearest noun that some header has."""
    found = links.dates() or links.years() if which == "time" else []
    for noun in _IMPLIED.get(which, ()):
        found = found or [one for one in links.named(noun) if one.kind in ("number", "time")]
    return [links.column(one.name) for one in found]


def _top(parts: _Parts) -> Reading | None:
    """`top 3 products by revenue`."""
    descending = has(parts.core, "top")
    limit = int((values(parts.core, "number") or [Decimal(1)])[0])
    columns, measured = values(parts.core, "column"), values(parts.core, "measure", "ordered_by")
    if len(columns) == 2 and not measured:
        columns, measured = columns[:1], columns[1:]
    group = _period_asked(parts.core, parts)
    if len(measured) != 1 or (len(columns) == 1) == (group is not None) or not 1 <= limit <= LIMIT_MAX:
        return None
    return _first(columns[0] if columns else None, group, measured[0], False, descending, limit, parts)


def _share(parts: _Parts) -> Reading | None:
    """`what share of revenue comes from Email`, `share of revenue by channel`, `percentage of rows where ...`."""
    columns = values(parts.core, "column", "measure")
    one = Aggregate("count")
    if columns and isinstance(columns[0], Column):
        profile = parts.links.profile(columns[0])
        if parts.links.adds_up(profile):
            one = Aggregate("sum", columns[0])
        elif not parts.links.is_key(profile) and not has(parts.core, "rows"):
            return None
    elif columns:
        [found] = columns
        if len(found) != 1 or not isinstance(found[0], Aggregate):
            return None
        one = found[0]
    if parts.groups:
        return Reading(parts.plan(Along("share", one)))
    if not parts.conditions:
        return None
    narrowed = Aggregate(one.operation, one.operand, parts.where)
    return Reading(Plan(parts.links.table.name, (Compared("percent", narrowed, one),)))


def _along(parts: _Parts) -> Reading | None:
    """Running totals and changes along periods."""
    [how] = values(parts.core, "along")
    if len(parts.groups) != 1 or (parts.groups[0].by in ("", "weekday") and not _is_series(parts)):
        return None
    one = _amount(parts)
    if one is None:
        return None
    shown: tuple[Measure, ...] = (Along(how, one),)
    return Reading(parts.plan(*shown, order=(Order(0),)))


def _is_series(parts: _Parts) -> bool:
    profile = parts.links.profile(parts.groups[0].column)
    return parts.groups[0].by == "" and (profile.kind == "date" or profile in parts.links.years())


def _amount(parts: _Parts) -> Aggregate | None:
    """The sum of the column that is named, the one measure, or how many rows there are."""
    columns, measured = values(parts.core, "column"), values(parts.core, "measure")
    if len(columns) + len(measured) != 1:
        return None
    if columns:
        return Aggregate("sum", columns[0]) if parts.links.adds_up(parts.links.profile(columns[0])) else None
    [found] = measured
    return found[0] if len(found) == 1 and isinstance(found[0], Aggregate) else None


def _difference(parts: _Parts) -> Reading | None:
    """`difference in revenue between A and B`, `how many more points has A than B`."""
    pairs = [item.value for item in parts.core if item.tag == "pair"]
    others = list(parts.conditions)
    if not pairs:
        chosen = [one for one in others if isinstance(one, OneOf) and len(one.values) == 2]
        if len(chosen) != 1:
            return None
        others.remove(chosen[0])
        pairs = [(column_of(chosen[0].subject), *chosen[0].values)]
    if len(pairs) != 1 or parts.groups:
        return None
    column, one, two = pairs[0]
    amount = _compared_amount(column, parts)
    if amount is None:
        return None
    left, right = (Aggregate(amount.operation, amount.operand, Criterion(column, "=", value)) for value in (one, two))
    plan = Plan(parts.links.table.name, (Compared("difference", left, right),), where=joined(others))
    return Reading(plan, absolute=True)


def _compared_amount(of: Column, parts: _Parts) -> Aggregate | None:
    columns, links = values(parts.core, "column"), parts.links
    if not columns and has(parts.core, "rows"):
        return Aggregate("count")
    if len(columns) == 1 and not links.adds_up(links.profile(columns[0])) and links.is_key(links.profile(of)):
        return aggregate("max", columns[0], links)  # of one row
    return _amount(parts)


_FORMS: Final[tuple[tuple[re.Pattern[str], _Make], ...]] = tuple(
    (pattern(written), make)
    for written, make in (
        ("wh* measure", _measures),
        ("wh* count rows?", _count),
        ("wh* count column rows?", _count_of),
        ("wh* count column", _count_of),
        ("wh* column", _column),
        ("wh+", _asked),
        ("wh* column (and column)+", _columns),
        ("wh* period? column? number? sup|most|more|less column|measure", _superlative),
        ("wh* number? column? sup|most|more|less column|measure", _superlative),
        ("wh* number column sup|most column|measure", _superlative),
        ("wh* column column sup|most|more|less", _superlative),
        ("yesno column? more|less|sup|most column", _superlative),
        ("yesno column more|less", _superlative),
        ("yesno column? implied_more column?", _implied),
        ("wh* period|column most rows", _most_rows),
        ("wh* number? implied column*", _implied),
        ("wh* number? column implied column?", _implied),
        ("wh* implied|implied_more", _implied),
        ("wh* column implied_more", _implied),
        ("wh* top|bottom number? column|period ordered column|measure", _top),
        ("wh* top|bottom number? column|period ordered_by|measure", _top),
        ("wh* number top|bottom column|period ordered column|measure", _top),
        ("wh* number top|bottom column|period ordered_by|measure", _top),
        ("wh* share op? column|measure? rows?", _share),
        ("wh* share rows", _share),
        ("wh* along op? column|measure to_before?", _along),
        ("wh* column along to_before?", _along),
        ("wh* difference column", _difference),
        ("wh* difference pair column", _difference),
        ("wh* column difference", _difference),
        ("wh* count more|less column|rows pair", _difference),
        ("wh* much more|less column pair", _difference),
    )
)
