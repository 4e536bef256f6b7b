"""A question about tables, understood as a plan, or asked back: every word has a part in it, or there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from typing import Final

from agentsvc_nb.agents.offline.languages import languages_of
from agentsvc_nb.agents.offline.languages.language import Vocabulary
from agentsvc_nb.agents.offline.tables.columns import title_words
from agentsvc_nb.agents.offline.tables.grammar.amounts import AMOUNTS, PERIODS
from agentsvc_nb.agents.offline.tables.grammar.assembling import assembled, set_apart
from agentsvc_nb.agents.offline.tables.grammar.comparisons import bases, verbs_between
from agentsvc_nb.agents.offline.tables.grammar.having import HAVING
from agentsvc_nb.agents.offline.tables.grammar.items import Path, paths
from agentsvc_nb.agents.offline.tables.grammar.limits import CONDITIONS
from agentsvc_nb.agents.offline.tables.grammar.naming import names_table
from agentsvc_nb.agents.offline.tables.grammar.negations import listed_periods, negations
from agentsvc_nb.agents.offline.tables.grammar.phrases import GROUPS, MEASURES
from agentsvc_nb.agents.offline.tables.grammar.readings import QuestionReading
from agentsvc_nb.agents.offline.tables.grammar.restated import RESTATED
from agentsvc_nb.agents.offline.tables.grammar.rules import Item, has, reduced
from agentsvc_nb.agents.offline.tables.grammar.verdicts import sides
from agentsvc_nb.agents.offline.tables.linking import TYPO, TableLinks
from agentsvc_nb.agents.offline.tables.mending import gathered, mended, with_blanks
from agentsvc_nb.agents.offline.tables.question import Word, parted, words
from agentsvc_nb.agents.offline.tables.weights import has_no_weights, unweighted
from agentsvc_nb.documents.plans.checks import objections
from agentsvc_nb.documents.plans.plan import Aggregate, Column, Criterion, Plan, aggregates, columns_of, leaves
from agentsvc_nb.documents.plans.profiles import PlanError, TableProfile, Tables
from agentsvc_nb.documents.plans.sql import statement
from agentsvc_nb.documents.tables.model import MONTHS
from agentsvc_nb.documents.tables.numbers import READ_AS_TEXT

_MARGIN: Final = 0.45
"""Readings that are so much further from the words than the nearest are no rivals to it."""
_FARTHEST: Final = 2.6
"""A reading so much farther than the nearest way to read all words leaves out too much of what these say."""
READINGS_MAX: Final = 3
_SHOWN_MAX: Final = 60
_STRUCTURE: Final = frozenset({"column", "cell", "op", "share", "along", "correlation", "difference", "ratio"})


@dataclass(frozen=True, slots=True)
class Understood:
    """What a question asks for. `told` are sentences on words that were not read as they stand."""

    reading: QuestionReading
    told: tuple[str, ...] = ()
    cost: float = 0.0
    titled: bool = False
    """Whether the question names the table, as `orders` does `orders.csv`."""


@dataclass(frozen=True, slots=True)
class AskedBack:
    """Why there is no plan: words without a meaning, an objection, or several readings."""

    lost: tuple[str, ...]
    reason: str
    readings: tuple[QuestionReading, ...] = ()
    fit: float = 0.0
    """The share of the words that say something which have a meaning."""
    unclear: bool = False
    """No plan was found at all: the question may be about something else than tables."""
    several: bool = False
    """Whether each of `readings` is of another table, so that the name of one is what is missing."""


@dataclass(frozen=True, slots=True)
class NotAboutTables:
    """The question names nothing of any table."""


Understanding = Understood | AskedBack | NotAboutTables


@dataclass(frozen=True, slots=True)
class _Read:
    reading: QuestionReading
    cost: float
    told: tuple[str, ...]


def understand(question: str, tables: Sequence[TableProfile]) -> Understanding:
    """What the question asks of the tables. It looks at profiles alone."""
    found: list[Understanding] = []
    question = with_blanks(question, tables)
    for language in languages_of(words(question)):
        asked = words(question, local=language.code != "en")
        found = [by_links(asked, _links(table, tables, language)) for table in tables]
        # The next language is tried only where this one leaves no plan: words of two languages can look alike.
        if any(isinstance(one, Understood) for one in found):
            break
    return _chosen(found)


_SEVERAL: Final = "Several tables have an answer to this: name the file that is meant."


def _links(table: TableProfile, tables: Sequence[TableProfile], language: Vocabulary) -> TableLinks:
    others = (title_words(other) for other in tables if other is not table)
    return TableLinks(table, language, len(tables) == 1, frozenset().union(*others) - title_words(table))


def _chosen(found: Sequence[Understanding]) -> Understanding:
    plans = [one for one in found if isinstance(one, Understood)]
    nearest = min((one.cost for one in plans), default=0.0)
    plans = [one for one in plans if one.cost <= nearest + _MARGIN]
    # Of several tables with an answer the one that the question names is meant, unless another is nearer to its words.
    titled = [one for one in plans if one.titled and one.cost == nearest]
    if len(plans) > 1 and len(titled) == 1:
        plans = titled
    if len(plans) == 1 and not (plans[0].told and not plans[0].titled and any(map(_knows_all, found))):
        return plans[0]
    if plans:
        readings = tuple(one.reading for one in plans)[:READINGS_MAX]
        return AskedBack((), _SEVERAL, readings, 1.0, several=True)
    asked = [one for one in found if isinstance(one, AskedBack)]
    return max(asked, key=lambda one: one.fit) if asked else NotAboutTables()


def _knows_all(found: Understanding) -> bool:
    """Whether a table has all words, but no reading: it may be meant where another table's reading is a loose one."""
    return isinstance(found, AskedBack) and found.unclear and found.fit == 1.0


def by_links(asked: Sequence[Word], links: TableLinks) -> Understanding:
    """What the words ask of what they are linked to."""
    asked, forms = gathered(parted(asked, links.language, links.stands), links)
    asked, mendings = mended(asked, links)
    ways = paths(asked, links, links.language)
    whole = [way for way in ways if not way.unknown]
    read = _readings(whole, links)
    if not read:
        return _lost(asked, ways, links)
    # Two readings that come to the same plan are no rivals.
    rivals = _distinct([one for one in read if one.cost <= read[0].cost + _MARGIN])
    if len(rivals) > 1:
        reason = "The question can be read in more than one way."
        return AskedBack((), reason, tuple(one.reading for one in rivals[:READINGS_MAX]), 1.0)
    speaks_against = objected(rivals[0].reading, links.tables) or _sums_prices(rivals[0], links)
    speaks_against = speaks_against or _overlooks(asked, rivals[0].reading.plan, links)
    if speaks_against:
        return AskedBack((), speaks_against, (), 1.0)
    return Understood(
        rivals[0].reading,
        (*forms, *mendings, *rivals[0].told),
        rivals[0].cost + TYPO * len(mendings),
        any(links.is_title(token) for word in asked for token in word.tokens)
        or any(names_table(asked, at, links) for at in range(len(asked))),
    )


_PRICES: Final = frozenset(("price", "preis", "prix", "precio"))
_EACH: Final = frozenset(("unit", "stuck", "einzel", "unitaire", "unitario", "unidad"))


def _sums_prices(read: _Read, links: TableLinks) -> str:
    """Why `total cost` is not the sum of a column of prices, each of one thing, that was not named."""
    for one in aggregates(read.reading.plan.measures):
        if one.operation == "sum" and isinstance(one.operand, Column):
            line = next((line for line in read.told if line.endswith(f" the column {one.operand.name}.")), "")
            if line and not (_PRICES | _EACH).isdisjoint(links.headers[one.operand.name]):
                return f"{line} It has the price of one each, so that its sum is the cost of nothing."
    return ""


_SPENT: Final = frozenset(("spent", "spend", "spends", "paid", "earned", "ausgegeben", "depense", "gasto", "gastaron"))
_TRADED: Final = _SPENT | {
    "bought",
    "buy",
    "purchased",
    "ordered",
    "order",
    "sold",
    "sell",
    "gekauft",
    "achete",
    "compro",
}
_JOINED: Final = frozenset(
    ("signup", "signed", "registered", "registration", "joined", "birth", "birthday", "hired", "born")
)


def _overlooks(asked: Sequence[Word], plan: Plan, links: TableLinks) -> str:
    """Why a verb that is no word of the table speaks against the plan: `spent the most` counts no rows, and `bought in
    May` is no day of signing up."""
    said = {token for word in asked for token in word.tokens} - {
        token for one in links.headers.values() for token in one
    }
    counted = bool(plan.groups) and plan.limit is not None and plan.measures == (Aggregate("count"),)
    if counted and not said.isdisjoint(_SPENT):
        return "The table has no amount that was spent."
    if (bounded := _month_without_order(asked, plan)) is not None:
        return f"{bounded.name} has its months as text, without an order: name each one that counts."
    days = [one for one in columns_of(plan.where) if links.profile(one).kind in ("date", "datetime")]
    if not said.isdisjoint(_TRADED) and any(not _JOINED.isdisjoint(links.headers[one.name]) for one in days):
        return f"{days[0].name} is another day than the one that is asked for."
    return ""


_UNTIL: Final = frozenset(("until", "till", "through", "to", "by", "from", "since", "under"))


def _month_without_order(asked: Sequence[Word], plan: Plan) -> Column | None:
    """The column of texts that one month is a value of, where the words say a bound: `until March` is not March."""
    pairs = pairwise(word.text.casefold().rstrip(".") for word in asked)
    if not any(before in _UNTIL and month in MONTHS for before, month in pairs):
        return None
    for leaf in leaves(plan.where):
        match leaf:
            case Criterion(left=Column() as column, operator="=", right=str(text)) if text.casefold() in MONTHS:
                return column
    return None


def objected(reading: QuestionReading, tables: Tables) -> str:
    """Why the reading's plan is not to be computed; empty if nothing speaks against it."""
    plan = reading.plan
    try:
        # Its SQL is made here already, as that raises for what the engine could not compute.
        statement(plan, tables)
        settled = {*reading.settled, *(("mean_of_ratios",) if has_no_weights(plan, tables) else ())}
        found = [one for one in objections(plan, tables) if one.code not in settled]
    except PlanError as error:
        return str(error)
    return found[0].message if found else ""


def _readings(ways: Sequence[Path], links: TableLinks) -> list[_Read]:
    found: list[_Read] = []
    for way in ways:
        if way.cost > (found[0].cost + _MARGIN if found else ways[0].cost + _FARTHEST):
            break
        items = _parsed([item for item in way.items if item.tag != "unweighted"], links)
        reading = assembled(items, links)
        if reading is not None and has(way.items, "unweighted"):
            reading = unweighted(reading)
        if reading is not None and (plan := links.completed(reading.plan)) is not None:
            told = tuple(dict.fromkeys(line for item in way.items for line in item.told))
            found.append(_Read(replace(reading, plan=plan), way.cost, told))
    return found


def _parsed(items: Sequence[Item], links: TableLinks) -> list[Item]:
    items = verbs_between(sides(negations(_without_commas(items), links), links), links)
    if not any(item.tag in ("by", "per", "each", "before_period") for item in items):
        items = reduced(items, PERIODS, links)
    # Each kind of rule on what the one before made: `since May 2024` is a bound before it can limit a column.
    for rules in (RESTATED, AMOUNTS, GROUPS, HAVING, CONDITIONS):
        items = reduced(items, rules, links)
    items = bases(_rows_by_period(items, links), links)
    return reduced(set_apart(items, links), MEASURES, links)


def _rows_by_period(items: Sequence[Item], links: TableLinks) -> list[Item]:
    """`the days with rain`, where each row is another day."""
    of = links.row_period()
    return [
        Item("rows", "period", of=item.of) if item.tag == "period" and item.value == of and before.tag != "wh" else item
        for before, item in zip([Item("start"), *items], items, strict=False)
    ]


def _without_commas(items: Sequence[Item]) -> list[Item]:
    """A comma means something between values alone; what brackets explain needs no part, nor do they themselves."""
    items = [item for item in items if item.tag != "glossed"]
    kept: list[Item] = []
    for at, (item, after) in enumerate(zip_longest(items, items[1:], fillvalue=Item("end"))):
        if item.tag in ("glossing", "column"):
            item = replace(item, tag="column")
            if kept and kept[-1].tag == "column" and kept[-1].value == item.value:
                continue  # `oven temperature` of `oven_temp`, each word by itself
        in_list = bool(kept) and kept[-1].tag == "cell" and after.tag in ("cell", "and", "or")
        if item.tag != "comma" or in_list or after.tag == "unit" or listed_periods(items, at, after):
            kept.append(item)
    return kept


def _distinct(read: Sequence[_Read]) -> list[_Read]:
    found: dict[Plan, _Read] = {}
    for one in read:
        found.setdefault(one.reading.plan, one)
    return list(found.values())


def _shortened(word: str) -> str:
    return word if len(word) <= _SHOWN_MAX else f"{word[: _SHOWN_MAX - 1]}…"


def _lost(asked: Sequence[Word], ways: Sequence[Path], links: TableLinks) -> Understanding:
    """No reading: what is known of it is told, if it is about the table at all."""
    best = ways[0] if ways else Path((), 0.0)
    tags = [item.tag for item in best.items]
    if not any(tag in _STRUCTURE for tag in tags):
        return NotAboutTables()
    known = sum(tag != "wh" for tag in tags)
    fit = known / (known + len(best.unknown))
    # What the question would be without its unknown words is offered, and never computed (decision 0030).
    fewer = [Path(way.items, way.cost) for way in ways if way.unknown == best.unknown]
    readings = tuple(one.reading for one in _distinct(_readings(fewer, links))[:READINGS_MAX])
    if best.unknown:
        shown = ", ".join(_shortened(word) for word in best.unknown)
        return AskedBack(best.unknown, f"These words have no meaning in the table: {shown}.", readings, fit)
    reason = _as_text(best, links.table) or "The words are known, but not what they ask together."
    return AskedBack((), reason, (), fit, unclear=True)


def _as_text(way: Path, table: TableProfile) -> str:
    """Why a column that the words name has no numbers, where its cells look like some."""
    named = (item.value.name for item in way.items if item.tag == "column" and isinstance(item.value, Column))
    beginnings = tuple(f"Column {name}: " for name in named)
    return next((note for note in table.notes if note.startswith(beginnings) and note.endswith(READ_AS_TEXT)), "")
