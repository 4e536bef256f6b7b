"""Days, months and years that a question names, and the rows of a table that lie in, before, after or between them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.service.rules.search import tokens
from agentsvc_nb.service.rules.tables import Table
from agentsvc_nb.service.work.agents.offline.columns import parts
from agentsvc_nb.service.work.agents.offline.operations import places
from agentsvc_nb.service.work.agents.offline.values import Filter
from agentsvc_nb.service.work.agents.offline.words import STOP

Day = tuple[int, int, int]
"""Year, month and day; 0 where none is said."""

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
# `May` is a verb too: a month stands behind one of these.
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
    """A column of dates; a row without one has None."""

    column: int
    name: str
    days: Sequence[Day | None]

    def where(self, shown: str, fits: Callable[[Day], bool], said: frozenset[int]) -> Filter:
        rows = frozenset(row for row, day in enumerate(self.days) if day and fits(day))
        return Filter(self.column, f"{self.name} {shown}", rows, at=said)


def dated(table: Table, question: str) -> list[Filter]:
    """The conditions on the one column of dates or years: `in May`, `after 30 June 2025`, `from 1990 to 1995`."""
    folded = " ".join(tokens(question))
    made = [_condition(table, when, places(folded, when.span())) for when in _WHEN.finditer(folded)]
    return [one for one in made if one]


def is_dates(table: Table, column: int) -> bool:
    """Whether half of the column's filled cells, or more, are dates as ISO 8601 writes them."""
    filled = [cell for cell in table.cells(column) if cell][:200]
    return bool(filled) and 2 * sum(1 for cell in filled if _ISO.match(cell)) >= len(filled)


def months(text: str) -> set[str]:
    """The words of a text (folded) that name a month."""
    return {word for word in tokens(text) if word in _MONTHS}


def _condition(table: Table, when: re.Match[str], said: frozenset[int]) -> Filter | None:
    texts = [when["low"], when["high"]] if when["low"] else [when["date"]]
    dates = [_day(text) for text in texts]
    column = _column(table, dates)
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
    """`2025 06 30`, `30 june 2025`, `june 30`, `june` or `2025`."""
    words = [word for word in text.split() if word not in STOP]
    month = next((_MONTHS[word] for word in words if word in _MONTHS), 0)
    numbers = [int(re.sub(r"\D", "", word)) for word in words if word[0].isdigit()]
    if not month:
        year, month, day = (*numbers, 0, 0)[:3]
        return year, month, day
    year = next((number for number in numbers if number > 31), 0)
    return year, month, next((number for number in numbers if number <= 31), 0)


def _column(table: Table, dates: Sequence[Day]) -> _Days | None:
    """The one column that can be compared with the dates: of days, or of years when only years are named."""
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
    """`After 30 June` is clear when all dates lie in one year."""
    years = {day[0] for day in days if day}
    return (years.pop(), *date[1:]) if not date[0] and len(years) == 1 else date


def _lies_in(day: Day, date: Day) -> bool:
    return all(part in (0, own) for part, own in zip(date, day, strict=True))


def _last(date: Day) -> Day:
    return date[0], date[1] or 99, date[2] or 99


def _written(date: Day) -> str:
    return "-".join(f"{part:02}" for part in date if part)
