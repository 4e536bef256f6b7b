"""Describe a table for the question parser: its columns and what they can be used for, and the nouns that mean a
row.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Literal

from agentsvc_nb.agents.offline.calculation import Measure
from agentsvc_nb.agents.offline.lexicon import (
    BEGINNINGS,
    EVENT_NOUNS,
    GENERAL_HEADERS,
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
class ProfiledColumn:
    """A column of the table. `unique` is True if each row has a different value."""

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
        """Return True if calculations may use the column's values: they are numbers, but not ids."""
        return self.kind == "number" and not self.is_id

    @cached_property
    def additive(self) -> bool:
        """Return True if a sum over rows makes sense. Example: costs add up, but prices and percentages do not."""
        rarely = set(self.words) & NOT_ADDITIVE or set(self.words) <= PERIODS
        return self.is_amount and self.profile.unit != "%" and not rarely

    @cached_property
    def truths(self) -> tuple[str | bool, str | bool] | None:
        """Return the values that mean yes and no, or None if the column does not have both."""
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


class ProfiledTable:
    """A table of the chat with its columns, and what the parser must know about its rows."""

    def __init__(self, profile: TableProfile) -> None:
        self.profile = profile
        self.name = profile.name
        self.columns = tuple(
            ProfiledColumn(column, column.distinct == profile.rows > 1 and not column.empty and not column.unread)
            for column in profile.columns
        )
        self._by_name = {column.name: column for column in self.columns}

    def column(self, name: str) -> ProfiledColumn:
        return self._by_name[name]

    @cached_property
    def key(self) -> ProfiledColumn | None:
        """Return the column that identifies the rows: the first unique column that is a text or an id, or None."""
        unique = [one for one in self.columns if one.unique and (one.kind == "text" or one.is_id)]
        return unique[0] if unique else None

    @cached_property
    def row_nouns(self) -> frozenset[str]:
        """Return the stems of nouns that mean a row: the table's name, the name of the column that identifies rows, and
        general words such as `record`.
        """
        headers = {word for column in self.columns if column != self.key for word in column.words}
        *others, last = split_header(self.name) or [""]
        # Rows of `support_tickets_q1` are tickets, because `tickets` is a plural and no column has this name.
        plurals = {stem(word) for word in others if stem(word) != word} - headers
        nouns = set(ROW_NOUNS) | {stem(last)} | plurals
        if self.key:
            nouns |= set(self.key.words[:-1] if self.key.is_id else self.key.words)
        return frozenset(nouns | PEOPLE if nouns & PEOPLE else nouns)

    def has_type_column(self, noun: str) -> bool:
        """Return True if the noun means the rows of a log, and also names a column with the types of the rows."""
        named = [one for one in self.columns if one.kind == "text" and one.words == (noun,)]
        moments = any(one.unique and one.profile.kind == "datetime" for one in self.columns)
        is_log = noun in EVENT_NOUNS or (noun in self.row_nouns and moments)
        return is_log and any(one.profile.distinct < self.profile.rows for one in named)

    def repeated_id(self, noun: str) -> ProfiledColumn | None:
        """Return the column with ids of what the noun means if several rows have the same id, else None.

        Example: the column of order numbers, if a table of orders has one row for each item of an order.
        """
        if noun not in self.row_nouns - ROW_NOUNS:
            return None
        for place, column in enumerate(self.columns):
            named = column.words == (noun, *column.words[-1:]) and column.is_id
            general = place == 0 and set(column.words) <= GENERAL_HEADERS
            ids = named or (general and bool(column.values) and all(re.search(r"\d", one) for one in column.values))
            if ids and not column.unique and 0 < column.profile.distinct < self.profile.rows - column.profile.empty:
                return column
        return None

    def is_repeated_id(self, measure: Measure) -> bool:
        """Return True if the measure counts the ids of a column that repeats them (see `repeated_id`)."""
        if measure.agg != "distinct":
            return False
        ids = [self.repeated_id(noun) for noun in self.row_nouns]
        return any(column is not None and column.name == measure.column for column in ids)

    @cached_property
    def first_date(self) -> ProfiledColumn | None:
        """Return the only column that says when a row's event began, or None. Example: `tickets per week` uses this
        column.
        """
        began = [
            column
            for column in self.columns
            if column.kind == "date" and not column.nullable and {root(word) for word in column.words} & BEGINNINGS
        ]
        return began[0] if len(began) == 1 else None

    @cached_property
    def default_date(self) -> ProfiledColumn | None:
        """Return the column to which a date refers if the question names no column, or None.

        This is the only date column. If there are several, it is the only one that is named after the rows. Example:
        `Order date` in a table of orders.
        """
        dates = [column for column in self.columns if column.kind == "date"]
        own = [column for column in dates if set(column.words) - {"date"} <= self.row_nouns]
        return dates[0] if len(dates) == 1 else own[0] if len(own) == 1 else None
