"""Read dates in questions. Each date (a day, month, quarter or year) is a period from its first day."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from agentsvc_nb.agents.offline.lexicon import MONTHS
from agentsvc_nb.agents.offline.profile import ProfiledColumn


@dataclass(frozen=True, slots=True)
class DateSpan:
    """A period from the day `start` to the day before `end`."""

    start: date
    end: date


WORDS_MAX: Final = 5
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"
_MONTH: Final = "(?P<month>" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in MONTHS) + "|sept)"
_DAY: Final = r"(?P<day>\d\d?)(?:st|nd|rd|th)?"
_QUARTERS: Final = ("first", "second", "third", "fourth")
_QUARTER: Final = rf"(?:q(?P<q>[1-4])|(?P<which>{'|'.join(_QUARTERS)}) quarter)"
_HINT: Final = re.compile(rf"{_MONTH}\.?|q[1-4]|quarter|(?:19|20)\d\d(?:-\d\d){{0,2}}", re.IGNORECASE)
_ISO_DAY: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_ISO_MONTH: Final = re.compile(r"(\d{4})-(\d\d)")
_FULL_DAY: Final = (re.compile(rf"{_MONTH} {_DAY} {_YEAR}"), re.compile(rf"{_DAY} (?:of )?{_MONTH} {_YEAR}"))
_MONTH_OF_YEAR: Final = re.compile(rf"{_MONTH}(?: of)? {_YEAR}")
_QUARTER_OF_YEAR: Final = re.compile(
    rf"(?:{_QUARTER}(?: of)? {_YEAR}|{_YEAR.replace('year', 'before')} q(?P<after>[1-4]))"
)
_ONLY_YEAR: Final = re.compile(_YEAR)
_ONLY_MONTH: Final = re.compile(_MONTH)
_ONLY_QUARTER: Final = re.compile(_QUARTER)


def may_hold_date(token: str) -> bool:
    """Return True if the word may be a part of a date."""
    return _HINT.fullmatch(token) is not None


def read_dates(tokens: Sequence[str], column: ProfiledColumn | None) -> Iterator[DateSpan]:
    """Yield the periods that the words mean, if all of them are parts of a date.

    For a month or quarter without a year, yield one period for each year in which `column` has dates.
    """
    text = " ".join(token.lower().rstrip(".") for token in tokens if token != ",")
    try:
        if found := _ISO_DAY.fullmatch(text):
            yield _one_day(date(*map(int, found.groups())))
        elif found := _ISO_MONTH.fullmatch(text):
            yield months(int(found[1]), int(found[2]), 1)
        elif found := next(filter(None, (pattern.fullmatch(text) for pattern in _FULL_DAY)), None):
            yield _one_day(date(int(found["year"]), _month_number(found["month"]), int(found["day"])))
        elif found := _MONTH_OF_YEAR.fullmatch(text):
            yield months(int(found["year"]), _month_number(found["month"]), 1)
        elif found := _QUARTER_OF_YEAR.fullmatch(text):
            yield months(int(found["year"] or found["before"]), 3 * _quarter_number(found) - 2, 3)
        elif found := _ONLY_YEAR.fullmatch(text):
            yield DateSpan(date(int(text), 1, 1), date(int(text) + 1, 1, 1))
        elif found := _ONLY_MONTH.fullmatch(text):
            yield from _in_each_year(_month_number(found["month"]), 1, column)
        elif found := _ONLY_QUARTER.fullmatch(text):
            yield from _in_each_year(3 * _quarter_number(found) - 2, 3, column)
    except ValueError:  # the date does not exist, for example February 30
        return


def months(year: int, month: int, count: int) -> DateSpan:
    """Return the period of `count` months that begins with this month. Raise `ValueError` if the month does not
    exist.
    """
    after = month + count - 1
    return DateSpan(date(year, month, 1), date(year + after // 12, after % 12 + 1, 1))


def _in_each_year(month: int, count: int, column: ProfiledColumn | None) -> Iterator[DateSpan]:
    if column is None or column.low is None or column.high is None:
        return
    for year in range(column.low.year, column.high.year + 1):
        span = months(year, month, count)
        if span.start <= column.high and span.end > column.low:
            yield span


def _one_day(day: date) -> DateSpan:
    return DateSpan(day, day + timedelta(1))


def _month_number(name: str) -> int:
    return next(number for number, month in enumerate(MONTHS, 1) if month.startswith(name[:3]))


def _quarter_number(found: re.Match[str]) -> int:
    digits = found["q"] or found.groupdict().get("after")
    return int(digits) if digits else _QUARTERS.index(found["which"]) + 1
