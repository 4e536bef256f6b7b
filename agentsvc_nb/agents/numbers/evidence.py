"""The tables that an answer may use, with the names of their rows and the words of their columns."""

from __future__ import annotations

import calendar
import math
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from agentsvc_nb.agents.numbers.words import (
    CURRENCIES,
    DAYS,
    MONTHS,
    SCALES,
    STOP,
    UNITS,
    WORD,
    stem,
    stems,
    synonyms,
    words,
)

ROWS_MAX: Final = 2_000
"""Rows that are searched in each table."""
TABLES_MAX: Final = 20
"""Tables that are searched, latest first."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table that a tool returned.

    Attributes:
        labels: the names that the agent gave to columns.
        call_id: the call that returned the table.
        replaced: a later result replaced the table, which now serves only for comparison with it.
    """

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    labels: Mapping[str, str] = field(default_factory=dict)
    call_id: str | None = None
    replaced: bool = False


_KEY_NAME: Final = re.compile(
    r"(?:^|_)(?:id|year|yr|month|week|wk|quarter|qtr|day|hour|hr|no|nr|code|zip|rank|line|round|lap|stage|season|cohort|floor"
    r"|store|shop|site|room|bin|decile|quartile|cluster|grade|level|position|pos|batch|run|version|number)$",
    re.IGNORECASE,
)
_EDGE: Final = r"(?:^|(?<=[^a-z]))(?:{})s?(?![a-z])"
_PERCENT: Final = re.compile(
    _EDGE.format(r"pct|percent\w*|share|rate|conversion rate|cvr|ctr|margin|growth|change|ratio|utili[sz]ation|return")
    + "|%",
    re.IGNORECASE,
)
_SAYS_PERCENT: Final = re.compile(r"pct|percent|%|(?:^|_)pp(?:_|$)|points", re.IGNORECASE)
_AVERAGED: Final = re.compile(
    _EDGE.format(
        r"avg|average|mean|med|rate|rating|pct|percent\w*|share|ratio|per|cpc|cpa|cpm|ctr|cvr|roas|margin|score|median|index|growth"
        r"|change|rank|temp|p50|p9[059]|min|max|price|factor|tmin|tmax|density|yield|level"
    )
    + "|%",
    re.IGNORECASE,
)
_MONEY: Final = stems(
    "revenue sales cost spend price value budget plan payroll income profit amount salary fee turnover expense bill "
    "worth cpc cpa cpm aov takings wage pay usd eur gbp"
)
_COUNTS: Final = re.compile(
    r"(?:^|_)(?:n|cnt|count|num|qty|quantity|units?|orders?|visits?|visitors|users?|customers?|cust|sessions?|clicks?|pieces|people|hc"
    r"|headcount|tickets?|days?|hours?|hrs?|min|minutes)(?:_|$)",
    re.IGNORECASE,
)
_COUNTED: Final = stems("respondents answers responses base sample people interviews observations cases records")
"""What a column called `n` may count."""
_GENERIC: Final = stems("pct percent eur usd gbp euro dollar total sum id of avg number num count n what which per")
_SCALED_CURRENCY: Final = re.compile(r"^(k|m|mn|bn)(eur|usd|gbp|chf)$|^(?:tsd)$")
_TOTAL_ROW: Final = re.compile(r"\W*(?:grand\W+)?(?:total|all|overall|sum)\W*", re.IGNORECASE)
_GROUP_WORDS: Final = frozenset(map(stem, "group variant version class team plan line site store arm cluster".split()))  # noqa: SIM905
_ISO: Final = re.compile(r"([12][0-9]{3})-([01][0-9])(?:-([0-3][0-9])(?:[T ][0-9:.]+(?:Z|[+-][0-9:]+)?)?)?")
_MONTH: Final = re.compile(r"([12][0-9]{3})[/.]?([01][0-9])()")
_TIME: Final = re.compile(
    r"[12][0-9]{3}|\d{1,2}$|Q[1-4]|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)", re.IGNORECASE
)
_QUARTER: Final = re.compile(r"(?:([12][0-9]{3})\W?)?Q([1-4])(?:\W?([12][0-9]{3}))?", re.IGNORECASE)
_OTHER_NAMES: Final = {
    "de": ("Germany",),
    "fr": ("France",),
    "es": ("Spain",),
    "it": ("Italy",),
    "nl": ("Netherlands",),
    "uk": ("United Kingdom", "Britain"),
    "gb": ("United Kingdom", "Britain"),
    "us": ("United States", "America"),
    "usa": ("United States", "America"),
    "at": ("Austria",),
    "ch": ("Switzerland",),
    "m": ("men", "male"),
    "f": ("women", "female"),
    "female": ("women",),
    "male": ("men",),
} | {day[:3]: (day,) for day in DAYS}


class Column:
    """A column of numbers, and the meaning of its name and label."""

    def __init__(self, index: int, name: str, label: str, values: Sequence[Any]) -> None:
        self.index, self.name = index, name
        self.values = _finite_all(values)
        present = [abs(value) for value in self.values if value is not None]
        said = f"{name} {label}"
        self.name_words = frozenset(words(name)) - _GENERIC - STOP
        self.label_words = stems(label) - _GENERIC - STOP
        self.words = self.name_words | self.label_words or (_COUNTED if _COUNTS.search(name) else stems(said) - STOP)
        self.wide = {word: synonyms(word) for word in self.words}
        name_parts = [word.lower() for word in WORD.findall(name.replace("_", " "))]
        name_parts = [part for word in name_parts for part in (_SCALED_CURRENCY.sub(r"\1 \2", word).split())]
        low = [word.lower() for word in WORD.findall(said.replace("_", " "))]
        marks = [*low, *name_parts, *(sign for sign in "€$£" if sign in said)]
        self.currency = next((CURRENCIES[word] for word in marks if word in CURRENCIES), "")
        self.measure = next(
            (
                UNITS[word]
                for word in [*name_parts[1:], *name_parts[:1], *low]
                if word in UNITS and len(name_parts + low) > 1
            ),
            None,
        )
        self.percent = bool(_PERCENT.search(said)) or any(word in ("fraction", "proportion") for word in low)
        largest = max(present, default=0.0)
        self.fraction = (
            bool(present) and largest <= (1.0 if not self.percent else 1.5) and not _SAYS_PERCENT.search(name)
        )
        if self.fraction and not self.percent and all(value in (0.0, 1.0) for value in present):
            self.fraction = False
        self.averaged = bool(_AVERAGED.search(said)) or self.fraction
        priced = bool(self.currency) or bool(_MONEY & (self.words | stems(name)))
        self.counts = bool(_COUNTS.search(name)) and not priced
        self.money = not self.percent and not self.counts and priced
        self.scale = next(
            (SCALES[word] for word in name_parts[1:] if word in SCALES and word not in ("m", "b", "k")), 1.0
        )
        self._suffix = next((SCALES[word] for word in name_parts[1:] if word in SCALES), 1.0)
        if self.money:
            self.set_money()
        if self.scale == 1.0:
            self.scale = next(
                (SCALES[word] for word in low if word in ("thousand", "thousands", "million", "millions", "billions")),
                1.0,
            )

    def set_money(self) -> None:
        """Treat the column as money, so that `_m` in its name means millions instead of metres."""
        self.money, self.measure = not self.counts, None
        if self.scale == 1.0 and self.money:
            self.scale = self._suffix

    @cached_property
    def ordered(self) -> list[tuple[float, int]]:
        """Return the absolute values with their rows, smallest first."""
        return sorted((abs(value), row) for row, value in enumerate(self.values) if value is not None)

    def near(self, low: float, high: float) -> Iterator[tuple[float, int]]:
        at = bisect_left(self.ordered, (low, -1))
        while at < len(self.ordered) and self.ordered[at][0] <= high:
            yield self.ordered[at]
            at += 1


class IndexedTable:
    """A table that finds rows by the names in its key columns."""

    def __init__(self, table: Table, order: int) -> None:
        self.table, self.order, self.name = table, order, table.name
        width = len(table.columns)
        self.rows = [
            row if len(row) == width else [*row[:width], *[None] * (width - len(row))] for row in table.rows[:ROWS_MAX]
        ]
        columns = list(zip(*self.rows, strict=True)) if self.rows else [()] * width
        self.columns: list[Column] = []
        self.keys: dict[str, dict[str, list[int]]] = {}
        self.key_index: dict[str, int] = {}
        self.numbered: set[str] = set()
        for index, (name, values) in enumerate(zip(table.columns, columns, strict=True)):
            numeric = [value for value in values if type(value) in (int, float)]
            label = table.labels.get(name, "")
            texts = 0 if len(numeric) == len(values) else sum(isinstance(value, str) for value in values)
            if not numeric and not texts:
                continue
            if len(numeric) > texts and not _names_rows(name, not self.columns, numeric):
                self.columns.append(Column(index, str(name), label, values))
                continue
            where: dict[str, list[int]] = defaultdict(list)
            for row, value in enumerate(values):
                if value is not None:
                    where[_key_text(value)].append(row)
            dimension = str(name).lower()
            self.keys[dimension], self.key_index[dimension] = where, index
            if len(numeric) > texts:
                self.numbered.add(dimension)
        self.totals = {
            row
            for where in self.keys.values()
            for key, rows in where.items()
            if _TOTAL_ROW.fullmatch(key)
            for row in rows
        }
        self.body = [row for row in range(len(self.rows)) if row not in self.totals]
        first = next(iter(self.keys.values()), {})
        self.in_time = bool(first) and all(_TIME.match(key) for key in first)
        self.fits: dict[frozenset[str], dict[int, float]] = {}
        self._totals: dict[tuple[int, int | tuple[int, ...]], tuple[float, int]] = {}
        shared: dict[str, int] = defaultdict(int)
        for column in self.columns:
            for word in column.words:
                shared[word] += 1
        self.weights = {word: 1.0 / count for word, count in shared.items()}
        priced = {word for column in self.columns if column.money for word in column.name_words}
        for column in self.columns:
            if priced and not column.percent and (column.name_words & priced or column.name.endswith(("_m", "_k"))):
                column.set_money()

    def key(self, row: int) -> str:
        """Return the name of a row."""
        return ", ".join(
            _key_text(self.rows[row][index]) for index in self.key_index.values() if self.rows[row][index] is not None
        )

    def total(self, column: Column, rows: Sequence[int]) -> tuple[float, int]:
        """Return the sum of a column over these rows, and the number of its values there."""
        key = (column.index, -1 if rows is self.body else tuple(rows))
        if key not in self._totals:
            values = [value for row in rows if (value := column.values[row]) is not None]
            self._totals[key] = sum(values), len(values)
        return self._totals[key]

    def alike(self, *indices: int) -> bool:
        """Return True if the names of the columns share a word, such as `hc_start` and `hc_end`."""
        names = [column.name_words for column in self.columns if column.index in indices]
        return len(names) == len(indices) and bool(frozenset.intersection(*names))


Values = dict[str, frozenset[str]]
"""The keys that a mention may mean, by dimension (the name of a key column)."""


@dataclass(frozen=True, slots=True)
class Mention:
    """The name of a row in a text."""

    start: int
    end: int
    values: Values


class Names:
    """The possible spellings of all rows' names."""

    def __init__(self, tables: Sequence[IndexedTable], present: frozenset[str]) -> None:
        """Collect the names whose stems are in `present`, the stems of the searched texts."""
        self._phrases: dict[tuple[str, ...], dict[str, set[str]]] = {}
        self._short: set[tuple[str, ...]] = set()
        done: set[tuple[str, str]] = set()
        for table in tables:
            columns = {word for column in table.columns for word in column.words}
            for dimension, where in table.keys.items():
                self._add(dimension, where, columns, dimension in table.numbered, present, done)
        self._lengths: dict[str, set[int]] = defaultdict(set)
        for phrase in self._phrases:
            self._lengths[phrase[0]].add(len(phrase))

    def _add(
        self,
        dimension: str,
        where: Mapping[str, list[int]],
        columns: set[str],
        numbered: bool,
        present: frozenset[str],
        done: set[tuple[str, str]],
    ) -> None:
        nouns = [word for word in words(dimension) if word not in ("id", "no", "nr", "number", "code")][-1:]
        by_word: dict[str, set[str]] = defaultdict(set)
        for value in where:
            parts = tuple(words(value[:200]))
            likely = len(value) < 4 or "-" in value or (parts and not present.isdisjoint((parts[0], parts[-1])))
            if likely and (dimension, value) not in done:
                done.add((dimension, value))
                for phrase in _spellings(value, parts, nouns, numbered):
                    self._phrases.setdefault(phrase, defaultdict(set))[dimension].add(value)
            for word in set(parts):
                if word in present and len(word) > 2 and not word.isdigit() and word not in STOP:
                    by_word[word].add(value)
        for word, values in by_word.items():
            if len(values) == 1 and (word,) not in self._phrases and word not in columns:
                self._phrases.setdefault((word,), defaultdict(set))[dimension] |= values

    def mentions(self, text: str, offset: int = 0) -> list[Mention]:
        """Return the names in a text. If several start at one word, take the longest. Positions count from `offset`."""
        tokens = [
            (token.start(), token.end(), stem(token[0]))
            for token in WORD.finditer(text)
            if token[0] not in ("st", "nd", "rd", "th") or not text[token.start() - 1 : token.start()].isdigit()
        ]
        found: list[Mention] = []
        at = 0
        while at < len(tokens):
            for length in sorted(self._lengths.get(tokens[at][2], ()), reverse=True):
                phrase = tuple(token[2] for token in tokens[at : at + length])
                values = self._phrases.get(phrase)
                start, end = tokens[at][0], tokens[min(at + length, len(tokens)) - 1][1]
                if values and _is_name(text[start:end], values):
                    found.append(
                        Mention(start + offset, end + offset, {dim: frozenset(one) for dim, one in values.items()})
                    )
                    at += length - 1
                    break
            at += 1
        return found


def _is_name(written: str, values: Mapping[str, set[str]]) -> bool:
    """Return False for common words such as `it`, `may` and `other`, unless they are spelled like the name."""
    low = written.lower()
    if len(written) <= 4 and low == written and not written.isdigit():
        return any(low == value for one in values.values() for value in one) or not any(
            value[:1].isupper() or _ISO.fullmatch(value) for one in values.values() for value in one
        )
    if low in ("other", "others", "all", "total", "overall", "none", "unknown", "march"):
        return written[0].isupper()
    return True


def _spellings(value: str, parts: tuple[str, ...], nouns: Sequence[str], numbered: bool) -> Iterator[tuple[str, ...]]:
    """Yield the phrases (as stems) with which a text may name a key."""
    if date := _ISO.fullmatch(value) or _MONTH.fullmatch(value):
        month_number = min(max(int(date[2]), 1), 12)
        year, month, quarter = date[1], stem(MONTHS[month_number - 1]), str((month_number + 2) // 3)
        yield parts
        yield from ((month,), (month, year), ("q", quarter), ("q", quarter, year), (year, "q", quarter), (year,))
        if day := date[3] and str(int(date[3])):
            yield from ((month, day), (day, month), (month, day, year), (day, month, year), (day, "of", month))
            yield (month, f"{int(day):02}")
            weekday = (calendar.weekday(int(year), month_number, 1) + int(day) - 1) % 7
            yield from ((stem(DAYS[weekday]),), (stem("weekend" if weekday > 4 else "weekday"),))
        return
    if quarter_of := _QUARTER.fullmatch(value):
        year, quarter = quarter_of[1] or quarter_of[3] or "", quarter_of[2]
        yield from (parts, ("q", quarter), ("q", quarter, year), (year, "q", quarter), (year,))
        return
    if value.isdigit():
        number = str(int(value)) if len(value) < 10 else value
        yield from ((noun, number) for noun in nouns)
        if len(value) == 4 and value[:2] in ("19", "20"):
            yield (value,)
        elif nouns == ["month"] and 1 <= int(value) <= 12:
            yield (stem(MONTHS[int(value) - 1]),)
        elif nouns in (["quarter"], ["qtr"]):
            yield ("q", number)
        elif len(value) > 4 and not numbered:
            yield (value,)
        return
    if len(value) == 1:
        yield from ((noun, *parts) for noun in {*nouns, *_GROUP_WORDS} if parts)
    elif parts:
        yield parts
    yield from (tuple(words(other)) for other in _OTHER_NAMES.get(value.lower(), ()))


def _names_rows(name: str, leading: bool, values: Sequence[Any]) -> bool:
    """Return True if whole numbers are names, such as years or ids."""
    if any(isinstance(value, float) and not value.is_integer() for value in values):
        return False
    if all(1900 <= value < 2100 for value in values) and (
        leading or re.search("year|yr|season|cohort", name, re.IGNORECASE)
    ):
        return True
    return (leading and bool(_KEY_NAME.search(name))) or name.lower().endswith(
        ("_id", "year", "month", "week", "quarter")
    )


def _key_text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value).strip()
    return text[:10] if _ISO.fullmatch(text) and len(text) > 10 else text


def _finite_all(values: Sequence[Any]) -> list[float | None]:
    """Return cells as floats, or None for cells that are not finite numbers."""
    try:
        return [float(value) if type(value) in (int, float) and value - value == 0 else None for value in values]
    except OverflowError:
        return [_finite(value) for value in values]


def _finite(value: Any) -> float | None:
    """Return a cell as a float, or None if it is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
