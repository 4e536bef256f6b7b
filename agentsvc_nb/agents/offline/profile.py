"""Describe a table for the parser: the columns, their uses, and the nouns that mean a row."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Literal

from agentsvc_nb.agents.offline.lexicon import (
    BEGINNINGS,
    ID_WORDS,
    NOT_ADDITIVE,
    PEOPLE,
    PERIODS,
    ROW_NOUNS,
    YES_NO,
    root,
    split_header,
    stem,
)
from agentsvc_nb.documents.tables.profiles import ColumnProfile, TableProfile

Kind = Literal["text", "number", "date", "time", "bool"]


@dataclass(frozen=True)
class Column:
    """A column with its profile. `unique` is True if each row has a different value."""

    profile: ColumnProfile
    unique: bool

    @property
    def name(self) -> str:
        return self.profile.name

    @cached_property
    def kind(self) -> Kind:
        match self.profile.kind:
            case "boolean":
                return "bool"
            case "datetime":
                return "date"
            case kind:
                return kind

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(stem(word) for word in split_header(self.name))

    @property
    def values(self) -> tuple[str, ...]:
        return self.profile.values

    @property
    def nullable(self) -> bool:
        return self.profile.empty > 0

    @cached_property
    def is_id(self) -> bool:
        return bool(set(self.words[-1:]) & ID_WORDS)

    @cached_property
    def is_amount(self) -> bool:
        """Return True for numbers that calculations may use, which excludes ids."""
        return self.kind == "number" and not self.is_id

    @cached_property
    def additive(self) -> bool:
        """Return True if the sum over rows makes sense: costs add up, prices and percentages do not."""
        rarely = set(self.words) & NOT_ADDITIVE or set(self.words) <= PERIODS
        return self.is_amount and self.profile.unit != "%" and not rarely

    @cached_property
    def truths(self) -> tuple[str | bool, str | bool] | None:
        """Return the values that mean yes and no if the column has both."""
        if self.kind == "bool":
            return True, False
        by_case = {value.lower(): value for value in self.values}
        if self.kind != "text" or len(by_case) > 5 or not self.profile.all_values:
            return None
        return next(((by_case[yes], by_case[no]) for yes, no in YES_NO if {yes, no} <= set(by_case)), None)

    @property
    def low(self) -> date | None:
        return _day(self.profile.smallest) if self.kind == "date" else None

    @property
    def high(self) -> date | None:
        return _day(self.profile.largest) if self.kind == "date" else None


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


class Table:
    """A table and its columns."""

    def __init__(self, profile: TableProfile) -> None:
        self.profile = profile
        self.name = profile.name
        self.columns = tuple(
            Column(column, column.distinct == profile.rows > 1 and not column.empty and not column.unread)
            for column in profile.columns
        )
        self._by_name = {column.name: column for column in self.columns}

    def column(self, name: str) -> Column:
        return self._by_name[name]

    @cached_property
    def key(self) -> Column | None:
        """Return the column that names a row: the first unique column that is not an amount or a date."""
        unique = [one for one in self.columns if one.unique and (one.kind == "text" or one.is_id)]
        return unique[0] if unique else None

    @cached_property
    def row_nouns(self) -> frozenset[str]:
        """Return the stems that mean a row: the table's name, the noun of a unique id, and general words."""
        headers = {word for column in self.columns if column != self.key for word in column.words}
        *others, last = split_header(self.name) or [""]
        # Rows of `support_tickets_q1` are tickets, because `tickets` is a plural and not also a column.
        plurals = {stem(word) for word in others if stem(word) != word} - headers
        nouns = set(ROW_NOUNS) | {stem(last)} | plurals
        if self.key:
            nouns |= set(self.key.words[:-1] if self.key.is_id else self.key.words)
        return frozenset(nouns | PEOPLE if nouns & PEOPLE else nouns)

    @cached_property
    def first_date(self) -> Column | None:
        """Return the only column with the start date of a row: `tickets per week` counts by it."""
        began = [
            column
            for column in self.columns
            if column.kind == "date" and not column.nullable and {root(word) for word in column.words} & BEGINNINGS
        ]
        return began[0] if len(began) == 1 else None

    @cached_property
    def default_date(self) -> Column | None:
        """Return the column to which a date without a column name refers: the only date column, or the date column
        named after the rows.
        """
        dates = [column for column in self.columns if column.kind == "date"]
        own = [column for column in dates if set(column.words) - {"date"} <= self.row_nouns]
        return dates[0] if len(dates) == 1 else own[0] if len(own) == 1 else None
