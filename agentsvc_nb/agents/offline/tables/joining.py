"""A question that no single table has all meanings of, asked of two that are joined by the one key that they share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations
from pathlib import PurePosixPath
from typing import Final

from agentsvc_nb.agents.offline.languages import languages_of
from agentsvc_nb.agents.offline.languages.language import Vocabulary
from agentsvc_nb.agents.offline.tables.columns import title_words
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.agents.offline.tables.links import FoundLinks
from agentsvc_nb.agents.offline.tables.question import Word, alike, words
from agentsvc_nb.agents.offline.tables.understanding import (
    READINGS_MAX,
    AskedBack,
    Understanding,
    Understood,
    by_links,
    understand,
)
from agentsvc_nb.documents.normalization import tokens
from agentsvc_nb.documents.plans.plan import Column, Correlation, Join, Plan, aggregates, columns_of, columns_of_operand
from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile, Tables
from agentsvc_nb.documents.plans.roles import is_label

_TABLES_MAX: Final = 12
_ONCE: Final = ("min", "max", "distinct")
"""Operations to which it makes no difference how often a value stands in the rows."""
_ASKING: Final = frozenset(
    {"count", "wh", "by", "per", "each", "top", "bottom", "most", "sup", "distinct", "number", "op"}
)


class JoinedLinks(TableLinks):
    """The headers and values of a table, and those of another of which each row has one at most."""

    def __init__(self, table: TableProfile, other: TableProfile, key: Key, language: Vocabulary) -> None:
        self.own, self.other, self.key = table, other, key
        names = {column.name for column in table.columns}
        self.shared = frozenset(column.name for column in other.columns if column.name in names)
        # A joined column has at most as many values as keys that the rows name.
        seen = key.own.distinct if key.own.distinct < table.rows else table.rows
        added = tuple(_seen(column, key, seen) for column in other.columns if column.name not in self.shared)
        super().__init__(
            replace(table, columns=(*table.columns, *added)), language, alone=False, elsewhere=title_words(other)
        )
        self._added = {column.name for column in added}
        self._found = FoundLinks()  # of two tables, which are rarely asked together again

    @property
    def tables(self) -> Tables:
        return {self.own.name: self.own, self.other.name: self.other}

    def column(self, name: str) -> Column:
        return Column(self.other.name if name in self._added else self.own.name, name)

    def dates(self) -> list[ColumnProfile]:
        """A day without a column's name is one of the table's own dates."""
        return [one for one in super().dates() if one.name not in self._added]

    def years(self) -> list[ColumnProfile]:
        return [one for one in super().years() if one.name not in self._added]

    def completed(self, plan: Plan) -> Plan | None:
        """The plan with its join, if it reads both tables. None where a column may be of either."""
        read = _columns_of_plan(plan)
        if not any(column.table == self.other.name for column in read):
            return replace(plan, join=None)
        shared = self.shared - ({self.key.own.name} if self.key.own.name == self.key.other.name else set())
        if any(column.name in shared for column in read):
            return None
        pair = (Column(self.own.name, self.key.own.name), Column(self.other.name, self.key.other.name))
        return replace(plan, join=Join(self.other.name, (pair,)))


def _seen(column: ColumnProfile, key: Key, rows: int) -> ColumnProfile:
    """A column of the other table as the joined rows have it. Its key says nothing that the table's own does not."""
    values = () if column.name == key.other.name else column.values
    return replace(column, distinct=min(column.distinct, rows) if rows else 0, values=values)


def _columns_of_plan(plan: Plan) -> list[Column]:
    """The columns that a plan reads, but for its join."""
    found = [*plan.select, *(group.column for group in plan.groups), *columns_of(plan.where)]
    for measure in plan.measures:
        if isinstance(measure, Correlation):
            found += [measure.left, measure.right]
    for one in aggregates(plan.measures):
        found += [*columns_of_operand(one.operand), *columns_of(one.where)]
    return list(dict.fromkeys(found))


def understood_joined(question: str, tables: Sequence[TableProfile]) -> Understanding:
    """What the question asks of one table, or else of two that share one key."""
    found = understand(question, tables)
    if isinstance(found, Understood) or (isinstance(found, AskedBack) and not (found.lost or found.unclear)):
        return found
    for language in languages_of(words(question)):
        asked = words(question, local=language.code != "en")
        # Only pairs of which both are needed: a table that adds no word can only add rows.
        pairs = _needed(asked, tables[:_TABLES_MAX], language)
        tried = [made for one, two in pairs if (made := _of_pair(asked, one, two, language)) is not None]
        # Both directions of a pair are tried; of two that are understood the first is kept.
        read = {_pair(one.reading.plan): one for one in reversed(tried) if isinstance(one, Understood)}
        if len(read) == 1:
            return next(iter(read.values()))
        if read:
            readings = tuple(one.reading for one in read.values())[:READINGS_MAX]
            return AskedBack((), _SEVERAL, readings, 1.0)
        if tried:
            return tried[0]
    return found


def _needed(
    asked: Sequence[Word], tables: Sequence[TableProfile], language: Vocabulary
) -> list[tuple[TableProfile, TableProfile]]:
    """Pairs of tables of which each knows a word that the other does not, and which know together all that are no words
    of the language. The search for readings takes a hundred times as long as this."""
    known = language.light.union(*language.phrases)
    said = [word for word in asked if word.quoted or not known.issuperset(word.tokens)]
    said = [word for word in said if word.number is None and word.day is None]
    met = [_met(asked, TableLinks(table, language, alone=False)) for table in tables]
    return [
        (tables[one], tables[two])
        for one, two in permutations(range(len(tables)), 2)
        if not met[one] <= met[two] and not met[two] <= met[one] and all(word in met[one] | met[two] for word in said)
    ]


def _met(asked: Sequence[Word], links: TableLinks) -> set[Word]:
    """The words that are linked to something of the table, or name it."""
    found: set[Word] = set()
    for start in range(len(asked)):
        for length in range(1, min(_SPAN, len(asked) - start) + 1):
            span = asked[start : start + length]
            if not found.issuperset(span) and links.links(span):
                found.update(span)
    return found | {word for word in asked if any(map(links.is_title, word.tokens))}


_SPAN: Final = 4
_SEVERAL: Final = "Several pairs of tables have an answer to this: name the two files that are meant."


def _pair(plan: Plan) -> frozenset[str]:
    """Two tables of which each row has one partner at most are one pair, whichever comes first."""
    return frozenset((plan.table, plan.join.table)) if plan.join else frozenset((plan.table,))


def _of_pair(
    asked: Sequence[Word], table: TableProfile, other: TableProfile, language: Vocabulary
) -> Understood | AskedBack | None:
    """What is asked of a table with another; None if it is nothing."""
    keys = _candidate_keys(table, other)
    if not keys:
        return None
    links = JoinedLinks(table, other, keys[0], language)
    found = by_links(without_title(asked, links), links)
    if isinstance(found, AskedBack) and not (found.lost or found.unclear):
        return replace(found, reason=_refused(keys, links) or found.reason)
    if not isinstance(found, Understood) or found.reading.plan.join is None:
        return None
    reason = _refused(keys, links) or multiplied(found.reading.plan, links) or _miscounted(asked, found, links)
    return AskedBack((), reason, (), 1.0) if reason else found


def _refused(keys: Sequence[Key], links: JoinedLinks) -> str:
    table, other = links.own.path, links.other.path
    if not keys[0].safe:
        name = keys[0].own.name
        return f"{name} stands in several rows of {table} and of {other}: joined by it, rows would count several times."
    if len(keys) > 1:
        names = " or ".join(dict.fromkeys(key.own.name for key in keys))
        return f"{table} and {other} can be joined by {names}: leave one of these columns in one of the files alone."
    return ""


def multiplied(plan: Plan, links: JoinedLinks) -> str:
    """Why a plan would count values of the other table more than once; empty if it does not."""
    if plan.join is None or links.key.once:
        return ""
    computed = [column for one in plan.measures if isinstance(one, Correlation) for column in (one.left, one.right)]
    for one in aggregates(plan.measures):
        computed += columns_of_operand(one.operand) if one.operation not in _ONCE else []
    twice = [column.name for column in computed if column.table == links.other.name]
    if not twice:
        return ""
    table, other = links.own.path, links.other.path
    return f"A row of {other} belongs to several rows of {table}: {twice[0]} would be counted several times."


def _miscounted(asked: Sequence[Word], found: Understood, links: JoinedLinks) -> str:
    """Rows are counted of the table that is named: of which else is not known."""
    counts = any(one.operation == "count" and one.operand is None for one in aggregates(found.reading.plan.measures))
    said = any(links.is_title(token) for word in asked for token in word.tokens)
    return f"Say which rows are to be counted: those of {links.own.path}?" if counts and not said else ""


def without_title(asked: Sequence[Word], links: JoinedLinks) -> list[Word]:
    """The words without the other table's name where it says no more than what a value or a column is of: `Gold
    customers`, `from customers in Austria`, `customer country`; not where it is what is asked for."""
    other = TableLinks(links.other, links.language)
    kept: list[Word] = []
    for at, word in enumerate(asked):
        is_title = len(word.tokens) == 1 and other.is_title(word.tokens[0])
        if not is_title or not _aside(asked, at, kept, other):
            kept.append(word)
    return kept


def _aside(asked: Sequence[Word], at: int, before: Sequence[Word], other: TableLinks) -> bool:
    whole, behind = asked[at : at + 2], asked[at + 1 : at + 2]
    if any(link.cell is None for link in other.links(behind)):
        return not any(link.cell is None for link in other.links(whole))
    left = list(before)
    while left and any(link.cell is not None for link in other.links(left[-1:])):
        left.pop()
    if _asks(left, other):
        return False
    return len(left) < len(before) or (bool(left) and other.language.light.issuperset(left[-1].tokens))


def _asks(before: Sequence[Word], other: TableLinks) -> bool:
    """Whether the words end with what asks for the noun behind them: `how many`, `which`, `per`."""
    ends = (before[-length:] for length in range(1, 4))
    phrases = (tuple(token for word in end for token in word.tokens) for end in ends)
    return any(part in _ASKING for phrase in phrases for part, _ in other.language.phrases.get(phrase, ()))


def joined_links(plan: Plan, tables: Tables, language: Vocabulary) -> list[TableLinks]:
    """The links of a plan's table, with the table that it joins; without one, then those of each that it can be joined
    to by one key."""
    own = tables[plan.table]
    others = [tables[plan.join.table]] if plan.join else [table for table in tables.values() if table.name != own.name]
    pairs = [(other, _candidate_keys(own, other)) for other in others[:_TABLES_MAX]]
    joined = [JoinedLinks(own, other, keys[0], language) for other, keys in pairs if len(keys) == 1 and keys[0].safe]
    return list(joined) if plan.join else [TableLinks(own, language), *joined]


_IDENTIFIERS: Final = frozenset(
    tokens("id ids nr no num number code key index nummer sku kennung numero clave codigo cle")
)
_CONTAINED_MIN: Final = 2
"""Different values that a column must have at least to be a key by what it holds alone."""


@dataclass(frozen=True, slots=True)
class Key:
    """A column of a table, and one of another. It is `safe` when no two rows of the other have the same value."""

    own: ColumnProfile
    other: ColumnProfile
    safe: bool
    once: bool
    """Whether no two rows of the table itself have the same value."""
    named: bool


def _candidate_keys(table: TableProfile, other: TableProfile) -> list[Key]:
    """The columns that may be meant to tell which rows of two tables belong together: those of one name, and if there
    are none those of which one has all values of the other. Those that are safe, if there are such."""
    found = list(_any_keys(table, other))
    # Columns of one name are meant to belong together; those that merely hold the same values may do so by chance.
    found = [key for key in found if key.named] or found
    return [key for key in found if key.safe] or [key for key in found if not key.once]


def _any_keys(table: TableProfile, other: TableProfile) -> Iterator[Key]:
    for one in table.columns:
        for two in other.columns:
            if one.kind == two.kind and one.kind in ("text", "number") and one.distinct and two.distinct:
                safe, once = _is_once(two, other), _is_once(one, table)
                named = _named_alike(one, two, table, other) and _may_meet(one, two)
                if named or ((safe or once) and _contained(one, two)):
                    yield Key(one, two, safe, once, named)


def _is_once(column: ColumnProfile, table: TableProfile) -> bool:
    return column.distinct == table.rows - column.empty


def _named_alike(one: ColumnProfile, two: ColumnProfile, table: TableProfile, other: TableProfile) -> bool:
    """`customer_id` and `Customer ID`; also `customer_id` and the `id` of customers."""
    first, second = _name_words(one.name), _name_words(two.name)
    if len(first) == len(second) and all(map(alike, first, second)):
        return True
    return _names(first, second, other) or _names(second, first, table)


@lru_cache(5_000)
def _name_words(name: str) -> tuple[str, ...]:
    return tuple(tokens(name))


def _names(written: Sequence[str], key: Sequence[str], table: TableProfile) -> bool:
    if not _IDENTIFIERS.issuperset(key):
        return False
    title = _name_words(PurePosixPath(table.path).stem)
    subject = [word for word in written if word not in _IDENTIFIERS]
    return bool(subject) and len(subject) == len(title) and all(map(alike, subject, title))


def _may_meet(one: ColumnProfile, two: ColumnProfile) -> bool:
    """Whether columns of one name may have values in common; numbers are keys if they are no amounts."""
    if one.kind == "text":
        return not (one.all_values and two.all_values) or not set(one.values).isdisjoint(two.values)
    if not (is_label(one) and is_label(two)):
        return False
    return float(one.smallest) <= float(two.largest) and float(two.smallest) <= float(one.largest)


def _contained(one: ColumnProfile, two: ColumnProfile) -> bool:
    if one.kind != "text" or not (one.all_values and two.all_values):
        return False
    few, many = sorted((set(one.values), set(two.values)), key=len)
    return len(few) >= _CONTAINED_MIN and few <= many
