"""Index tables in tool results: number columns, and keys (names of rows) by column (dimension). Find keys in texts."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

from agentsvc_nb.agents.numbers.words import CURRENCIES, MONTHS, SCALES, STOP, UNITS, WORD, stem, stems, words

ROWS_MAX: Final = 2_000
"""The maximum number of rows to search in each table."""
TABLES_MAX: Final = 20
"""The maximum number of tables to search. The latest tables have priority."""


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table that a tool returned.

    Attributes:
        labels: what the columns mean, as the agent described them in its call.
        call_id: the call that returned the table.
        replaced: True if a later result replaced the table. The table is then a source only for numbers that the answer
            describes as earlier.
    """

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    labels: Mapping[str, str] = field(default_factory=dict)
    call_id: str | None = None
    replaced: bool = False


_KEY_NAME: Final = re.compile(
    r"(?:^|_)(?:id|year|yr|month|week|quarter|day|hour|no|nr|code|zip|rank|line|round|stage|season|cohort|grade|level|batch"
    r"|version|number)$",
    re.IGNORECASE,
)
_WORDS: Final = r"(?:^|(?<=[^a-z]))(?:{})s?(?![a-z])"
_PERCENT: Final = re.compile(
    _WORDS.format(r"pct|percent\w*|share|rate|cvr|ctr|margin|growth|change|ratio|utili[sz]ation|fraction|proportion")
    + "|%",
    re.IGNORECASE,
)
_SAYS_PERCENT: Final = re.compile(r"pct|percent|%|(?:^|_)pp(?:_|$)|points", re.IGNORECASE)
_AVERAGED: Final = re.compile(
    _WORDS.format(
        r"avg|average|mean|median|rating|per|cp[acm]|roas|score|index|rank|temp|p50|p9[059]|min|max|price|factor|density|yield"
    ),
    re.IGNORECASE,
)
_MONEY: Final = stems(
    "revenue sales cost spend price value budget plan payroll income profit amount salary fee turnover expense wage "
    "usd eur gbp"
)
_GENERIC: Final = (
    stems("pct percent eur usd gbp euro dollar total sum id of avg number num count n what which per") | STOP
)
_SCALED_CURRENCY: Final = re.compile(r"\b(k|m|mn|bn)(eur|usd|gbp|chf)\b")
_TOTALS: Final = frozenset({"total", "totals", "grand total", "all", "overall", "sum"})
_GAP_CHARS: Final = 2
"""The maximum number of characters between two words of a name."""
_ISO: Final = re.compile(r"([12][0-9]{3})-([01][0-9])(?:-([0-3][0-9])(?:[T ][0-9:.]+(?:Z|[+-][0-9:]+)?)?)?")
_MONTH: Final = re.compile(r"([12][0-9]{3})[/.]?([01][0-9])()")
_QUARTER: Final = re.compile(r"(?:([12][0-9]{3})\W?)?Q([1-4])(?:\W?([12][0-9]{3}))?", re.IGNORECASE)


class NumberColumn:
    """A column of numbers, with what its name and label say about the numbers.

    Attributes:
        words: the stems of its name and label, without general words such as `total`.
        percent: True if its values are shares or rates. If `fraction` is also True, 0.12 means 12 %.
        averaged: True if a total of its values makes no sense, but a mean does.
        money: True if its values are amounts of money.
        measure: the quantity that its unit measures, such as time, and the unit's size in the smallest unit of this
            quantity.
        scale: 1,000 if its values are in thousands, and so on.
    """

    def __init__(self, index: int, name: str, label: str, values: Sequence[Any]) -> None:
        self.index, self.name = index, name
        self.values = _finite_all(values)
        said = f"{name} {label}"
        self.name_words, label_words = frozenset(words(name)) - _GENERIC, stems(label) - _GENERIC
        self.words = self.name_words | label_words or stems(said) - STOP
        self.namings = [part for part in (self.name_words, label_words, self.words) if part]
        parts = WORD.findall(_SCALED_CURRENCY.sub(r"\1 \2", name.replace("_", " ").lower()))
        low = WORD.findall(label.lower())
        marks = [*parts, *low, *(sign for sign in "€$£" if sign in said)]
        self.currency = next((CURRENCIES[word] for word in marks if word in CURRENCIES), "")
        own = parts[: parts.index("per")] if "per" in parts else [*parts[1:], *low]
        self.measure = next((UNITS[word] for word in own if word in UNITS), None)
        self.percent = bool(_PERCENT.search(said))
        largest = max((abs(value) for value in self.values if value is not None), default=2.0)
        self.fraction = largest <= (1.5 if self.percent else 1.0) and not _SAYS_PERCENT.search(name)
        self.averaged = self.percent or self.fraction or bool(_AVERAGED.search(said))
        priced = bool(self.currency) or bool(_MONEY & (self.words | stems(name)))
        self.money = priced and not self.percent
        self.scale = next((SCALES[word] for word in [*parts[1:], *low] if word in SCALES and len(word) > 1), 1.0)
        self._suffix = next((SCALES[word] for word in parts[1:] if word in SCALES), 1.0)
        if self.money:
            self.set_money()

    def set_money(self) -> None:
        """Treat the column as money, so that `_m` in its name means millions instead of metres."""
        self.money, self.measure = True, None
        if self.scale == 1.0:
            self.scale = self._suffix

    @cached_property
    def ordered(self) -> list[tuple[float, int]]:
        """Return pairs of an absolute value and its row, smallest value first."""
        return sorted((abs(value), row) for row, value in enumerate(self.values) if value is not None)

    def near(self, low: float, high: float) -> Iterator[int]:
        """Yield the rows whose absolute values are from `low` to `high`."""
        at = bisect_left(self.ordered, (low, -1))
        while at < len(self.ordered) and self.ordered[at][0] <= high:
            yield self.ordered[at][1]
            at += 1


class IndexedTable:
    """A table with an index of its row names.

    Attributes:
        columns: the columns with numbers.
        keys: the rows of each key, by dimension (the lower-case name of the column that has the keys).
        body: the positions of all rows that are not totals.
    """

    def __init__(self, table: SourceTable, order: int) -> None:
        self.table, self.order, self.name = table, order, table.name
        width = len(table.columns)
        self.rows = [
            row if len(row) == width else [*row[:width], *[None] * (width - len(row))] for row in table.rows[:ROWS_MAX]
        ]
        columns = list(zip(*self.rows, strict=True)) if self.rows else [()] * width
        self.columns: list[NumberColumn] = []
        self.keys: dict[str, dict[str, list[int]]] = {}
        self.key_index: dict[str, int] = {}
        for index, (name, values) in enumerate(zip(table.columns, columns, strict=True)):
            kinds = Counter(map(type, values))
            numeric, texts = kinds[int] + kinds[float], kinds[str]
            if numeric > texts and not _names_rows(str(name), not self.columns, values):
                self.columns.append(NumberColumn(index, str(name), table.labels.get(name, ""), values))
            elif numeric or texts:
                where: dict[str, list[int]] = defaultdict(list)
                for row, value in enumerate(values):
                    if value is not None:
                        where[_key_text(value)].append(row)
                dimension = str(name).lower()
                self.keys[dimension], self.key_index[dimension] = where, index
        totals = {
            row
            for where in self.keys.values()
            for key, rows in where.items()
            if key.strip(" *:").lower() in _TOTALS
            for row in rows
        }
        self.body = [row for row in range(len(self.rows)) if row not in totals]
        self.fits: dict[frozenset[str], dict[int, float]] = {}
        self._totals: dict[tuple[int, tuple[int, ...] | None], tuple[float, int]] = {}
        priced = {word for column in self.columns if column.money for word in column.name_words}
        for column in self.columns if priced else ():
            if not column.percent and (column.name_words & priced or column.name.endswith(("_m", "_k"))):
                column.set_money()

    def key(self, row: int) -> str:
        """Return the name of a row: the texts in all its cells that are keys, separated by commas."""
        cells = (self.rows[row][index] for index in self.key_index.values())
        return ", ".join(_key_text(cell) for cell in cells if cell is not None)

    def total(self, column: NumberColumn, rows: Sequence[int]) -> tuple[float, int]:
        """Return the sum of a column's values in the given rows, and how many values there are."""
        key = (column.index, None if rows is self.body else tuple(rows))
        if key not in self._totals:
            values = [value for row in rows if (value := column.values[row]) is not None]
            self._totals[key] = sum(values), len(values)
        return self._totals[key]


Values = dict[str, frozenset[str]]
"""The keys to which words of a text may refer, by dimension."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A passage of a text that names rows: its start and end, and the keys to which it may refer."""

    start: int
    end: int
    values: Values


class Names:
    """Finds names of rows in a text, in all spellings that a text may use."""

    def __init__(self, tables: Sequence[IndexedTable], present: frozenset[str]) -> None:
        """Collect spellings of the tables' keys. `present` contains the stems of the texts to search.

        To save time, skip most keys that cannot occur in these texts.
        """
        self._phrases: dict[tuple[str, ...], dict[str, set[str]]] = {}
        done: set[tuple[str, str]] = set()
        for table in tables:
            columns = {word for column in table.columns for word in column.words}
            for dimension, where in table.keys.items():
                new = [key for key in where if (dimension, key) not in done]
                done.update((dimension, key) for key in new)
                self._add(dimension, new, columns, present)
        self._lengths: dict[str, set[int]] = defaultdict(set)
        for phrase in self._phrases:
            self._lengths[phrase[0]].add(len(phrase))

    def _add(self, dimension: str, keys: Sequence[str], columns: set[str], present: frozenset[str]) -> None:
        nouns = [word for word in words(dimension) if word not in ("id", "no", "nr", "number", "code")][-1:]
        by_word: dict[str, set[str]] = defaultdict(set)
        for key in keys:
            parts = tuple(words(key[:200]))
            if len(key) < 4 or "-" in key or (parts and not present.isdisjoint((parts[0], parts[-1]))):
                for phrase in _spellings(key, parts, nouns):
                    self._phrases.setdefault(phrase, defaultdict(set))[dimension].add(key)
            for word in set(parts) & present:
                if len(word) > 2 and not word.isdigit() and word not in STOP:
                    by_word[word].add(key)
        for word, named in by_word.items():  # a single word of a name is enough if no other name contains the word
            if len(named) == 1 and (word,) not in self._phrases and word not in columns:
                self._phrases.setdefault((word,), defaultdict(set))[dimension] |= named

    def mentions(self, text: str, offset: int = 0) -> list[Mention]:
        """Return the names of rows in a text. Of several names that begin at the same word, return only the longest.

        `offset` is added to the positions of the names.
        """
        tokens = [(token.start(), token.end(), stem(token[0])) for token in WORD.finditer(text)]
        found: list[Mention] = []
        at = 0
        while at < len(tokens):
            for length in sorted(self._lengths.get(tokens[at][2], ()), reverse=True):
                values = self._phrases.get(tuple(token[2] for token in tokens[at : at + length]))
                if any(two[0] - one[1] > _GAP_CHARS for one, two in pairwise(tokens[at : at + length])):
                    continue
                start, end = tokens[at][0], tokens[min(at + length, len(tokens)) - 1][1]
                if values and _is_name(text[start:end], values):
                    keys = {dimension: frozenset(one) for dimension, one in values.items()}
                    found.append(Mention(start + offset, end + offset, keys))
                    at += length - 1
                    break
            at += 1
        return found


def _is_name(written: str, values: Mapping[str, set[str]]) -> bool:
    """Return False if `written` is probably a common word such as `it`, `may` or `other`, and not the name of a row."""
    low = written.lower()
    every = {value for one in values.values() for value in one}
    if len(written) <= 4 and low == written and not written.isdigit():
        return low in every or not any(value[:1].isupper() or _ISO.fullmatch(value) for value in every)
    return written[0].isupper() or low not in ("other", "others", "all", "total", "overall", "none", "unknown", "march")


def _spellings(key: str, parts: tuple[str, ...], nouns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the phrases, as tuples of stems, with which a text may name a key."""
    if date := _ISO.fullmatch(key) or _MONTH.fullmatch(key):
        number = min(max(int(date[2]), 1), 12)
        year, month, quarter = date[1], stem(MONTHS[number - 1]), str((number + 2) // 3)
        yield from (parts, (month,), (month, year), ("q", quarter), ("q", quarter, year), (year, "q", quarter), (year,))
        if day := date[3] and str(int(date[3])):
            yield from ((month, day), (day, month), (month, day, year), (day, month, year), (day, "of", month))
    elif quarter_of := _QUARTER.fullmatch(key):
        year, quarter = quarter_of[1] or quarter_of[3] or "", quarter_of[2]
        yield from (parts, ("q", quarter), ("q", quarter, year), (year, "q", quarter), (year,))
    elif key.isdigit():
        number_text = str(int(key)) if len(key) < 10 else key
        yield from ((noun, written) for noun in nouns for written in {number_text, key})
        if len(key) == 4 and key[:2] in ("19", "20"):
            yield (key,)
        elif nouns == ["month"] and 1 <= int(key) <= 12:
            yield (stem(MONTHS[int(key) - 1]),)
        elif nouns == ["quarter"]:
            yield ("q", number_text)
    elif len(key) == 1:
        yield from ((noun, *parts) for noun in nouns if parts)
    elif parts:
        yield parts


def _names_rows(name: str, leading: bool, values: Sequence[Any]) -> bool:
    """Return True if the numbers of a column are names of rows, such as years or ids."""
    values = [value for value in values if type(value) in (int, float)]
    if not all(value % 1 == 0 for value in values):
        return False
    if all(1900 <= value < 2100 for value in values) and (leading or re.search("year|yr|season", name, re.IGNORECASE)):
        return True
    return bool(_KEY_NAME.search(name)) and (
        leading or name.lower().endswith(("_id", "year", "month", "week", "quarter"))
    )


def _key_text(value: Any) -> str:
    if type(value) is str and len(value) <= 10:
        return value.strip()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value).strip()
    return text[:10] if len(text) > 10 and _ISO.fullmatch(text) else text


def _finite_all(values: Sequence[Any]) -> list[float | None]:
    """Return the cells as floats, with None for cells that are not finite numbers."""
    try:
        if {int, float}.issuperset(map(type, values)) and math.isfinite(sum(values)):
            return list(values)
        return [float(value) if type(value) in (int, float) and value - value == 0 else None for value in values]
    except OverflowError:
        return [_finite(value) for value in values]


def _finite(value: Any) -> float | None:
    if type(value) not in (int, float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
