"""What readings are made of: their parts, and the column that a question word asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from agentsvc_nb.agents.offline.tables.grammar.items import Item
from agentsvc_nb.agents.offline.tables.grammar.limits import joined
from agentsvc_nb.agents.offline.tables.grammar.phrases import period
from agentsvc_nb.agents.offline.tables.grammar.rules import values
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.formats.plans.checks import Code
from agentsvc_nb.formats.plans.plan import Column, Condition, Criterion, Group, Measure, OneOf, Plan, column_of, leaves
from agentsvc_nb.formats.plans.profiles import ColumnProfile

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


@dataclass(slots=True)
class Parts:
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
_PERSONS: Final = (
    ("player", "person", "athlete", "driver", "rider", "candidate", "winner", "swimmer", "employee", "customer",
     "coach", "director", "author", "artist", "champion", "competitor", "skater", "cyclist", "student",
     "member", "president", "buyer", "client", "kunde", "mitarbeiter", "spieler", "cliente"),
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
            tiers = [[one for one in links.named(*nouns) if one.name not in others] for nouns in _PERSONS]
        case "time":
            tiers = [links.dates(), links.years(), links.named("date"), links.named("year")]
        case "place":
            tiers = [links.named(*_PLACES)]
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
