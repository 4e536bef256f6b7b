"""The columns of a table by what they are for: amounts, names, dates, years; and what their headers mean."""

from __future__ import annotations

import re
from datetime import date
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

from agentsvc_nb.agents.offline.languages.english import ENGLISH
from agentsvc_nb.agents.offline.languages.language import Vocabulary, in_english
from agentsvc_nb.agents.offline.tables.question import alike, opened
from agentsvc_nb.documents.normalization import tokens
from agentsvc_nb.documents.plans.plan import Column
from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile
from agentsvc_nb.documents.plans.roles import is_identifier, is_label, is_per_unit, is_ratio

NAMES: Final = frozenset(tokens("name title nom nombre bezeichnung titel"))
_UNIT_WORDS: Final = {
    "€": ("€", "eur", "euro", "euros"),
    "$": ("$", "usd", "dollar", "dollars"),
    "£": ("£", "gbp", "pound", "pounds"),
    "%": ("%", "percent", "pct", "prozent", "pourcent"),
    "kg": ("kg", "kilo", "kilos", "kilogram", "kilograms"),
    "km": ("km", "kilometers", "kilometres", "kilometer"),
    "m": ("m", "meters", "metres", "meter"),
    "s": ("s", "seconds", "sec", "second"),
}
_AMOUNTS: Final = {
    "earning": (("revenue", "sales", "turnover", "takings", "income"), ("total",), ("gross",), ("fare",)),
    "billing": (("billed", "invoiced", "charged"), ("revenue", "turnover"), ("total",), ("amount",)),
    "coming": (("total",), ("amount",), ("revenue", "turnover")),
    "income": (("revenue", "sales", "turnover", "takings", "income"), ("total",)),
    "spending": (("cost", "spend", "spent", "expense"), ("paid",), ("total",)),
}
"""Nouns of columns for what a verb asks, the nearest first."""
UNITS: Final = frozenset(
    tokens("eur usd gbp chf kg km cm mm m g t l h ms s sec min mins percent pct in of the per c w kwh")
)
"""Words that say in what something is measured, or stand between such."""
_SHORT: Final = re.compile(r"\b([^\W\d_]{3,})\.")
_BRACKETED: Final = re.compile(r"[(\[]\s*([^()\[\]]+?)\s*[)\]]")
_WRITTEN_UNITS: Final = {
    "h": "hour hours stunde stunden heure heures hora horas",
    "min": "minute minutes minuten minuto minutos",
    "s": "second seconds sekunden secondes segundos",
    "km": "kilometer kilometres kilometers kilometern kilometres kilometros",
    "m": "meter metres meters metern metres metros",
    "mm": "millimeter millimetres millimetern millimetres milimetros",
    "kg": "kilo kilos kilogramm kilogrammes kilogramos",
    "€": "eur euro euros",
    "°c": "c grad degrees degres grados celsius",
    "%": "percent prozent pourcent",
}
_PERIODS: Final = (("day", 1, 1.6), ("week", 6.5, 8), ("month", 28, 33), ("quarter", 85, 95), ("year", 360, 370))


def title_words(table: TableProfile) -> frozenset[str]:
    """The words of what the file and its sheet are called."""
    titles = (PurePosixPath(table.path).stem, table.sheet)
    return frozenset(word for title in titles for word in tokens(title) if word.isalpha() and len(word) > 1)


class TableColumns:
    """A table's columns, as questions in a language speak of them."""

    def __init__(self, table: TableProfile, language: Vocabulary) -> None:
        self.table, self.language = table, language
        self.headers = {column.name: tuple(tokens(column.name)) for column in table.columns}

    def column(self, name: str) -> Column:
        return Column(self.table.name, name)

    def profile(self, column: Column) -> ColumnProfile:
        return self.table.column(column.name)

    @cached_property
    def opened_headers(self) -> dict[str, tuple[str, ...]]:
        """Headers with the words that compounds are made of."""
        return {name: opened(header) for name, header in self.headers.items()}

    @cached_property
    def meant(self) -> dict[str, frozenset[str]]:
        """The words of headers, and what they mean in English."""
        return {
            name: frozenset(header)
            | frozenset(meant for word in self.opened_headers[name] for meant in {word, *in_english(word)})
            for name, header in self.headers.items()
        }

    @cached_property
    def shortened(self) -> dict[str, tuple[str, ...]]:
        """The words of headers that are written short, as `Conv. value` has one."""
        return {name: tuple(map(str.casefold, _SHORT.findall(name))) for name in self.headers}

    @property
    def has_money(self) -> bool:
        return any(column.unit in ("€", "$", "£") or len(column.unit) == 3 for column in self.table.columns)

    @cached_property
    def units(self) -> dict[str, str]:
        """The units of columns, by the words for them."""
        found: dict[str, str] = {}
        for column in self.table.columns:
            found |= {word: word for word in self._in_brackets(column.name) if word in UNITS}
            for word in _UNIT_WORDS.get(column.unit, (column.unit.casefold(),)) if column.unit else ():
                found[word] = column.unit
        return found

    def _in_brackets(self, header: str) -> list[str]:
        return [word for aside in _BRACKETED.findall(header) for word in tokens(aside)]

    @cached_property
    def title_words(self) -> frozenset[str]:
        """The words of the file's name and of its sheet's."""
        return title_words(self.table)

    @cached_property
    def header_units(self) -> frozenset[str]:
        """Words for the units that stand in brackets in headers, as `Duration (h)`."""
        named = {found[1].casefold() for column in self.table.columns for found in _BRACKETED.finditer(column.name)}
        return frozenset(word for unit in named for word in (unit, *_WRITTEN_UNITS.get(unit, "").split()))

    def numbers(self) -> list[ColumnProfile]:
        """Columns with which it makes sense to compute."""
        return [one for one in self.table.columns if one.kind == "number" and self.is_measure(one)]

    def is_measure(self, column: ColumnProfile) -> bool:
        """Whether its numbers are amounts, and not names of something."""
        return (
            column.kind == "number"
            and not is_label(column)
            and not is_identifier(column, self.table)
            and bool(column.name.strip("# "))
            and not self._is_numbering(column)
        )

    def _is_numbering(self, column: ColumnProfile) -> bool:
        """Whether the rows are only numbered: from 1 to their last."""
        ends = (column.smallest, column.largest)
        return self.table.rows > 2 and self.is_key(column) and ends == ("1", str(self.table.rows))

    def adds_up(self, column: ColumnProfile) -> bool:
        """Whether a sum of the column is a number that means something."""
        # Headers are often English in tables of other languages.
        levels = self.language.levels | ENGLISH.levels
        return self.is_measure(column) and not is_ratio(column) and self.meant[column.name].isdisjoint(levels)

    def has_no_sum(self, column: ColumnProfile) -> bool:
        return not self.meant[column.name].isdisjoint(self.language.unsummed | ENGLISH.unsummed)

    def is_key(self, column: ColumnProfile) -> bool:
        """Whether no two rows have the same value."""
        return column.distinct >= self.table.rows - column.empty and column.distinct > 0

    def label(self, named: bool = False) -> Column | None:
        """The column that names the rows: of texts, no two of which are equal; called a name, or the only one unless
        `named` says that it has to be."""
        keys = [one for one in self.table.columns if one.kind == "text" and self.is_key(one) and not one.empty]
        keys = [one for one in keys if not is_identifier(one, self.table)]
        called = [one for one in keys if not NAMES.isdisjoint(self.headers[one.name])]
        found = called or ([] if named else keys)
        return self.column(found[0].name) if len(found) == 1 else None

    def name_beside(self, key: Column) -> Column:
        """The names of what an identifier tells apart, where nearly each row has another: nobody asks for a number."""
        names = [
            one
            for one in self.table.columns
            if one.kind == "text" and not one.empty and not NAMES.isdisjoint(self.headers[one.name])
        ]
        nearly = [one for one in names if 10 * one.distinct >= 8 * self.table.rows and one.name != key.name]
        identifies = is_identifier(self.profile(key), self.table)
        return self.column(nearly[0].name) if identifies and len(nearly) == 1 else key

    def is_list(self, column: ColumnProfile) -> bool:
        """Whether cells of the column rather hold several values each."""
        several = sum(1 for value in column.values if ", " in value or "\n" in value)
        return column.kind == "text" and 3 * several > len(column.values)

    def dates(self) -> list[ColumnProfile]:
        return [one for one in self.table.columns if one.kind in ("date", "datetime")]

    def row_period(self) -> str:
        """The period that each row is of another one of, by its date."""
        keys = [one for one in self.dates() if self.is_key(one)]
        low, high = (day_of(keys[0].smallest), day_of(keys[0].largest)) if len(keys) == 1 else (None, None)
        if low is None or high is None or self.table.rows < 3:
            return ""
        days = (high - low).days / (self.table.rows - 1)
        return next((name for name, least, most in _PERIODS if least <= days <= most), "")

    def amount(self, *tiers: tuple[str, ...]) -> Column | None:
        """The one column of amounts with the nearest nouns; None if there are several, or none."""
        for nouns in tiers:
            found = [one for one in self.table.columns if self.adds_up(one) and not is_per_unit(one)]
            found = [one for one in found if any(alike(noun, word) for noun in nouns for word in self.meant[one.name])]
            plain = [one for one in found if len(self.headers[one.name]) == 1]
            if found:
                chosen = plain if len(plain) == 1 else found
                return self.column(chosen[0].name) if len(chosen) == 1 else None
        return None

    def amount_of(self, verb: str) -> Column | None:
        """What `how much did we earn` asks for: the one column that says so."""
        return self.amount(*_AMOUNTS.get(verb, ()))

    def size(self) -> Column | None:
        """By what a row is the largest, where nothing else is said: its one amount of money."""
        return self.amount(("revenue", "sales", "turnover", "total", "amount", "value", "cost", "price"))

    def row_dates(self) -> Column | None:
        """The dates of which each row has another one."""
        keys = [one for one in self.dates() if self.is_key(one)]
        return self.column(keys[0].name) if len(keys) == 1 else None

    def main_dates(self) -> list[ColumnProfile]:
        """The dates that a period without a column's name is of: the only ones, or of several those of each row."""
        dates = self.dates()
        full = [one for one in dates if not one.empty]
        return full if len(full) == 1 else dates

    def identifier(self) -> Column | None:
        """The one column that tells the rows apart."""
        found = [one for one in self.table.columns if is_identifier(one, self.table)]
        return self.column(found[0].name) if len(found) == 1 else None

    def years(self) -> list[ColumnProfile]:
        """Columns of numbers that are years."""
        return [one for one in self.table.columns if one.kind == "number" and _is_years(one)]

    def named(self, *nouns: str) -> list[ColumnProfile]:
        """Columns whose header has one of the nouns."""
        return [
            one
            for one in self.table.columns
            if any(alike(noun, word) for noun in nouns for word in self.meant[one.name])
        ]


def _is_years(column: ColumnProfile) -> bool:
    low, high = column.smallest, column.largest
    return low.isdecimal() and high.isdecimal() and len(low) == len(high) == 4 and "1500" <= low <= high <= "2200"


def day_of(text: str) -> date | None:
    """The day of a profile's smallest or largest value."""
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None
