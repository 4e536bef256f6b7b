"""The words of a chart: numbers of an axis, days of an axis, and names in few lines. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from datetime import date
from itertools import pairwise
from typing import Final

from agentsvc_nb.formats.plans.results import ResultColumn
from agentsvc_nb.wire.text import label

TICKS_MAX: Final = 9
_SCALES: Final = ((1e12, "T"), (1e9, "bn"), (1e6, "M"))
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DECIMALS_MAX: Final = 8


def axis_title(column: ResultColumn) -> str:
    """The title of a column with its unit; per cent stands at the numbers."""
    title, unit = label(column.title, 80), label(column.unit, 12)
    return f"{title} ({unit})" if unit and unit != "%" and not column.label else title


def numbers(values: Sequence[float], column: ResultColumn) -> list[str]:
    """The numbers along an axis, with as many decimals as tell them apart.

    >>> numbers([0, 500_000, 1_000_000], ResultColumn("revenue", "number", "€", 2))
    ['0', '0.5 M', '1.0 M']
    """
    largest = max(map(abs, values), default=0.0)
    sign = "%" if column.unit == "%" else ""
    if column.label or largest == 0:
        return [f"{value:g}{sign}" for value in values]
    if largest >= 1e15 or largest < 1e-6:
        return [f"{value:.3g}{sign}" for value in values]
    scale, suffix = next(((scale, f" {name}") for scale, name in _SCALES if largest >= scale), (1.0, ""))
    step = _step(values) / scale
    decimals = next(
        (count for count in range(_DECIMALS_MAX) if abs(step - round(step, count)) < step / 1000), _DECIMALS_MAX
    )
    return [f"{value / scale:,.{decimals}f}{suffix}{sign}" if value else f"0{sign}" for value in values]


def _step(values: Sequence[float]) -> float:
    ordered = sorted(set(values))
    return min((after - before for before, after in pairwise(ordered)), default=abs(ordered[0]))


def lines(text: str, width: int, most: int) -> str:
    """A text in at most so many lines of so many characters; what is cut ends with an ellipsis. Nothing in it acts."""
    words = [_hyphenated(word, width) for word in label(text, width * most * 2).split(" ")]
    found = textwrap.wrap(" ".join(words), width)
    if len(found) > most:
        last = found[most - 1][: width - 1].rstrip()
        found = [*found[: most - 1], f"{last}…"]
    return "\n".join(found) or " "


def _hyphenated(word: str, width: int) -> str:
    """A word that is longer than a line, in parts that fit."""
    parts = [word[at : at + width - 1] for at in range(0, len(word), width - 1)] if len(word) > width else [word]
    return "- ".join(parts)


def day_ticks(first: date, last: date) -> list[tuple[date, str]]:
    """The days that an axis names: the first of years or of months, or single days."""
    span = (last - first).days
    if span > 366 * 3:
        return _years(first, last)
    if span > 75:
        return _months(first, last)
    step = max(1, -(-(span + 1) // TICKS_MAX))
    found = [date.fromordinal(day) for day in range(first.toordinal(), last.toordinal() + 1, step)]
    return [(day, f"{day.day} {_MONTHS[day.month - 1]}{_year(day, at == 0 or day.year != found[at - 1].year)}")
            for at, day in enumerate(found)]  # fmt: skip


def _year(day: date, told: bool) -> str:
    return f"\n{day.year:04}" if told else ""


def _years(first: date, last: date) -> list[tuple[date, str]]:
    count = last.year - first.year + 1
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000) if count / step <= TICKS_MAX)
    start = first.year if (first.month, first.day) == (1, 1) else first.year + 1
    years = [year for year in range(start, last.year + 1) if year % step == 0]
    return [(date(year, 1, 1), f"{year:04}") for year in years]


def _months(first: date, last: date) -> list[tuple[date, str]]:
    start = first.year * 12 + first.month - (1 if first.day == 1 else 0)
    end = last.year * 12 + last.month - 1
    step = next(step for step in (1, 2, 3, 6, 12) if (end - start + 1) / step <= TICKS_MAX)
    months = [month for month in range(start, end + 1) if month % step == 0]
    return [
        (day, f"{_MONTHS[day.month - 1]}{_year(day, at == 0 or day.month <= step)}")
        for at, day in enumerate(date(month // 12, month % 12 + 1, 1) for month in months)
    ]


def spread(names: Sequence[str]) -> list[int]:
    """Which of the places are named: all of few, else some at equal distances, as many as there is room for."""
    room = max(2, min(13, 84 // (max(map(len, names), default=0) + 2)))
    return list(range(0, len(names), max(1, -(-len(names) // room))))
