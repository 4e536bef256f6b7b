"""Dates, times and both in a column of texts: whether day or month stands first is decided for the whole column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Final, Literal, NamedTuple

from agentsvc_nb.documents.tables.model import MONTHS, SAMPLE, SHARE, is_empty

_CELL_MAX: Final = 60
_DAYS: Final = re.compile(r"(?i)(?:[^\W\d_]{2,10}\.?,?\s+)?(?=\d|[^\W\d_]{3,10}\.?\s+\d)")
"""The day of the week before a date."""
_TIME: Final = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"\s*(?P<half>[AaPp]\.?[Mm]\.?)?(?:\s*Uhr)?\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?"
)
_DATES: Final = tuple(
    re.compile(rf"(?:{shape})(?:(?:,?\s+(?:at\s+|um\s+)?|T){_TIME})?")
    for shape in (
        r"(?P<y>\d{4})(?P<sep>[-/.])(?P<m>\d{1,2})(?P=sep)(?P<d>\d{1,2})",
        r"(?P<a>\d{1,2})(?P<sep>[-/.])\s?(?P<b>\d{1,2})(?P=sep)\s?(?P<y>\d{4}|\d{2})",
        r"(?P<d>\d{1,2})(?:\.|st|nd|rd|th|er)?[\s-]+(?:de\s+)?(?P<name>[^\W\d_]{3,10})\.?,?[\s-]+(?:de[l]?\s+)?(?P<y>\d{4}|\d{2})",
        r"(?P<name>[^\W\d_]{3,10})\.?\s+(?P<d>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<y>\d{4})",
        r"(?P<y>\d{4})[\s-](?P<name>[^\W\d_]{3,10})\.?[\s-](?P<d>\d{1,2})",
    )
)
_MONTHLY: Final = (
    re.compile(r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})"),
    re.compile(r"(?P<m>\d{1,2})[-/.](?P<y>\d{4})"),
    re.compile(r"(?P<name>[^\W\d_]{3,10})\.?,?[\s-]+(?:de[l]?\s+)?(?P<y>\d{4})"),
    re.compile(r"(?P<y>\d{4})[\s-]+(?P<name>[^\W\d_]{3,10})\.?"),
)
_ONLY_TIME: Final = re.compile(_TIME)
_COMPACT: Final = re.compile(r"(?:19|20|21)\d{6}")
_PIVOT: Final = 69
"""Two digits from here on are years of the century before, as POSIX has it."""

DateKind = Literal["date", "datetime", "time"]


class _Found(NamedTuple):
    """A date as written. `open` if `month` and `day` may be the other way round; the slash's first number is `month`
    then."""

    year: int
    month: int
    day: int
    open: bool = False
    time: time | None = None
    monthly: bool = False
    short: bool = False
    """Whether the year has two digits."""


@dataclass(frozen=True, slots=True)
class DateReading:
    """The dates of a column by the cell's text. `sure` is False if day and month were assumed; `day_first` is None
    where that makes no difference."""

    kind: DateKind
    values: Mapping[str, date | datetime | time | None]
    unit: str = ""
    day_first: bool | None = None
    sure: bool = True
    remarks: tuple[str, ...] = ()


def read_dates(counts: Mapping[str, int], name: str = "", day_first: bool | None = None) -> DateReading | None:
    """The dates or times in these texts (each with how often it stands there), or None if they are none. `name` is the
    column's, `day_first` what holds where the column leaves it open.

    >>> reading = read_dates({"31/12/2025": 1, "1/2/2026": 1})
    >>> reading.values["1/2/2026"], reading.day_first
    (datetime.date(2026, 2, 1), True)
    """
    filled = {text: count for text, count in counts.items() if not is_empty(text)}
    compact = _is_compact(filled, name)
    sample = [text for text, _ in zip(filled, range(SAMPLE), strict=False)]
    if sum(1 for text in sample if _found(text.strip(), compact)) * 2 < len(sample) or not sample:
        return None
    found = {text: one for text in filled if (one := _found(text.strip(), compact))}
    if sum(filled[text] for text in found) < SHARE * sum(filled.values()):
        return None
    dates = {text: one for text, one in found.items() if isinstance(one, _Found)}
    if not dates:
        return _times(counts, {text: one for text, one in found.items() if isinstance(one, time)})
    if not all(one.monthly for one in dates.values()):
        dates = {text: one for text, one in dates.items() if not one.monthly}
    return _dated(counts, dates, day_first)


def _is_compact(filled: Iterable[str], name: str) -> bool:
    """Whether numbers of eight digits are dates: the column's name says so."""
    return bool(re.search(r"(?i)date|datum|day\b|tag\b|fecha|jour|dia\b", name)) and all(
        _COMPACT.fullmatch(text.strip()) for text in filled
    )


def _found(text: str, compact: bool) -> _Found | time | None:
    """The date or the time that a text is; the date's time keeps its zone."""
    if len(text) == 10 and text[4] == text[7] == "-":
        try:
            return _Found(int(text[:4]), int(text[5:7]), int(text[8:]), time=None) if date.fromisoformat(text) else None
        except ValueError:
            return None
    if len(text) > _CELL_MAX or (not text[-1:].isalnum() and text[-1:] not in "."):
        return None
    if compact:
        return _valid(_Found(int(text[:4]), int(text[4:6]), int(text[6:])))
    if (at := _ONLY_TIME.fullmatch(text)) is not None:
        return _time(at)
    for shape in (*_DATES, *_MONTHLY):
        match = shape.fullmatch(text) or shape.fullmatch(text, _DAYS.match(text).end() if _DAYS.match(text) else 0)  # type: ignore[union-attr]
        if match:
            return _from(match)
    return None


def _from(match: re.Match[str]) -> _Found | None:
    parts = match.groupdict()
    clock = _time(match) if parts.get("hour") else None
    if parts.get("hour") and clock is None:
        return None
    year = int(parts["y"])
    short = len(parts["y"]) == 2
    if short:
        year += 1900 if year >= _PIVOT else 2000
    if parts.get("a"):
        first, second = int(parts["a"]), int(parts["b"])
        if parts["sep"] == ".":
            return _valid(_Found(year, second, first, time=clock, short=short))
        return _valid(_Found(year, first, second, True, clock, short=short))
    named = parts.get("name")
    month = MONTHS.get(named.casefold(), 0) if named else int(parts["m"])
    return _valid(_Found(year, month, int(parts.get("d") or 1), False, clock, "d" not in parts, short))


def _valid(one: _Found) -> _Found | None:
    if _date(one, False) is None and not (one.open and _date(one, True)):
        return None
    return one


def _date(one: _Found, day_first: bool) -> date | None:
    month, day = (one.day, one.month) if one.open and day_first else (one.month, one.day)
    try:
        return date(one.year, month, day)
    except ValueError:
        return None


def _time(match: re.Match[str]) -> time | None:
    hour, half = int(match["hour"]), (match["half"] or "").lower().replace(".", "")
    if half and not 1 <= hour <= 12:
        return None
    hour = hour % 12 + (12 if half == "pm" else 0) if half else hour
    fraction = int((match["fraction"] or "0").ljust(6, "0")[:6])
    try:
        return time(hour, int(match["minute"]), int(match["second"] or 0), fraction, _zone(match["zone"]))
    except ValueError:
        return None


def _zone(written: str | None) -> timezone | None:
    if not written:
        return None
    if written[0] not in "+-":
        return UTC
    away = timedelta(hours=int(written[1:3]), minutes=int(written[-2:]))
    return timezone(-away if written[0] == "-" else away)


def _times(counts: Mapping[str, int], found: Mapping[str, time]) -> DateReading:
    zones = {one.tzinfo for one in found.values()}
    unit = _offset(zones.pop()) if len(zones) == 1 else ""
    return DateReading("time", {text: found.get(text) for text in counts}, unit)


def _dated(counts: Mapping[str, int], found: Mapping[str, _Found], hint: bool | None) -> DateReading:
    day_first, sure = _order(found, counts, hint)
    with_time = any(one.time and one.time != time(0, tzinfo=one.time.tzinfo) for one in found.values())
    zones = {one.time.tzinfo for one in found.values() if one.time}
    values: dict[str, date | datetime | None] = dict.fromkeys(counts)
    for text, one in found.items():
        day = _date(one, bool(day_first))
        if day is not None:
            values[text] = _moment(day, one.time, len(zones) > 1) if with_time else day
    remarks = [*_remarks(found, day_first, sure)]
    if with_time and len(zones) > 1 and zones != {None}:
        remarks.append("Its times have different offsets; they are given in UTC.")
    unit = "month" if all(one.monthly for one in found.values()) else ""
    if with_time and zones != {None}:
        unit = _offset(zones.pop()) if len(zones) == 1 else "UTC"
    return DateReading("datetime" if with_time else "date", values, unit, day_first, sure, tuple(remarks))


def _order(found: Mapping[str, _Found], counts: Mapping[str, int], hint: bool | None) -> tuple[bool | None, bool]:
    """Whether the day stands before the month, and whether the dates (or `hint`) show it."""
    firsts = sum(counts[text] for text, one in found.items() if one.open and one.month > 12)
    seconds = sum(counts[text] for text, one in found.items() if one.open and one.day > 12)
    if firsts or seconds:
        return firsts > seconds, True
    if not any(one.open and one.month != one.day for one in found.values()):
        return None, True
    return bool(hint), hint is not None


def _moment(day: date, clock: time | None, to_utc: bool) -> datetime:
    moment = datetime.combine(day, clock or time(0))
    if to_utc and moment.tzinfo:
        moment = moment.astimezone(UTC) if 1 < moment.year < 9999 else moment
    return moment.replace(tzinfo=None)


def _offset(zone: object) -> str:
    if not isinstance(zone, timezone):
        return ""
    return "UTC" if zone is UTC else str(datetime(2000, 1, 1, tzinfo=zone).isoformat()[-6:])


def _remarks(found: Mapping[str, _Found], day_first: bool | None, sure: bool) -> Iterable[str]:
    if not sure:
        text, one = next((text, one) for text, one in found.items() if one.open and one.month != one.day)
        read = _date(one, bool(day_first))
        yield f"{text.strip()} may be meant either way; it is read as {read:%-d %B %Y}." if read else ""
    if any(one.short for one in found.values()):
        yield f"Years of two digits are read as 19{_PIVOT} to 20{_PIVOT - 1}."
