"""The conditions that select the rows a question means: by value, by limit or amount, by month or year."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from operator import ge, gt, le, lt
from typing import Final

from agentsvc_nb.agents.offline.tables import operations as ops
from agentsvc_nb.agents.offline.tables.columns import Filter, best, named_values, parts
from agentsvc_nb.agents.offline.tables.measures import Measure, implied
from agentsvc_nb.agents.offline.tables.operations import places
from agentsvc_nb.agents.offline.words import STOP, stem, stems
from agentsvc_nb.formats.normalization import fold
from agentsvc_nb.formats.queries import tokens
from agentsvc_nb.formats.tables.plain import Table, written

Day = tuple[int, int, int]
"""Year, month and day; 0 for a part that is not given."""

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january januar janvier enero", "february februar fevrier febrero", "march marz mars marzo",
            "april avril abril", "may mai mayo", "june juni juin junio", "july juli juillet julio",
            "august aout agosto", "september septembre septiembre", "october oktober octobre octubre",
            "november novembre noviembre", "december dezember decembre diciembre",
        ), 1)
    for name in names.split()
}  # fmt: skip
_ISO = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?\b")
_MONTH: Final = "|".join(_MONTHS)
_DAY: Final = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE: Final = (
    rf"(?:\d{{4}} \d{{2}}(?: \d{{2}})?(?!\d)|\d{{4}}(?!\d)"
    rf"|(?:{_DAY} (?:of |de )?)?(?:{_MONTH})\b(?: {_DAY}(?!\d))?(?: (?:de |of )?\d{{4}})?)"
)
_FILLER: Final = r"(?: (?:the|year|years|month|of|der|dem|das|jahr|el|la|le|l|ano|annee))*"
# `May` is also a verb, so a month counts only after one of these words.
_WHEN = re.compile(
    rf"\b(?:(?:between|zwischen|entre|from|von|vom|de|desde){_FILLER} (?P<low>{_DATE}) "
    rf"(?:and|und|et|y|to|until|till|through|bis|a|au|hasta){_FILLER} (?P<high>{_DATE})"
    r"|(?:(?P<gt>after|later than|nach|apres|despues de)|(?P<ge>since|on or after|seit|ab|depuis|desde)"
    r"|(?P<lt>before|prior to|earlier than|vor|avant|antes de)"
    r"|(?P<le>until|till|up to|through|bis|hasta|jusqu(?: en| a)?)"
    rf"|(?:in|on|during|of|for|from|im|am|en|de|du|pour|para|durante)){_FILLER} (?P<date>{_DATE})"
    r"(?: (?:or|and|oder|ou|o) (?:(?P<on>later|after|since|newer|spater)|(?P<back>earlier|before|older|fruher))"
    r"(?! than))?)\b"
)
_SIGNS: Final = {"gt": ">", "ge": ">=", "lt": "<", "le": "<=", "on": ">=", "back": "<="}
_YEARS: Final = frozenset({"year", "years", "jahr", "annee", "ano"})


@dataclass(frozen=True)
class _Days:
    """A column of dates; None for a row without a date."""

    column: int
    name: str
    days: Sequence[Day | None]

    def where(self, shown: str, fits: Callable[[Day], bool], said: frozenset[int]) -> Filter:
        rows = frozenset(row for row, day in enumerate(self.days) if day and fits(day))
        return Filter(self.column, f"{self.name} {shown}", rows, at=said)


def dated(table: Table, question: str) -> list[Filter]:
    """The conditions on the one column of dates or years: `in May`, `after 30 June 2025`, `from 1990 to 1995`."""
    folded = " ".join(tokens(question))
    made = [_date_condition(table, when, places(folded, when.span())) for when in _WHEN.finditer(folded)]
    return [one for one in made if one]


def is_dates(table: Table, column: int) -> bool:
    """Whether at least half of the column's first 200 filled cells are ISO 8601 dates."""
    filled = [cell for cell in table.cells(column) if cell][:200]
    return bool(filled) and 2 * sum(1 for cell in filled if _ISO.match(cell)) >= len(filled)


def months(text: str) -> set[str]:
    """The words of a text (folded) that name a month."""
    return {word for word in tokens(text) if word in _MONTHS}


def _date_condition(table: Table, when: re.Match[str], said: frozenset[int]) -> Filter | None:
    texts = [when["low"], when["high"]] if when["low"] else [when["date"]]
    dates = [_day(text) for text in texts]
    column = _date_column(table, dates)
    if column is None:
        return None
    sign = next((_SIGNS[name] for name in _SIGNS if when[name]), "in")
    if sign == "in" and len(dates) == 1:
        [date] = dates
        return column.where(f"in {_written(date) if date[0] else texts[0]}", lambda day: _lies_in(day, date), said)
    whole_dates = [_with_year(date, column.days) for date in dates]
    if any(not date[0] for date in whole_dates):
        return None
    return _limit(column, sign, whole_dates, said)


def _limit(column: _Days, sign: str, dates: Sequence[Day], said: frozenset[int]) -> Filter:
    first, last = dates[0], _last(dates[-1])
    if len(dates) == 2:
        shown = f"from {_written(dates[0])} to {_written(dates[1])}"
        return column.where(shown, lambda day: first <= day <= last, said)
    fits: dict[str, Callable[[Day], bool]] = {
        ">": lambda day: day > last, ">=": lambda day: day >= first,
        "<": lambda day: day < first, "<=": lambda day: day <= last,
    }  # fmt: skip
    return column.where(f"{sign} {_written(dates[0])}", fits[sign], said)


def _day(text: str) -> Day:
    """The date in a text such as `2025 06 30`, `30 june 2025`, `june 30`, `june` or `2025`."""
    words = [word for word in text.split() if word not in STOP]
    month = next((_MONTHS[word] for word in words if word in _MONTHS), 0)
    numbers = [int(re.sub(r"\D", "", word)) for word in words if word[0].isdigit()]
    if not month:
        year, month, day = (*numbers, 0, 0)[:3]
        return year, month, day
    year = next((number for number in numbers if number > 31), 0)
    return year, month, next((number for number in numbers if number <= 31), 0)


def _date_column(table: Table, dates: Sequence[Day]) -> _Days | None:
    """The one column that the dates can be compared with: of dates, or of years when only years are named. None when
    there is no such column or more than one, or when days are named and the column has months only."""
    found = [_dates(table, index) for index in range(len(table.columns))]
    if not any(date[1] for date in dates):
        found += [_years(table, index) for index in table.numbers]
    columns = [one for one in found if one]
    if len(columns) != 1 or (any(date[2] for date in dates) and any(day and not day[2] for day in columns[0].days)):
        return None
    return columns[0]


def _dates(table: Table, index: int) -> _Days | None:
    if not is_dates(table, index):
        return None
    found = [_ISO.match(cell) for cell in table.cells(index)]
    days = [(int(one[1]), int(one[2]), int(one[3] or 0)) if one else None for one in found]
    return _Days(index, table.columns[index], days)


def _years(table: Table, index: int) -> _Days | None:
    values = table.numbers[index].values
    named = _YEARS & set(parts(table.columns[index]))
    if not named or any(value is not None and not (value == int(value) and 1000 <= value < 3000) for value in values):
        return None
    return _Days(index, table.columns[index], [(int(value), 0, 0) if value is not None else None for value in values])


def _with_year(date: Day, days: Sequence[Day | None]) -> Day:
    """The date with the year of the column's dates when all lie in one year: that makes `after 30 June` clear."""
    years = {day[0] for day in days if day}
    return (years.pop(), *date[1:]) if not date[0] and len(years) == 1 else date


def _lies_in(day: Day, date: Day) -> bool:
    return all(part in (0, own) for part, own in zip(date, day, strict=True))


def _last(date: Day) -> Day:
    return date[0], date[1] or 99, date[2] or 99


def _written(date: Day) -> str:
    return "-".join(f"{part:02}" for part in date if part)


_COSTS = re.compile(r"\bcosts?\s*$")  # in "products that cost more than 100", the price is meant
_COMPARE: Final[dict[str, tuple[str, Callable[[Decimal, Decimal], bool]]]] = {
    "ge": (">=", ge),
    "le": ("<=", le),
    "gt": (">", gt),
    "lt": ("<", lt),
}
_TOTALS: Final = re.compile(r"(?i)\b(?:totals?|sum|average|mean|overall|gesamt|summe|insgesamt|somme|suma)\W*$")


@dataclass(frozen=True)
class _Limit:
    """A limit on numbers in a question; `shown` goes behind the column's name, `near` is the column named beside it."""

    near: int | None
    shown: str
    holds: Callable[[Decimal], bool]
    said: frozenset[int]
    needs_name: bool = False
    """Whether it is no condition without a column beside it: `between 1990 and 1995` may be about anything."""


def filters(table: Table, question: str, measured: Measure | None) -> list[Filter]:
    """All conditions that the question makes; each must be met."""
    name = tokens(measured.name.replace("_", " ")) if measured else []
    years = {place for place, word in enumerate(tokens(question)) if word.isdigit() and word in name}
    # The year in `the population in 2020` is a part of the name `population_2020`.
    made = [*named_values(table, question), *(one for one in dated(table, question) if not one.at & years)]
    said = {place for one in made for place in one.at}
    limits, words = compared(table, question, _column(measured)), tokens(question)
    # In `at least 10 gold and 10 silver` the limit may be meant for both, so `10 silver` is no condition.
    numbers = [one for one in amounts(table, question) if not limits or words[min(one.at) - 1] not in ops.AND_OR]
    for one in [*equal(table, question), *limits, *numbers]:
        if not said & one.at:
            made.append(one)
            said |= one.at
    return made


def fitting(table: Table, found: Sequence[Filter]) -> list[int]:
    """The rows (indices from 0) that meet all of the conditions; never a row of totals."""
    sums = totals(table)
    return [row for row in range(len(table.rows)) if row not in sums and all(row in one.rows for one in found)]


def totals(table: Table) -> frozenset[int]:
    """The rows that sum up the others, such as the last ones of spreadsheets: `Total`, `Grand total`."""
    cells = table.cells(table.label) if table.label is not None else []
    return frozenset(row for row, cell in enumerate(cells) if len(cell) <= 20 and _TOTALS.search(cell))


def limited(table: Table, text: str) -> set[int]:
    """The columns of numbers that conditions name: beside the limit in `over 50 euros`, before the number in
    `week 21`."""
    near = {one.near for one in _limits(table, text) if one.near is not None}
    return near | {one.column for one in [*equal(table, text), *amounts(table, text)]}


def compared(table: Table, question: str, measure: int | None) -> list[Filter]:
    """The conditions on numbers that the question makes: `a price over 50`, `5 stars or more`, `between 1 and 2`."""
    only = next(iter(table.numbers)) if len(table.numbers) == 1 else None
    made = []
    for one in _limits(table, question):
        index = one.near
        if index is None and not one.needs_name:
            index = only if measure is None else measure
        if index is not None:
            made.append(_condition(table, index, one.shown, one.holds, one.said))
    return made


def _limits(table: Table, question: str) -> Iterator[_Limit]:
    text = fold(question)
    for found in (*ops.ABOVE_BELOW.finditer(text), *ops.OR_MORE.finditer(text)):
        limit = written(found["number"], found["scale"] or "")
        if limit is not None:
            yield _one_sided(table, text, found, limit)
    for found in ops.BETWEEN.finditer(text):
        low, high = (written(found[name], found["scale"] or "") for name in ("number", "high"))
        if low is not None and high is not None:
            stop = found.end("scale" if _is_scale(found["scale"]) else "high")
            near = _beside(table, text[: found.start()], text[stop:])
            said = _said(text, found.start(), stop)
            yield _Limit(near, f"from {low:f} to {high:f}", partial(_lies, low, high), said, needs_name=True)


def _one_sided(table: Table, text: str, found: re.Match[str], limit: Decimal) -> _Limit:
    sign, compare = next(_COMPARE[name] for name in _COMPARE if found.groupdict().get(name))
    stop = found.end() if found.re is ops.OR_MORE else found.end("scale" if _is_scale(found["scale"]) else "number")
    before = text[: found.start()]
    near, costs = _beside(table, before, text[stop:]), _COSTS.search(before)
    said = _said(text, costs.start() if costs else found.start(), stop)
    # `Older than 30` is a limit on ages, whatever column is named beside it.
    kinds = {name for words, names in ops.IMPLIED if words.search(found[0]) for name in names}
    if kinds and (near is None or not kinds & set(parts(table.columns[near]))):
        near = _column(implied(table, found[0]))
    if near is not None and ops.RANKS & set(parts(table.columns[near])) and found[0][0].isalpha():
        near, kinds = None, {""}  # of ranks, `above the third` may mean the second or the fourth
    return _Limit(near, f"{sign} {limit:f}", partial(_compares, compare, limit), said, needs_name=bool(kinds))


def _column(measured: Measure | None) -> int | None:
    return measured.column if measured else None


def _compares(compare: Callable[[Decimal, Decimal], bool], limit: Decimal, value: Decimal) -> bool:
    return compare(value, limit)


def _lies(low: Decimal, high: Decimal, value: Decimal) -> bool:
    return low <= value <= high


def _is_scale(word: str | None) -> bool:
    return written("1", word or "") != 1


def _said(text: str, start: int, stop: int) -> frozenset[int]:
    first = len(tokens(text[:start]))
    return frozenset(range(first, first + len(tokens(text[start:stop]))))


def _beside(table: Table, before: str, after: str) -> int | None:
    """The column that the words next to a limit name: those after it (`over 9 seats`), else those before it (`seats
    over 9`), the nearest first."""
    follows = re.match(r"\W*((?:\w+\W+){0,2}\w+)", after)
    behind = [stem(word) for word in tokens(follows[1])] if follows and not re.match(r"\s*[,;:?!.]", after) else []
    ahead = [stem(word) for word in tokens(_COSTS.sub("price", before)) if word not in STOP][-4:]
    tries = [set(behind[:count]) for count in range(1, len(behind) + 1)] if behind else []
    tries += [set(ahead[-count:]) for count in range(1, len(ahead) + 1)]
    return next((column[0] for names in tries if (column := best(table, names, table.numbers))), None)


def equal(table: Table, question: str) -> list[Filter]:
    """The conditions that name a column and its numbers: `in week 21`, `with a stock of 0`, `a score of 9 or 10`."""
    text = fold(question)
    found = ((one, _just_named(table, stems(one["words"]))) for one in ops.EQUAL.finditer(text))
    made = [
        _one_of(table, column, one["numbers"], _said(text, *one.span("numbers")))
        for one, column in found
        if column is not None
    ]
    return [one for one in made if one]


def amounts(table: Table, question: str) -> list[Filter]:
    """The conditions that name numbers and their column: `9 or 10 seats`, `no overtime`. A condition that no row meets
    is left out."""
    text = fold(question)
    top = {place for places in ops.matched(ops.TOP, " ".join(tokens(text))) for place in places}
    made = []
    for found in ops.AMOUNTS.finditer(text):
        column = _just_named(table, stems(found["words"]), begin=True)
        said = _said(text, *found.span())
        one = _one_of(table, column, found["numbers"] or "0", said) if column is not None and not said & top else None
        if one and one.rows:
            made.append(one)
    return made


def _just_named(table: Table, words: Sequence[str], *, begin: bool = False) -> int | None:
    """The column of numbers whose whole name ends the words, or with `begin` begins them."""
    return next((index for index in table.numbers if _is_whole(words, table.columns[index], begin)), None)


def _is_whole(words: Sequence[str], column: str, begin: bool) -> bool:
    name = [stem(part) for part in parts(column)]
    return list(words[: len(name)] if begin else words[-len(name) :]) == name


def _one_of(table: Table, index: int, listed: str, said: frozenset[int]) -> Filter | None:
    numbers = [written(one) for one in re.findall(r"\d+(?:[.,]\d+)*", listed)]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):
        return None
    shown = f"= {known[0]:f}" if len(known) == 1 else f"in {', '.join(f'{number:f}' for number in known)}"
    return _condition(table, index, shown, known.__contains__, said)


def _condition(table: Table, index: int, shown: str, holds: Callable[[Decimal], bool], said: frozenset[int]) -> Filter:
    values = table.numbers[index].values
    rows = frozenset(row for row, value in enumerate(values) if value is not None and holds(value))
    unknown = frozenset(row for row, value in enumerate(values) if value is None)
    return Filter(index, f"{table.columns[index]} {shown}", rows, unknown=unknown, at=said)
