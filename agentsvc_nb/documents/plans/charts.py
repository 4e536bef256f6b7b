"""What a chart of a result shows: lines over periods, bars of groups, or points of two numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Final, Literal, cast

from agentsvc_nb.documents.plans.plan import Value
from agentsvc_nb.documents.plans.results import Result, ResultColumn

ChartKind = Literal["bar", "line", "scatter"]
BARS_MAX: Final = 40
SERIES_MAX: Final = 8
_YEARS: Final = range(1000, 3000)


class ChartError(ValueError):
    """There is no chart of this result; the message says why, in a sentence."""


@dataclass(frozen=True, slots=True)
class Series:
    """Numbers, one a place; None is a gap. `name` is empty when there is one series only."""

    name: Value | None
    values: tuple[float | None, ...]
    exact: tuple[Value | None, ...]
    """The same as they are in the result."""


@dataclass(frozen=True, slots=True)
class ChartData:
    """What to draw: at each of `places`, values of the column `across`, a value of each series, of the column `up`.
    `note` says what of the result is not drawn."""

    kind: ChartKind
    across: ResultColumn
    places: tuple[Value | None, ...]
    up: ResultColumn
    series: tuple[Series, ...]
    legend: ResultColumn | None = None
    """The column whose values the names of the series are; None when they are the titles of columns."""
    note: str = ""


def choose(result: Result, kind: ChartKind | None = None) -> ChartData:
    """Raises `ChartError` when there is nothing to compare."""
    columns = range(len(result.columns))
    if result.more:
        raise ChartError(f"There is no chart of a result with more than {len(result.rows):,} rows: ask for groups.")
    numbers = [at for at in columns if _is_measure(result.columns[at])]
    names = [at for at in columns if at not in numbers]
    if not numbers or not result.rows:
        raise ChartError("There is no chart of a result without numbers.")
    if len(numbers) > 1 and (kind == "scatter" or (kind is None and not names)):
        return _scatter(result, numbers)
    if not names:
        raise ChartError("A chart compares groups, periods or two columns of numbers: ask for the number by one.")
    times = [at for at in names if _is_time(result, at) or (kind == "line" and result.columns[at].kind == "number")]
    across = times[0] if times and kind != "bar" else names[0]
    drawn: ChartKind = "line" if times and kind != "bar" and len({row[across] for row in result.rows}) > 2 else "bar"
    split = next((at for at in names if at != across), None)
    if split is not None and len({row[across] for row in result.rows}) < len(result.rows):
        found = _split(result, across, split, numbers[0])
    else:
        found = _side_by_side(result, across, numbers)
    return _limited(found, drawn)


def _is_measure(column: ResultColumn) -> bool:
    return column.kind == "number" and not column.label and not column.by


def _is_time(result: Result, at: int) -> bool:
    column, values = result.columns[at], [row[at] for row in result.rows if row[at] is not None]
    if column.kind in ("date", "datetime"):
        return True
    years = [value for value in values if isinstance(value, Decimal) and value in _YEARS]
    return column.kind == "number" and not column.by and bool(years) and len(years) == len(values)


def number(value: Value | None) -> float | None:
    """A number that can be drawn; None for a gap."""
    if not isinstance(value, Decimal):
        return None
    found = float(value)
    return found if math.isfinite(found) and abs(found) < 1e300 else None


def _series(name: Value | None, values: Sequence[Value | None]) -> Series:
    return Series(name, tuple(map(number, values)), tuple(values))


def _scatter(result: Result, numbers: Sequence[int]) -> ChartData:
    across, up = numbers[0], numbers[1]
    rows = [row for row in result.rows if number(row[across]) is not None and number(row[up]) is not None]
    if not rows:
        raise ChartError("There is no row with both numbers.")
    without = len(result.rows) - len(rows)
    notes = [f"{without:,} rows without both numbers are not drawn."] if without else []
    places, series = tuple(row[across] for row in rows), _series(None, [row[up] for row in rows])
    return ChartData("scatter", result.columns[across], places, result.columns[up], (series,), note=" ".join(notes))


def _side_by_side(result: Result, across: int, numbers: Sequence[int]) -> ChartData:
    """A series for each column of numbers that has the unit of the first."""
    up = result.columns[numbers[0]]
    alike = [at for at in numbers if result.columns[at].unit == up.unit]
    others = [result.columns[at].title for at in numbers if at not in alike]
    series = [
        _series(result.columns[at].title if len(alike) > 1 else None, [row[at] for row in result.rows]) for at in alike
    ]
    note = f"In another unit, and not drawn: {', '.join(others)}." if others else ""
    return ChartData(
        "bar", result.columns[across], tuple(row[across] for row in result.rows), up, tuple(series), note=note
    )


def _split(result: Result, across: int, split: int, measure: int) -> ChartData:
    """A series for each value of a second column."""
    places = list(dict.fromkeys(row[across] for row in result.rows))
    found: dict[Value | None, dict[Value | None, Value | None]] = {}
    for row in result.rows:
        found.setdefault(row[split], {}).setdefault(row[across], row[measure])
    series = tuple(_series(name, [values.get(place) for place in places]) for name, values in found.items())
    up, legend = result.columns[measure], result.columns[split]
    return ChartData("bar", result.columns[across], tuple(places), up, series, legend)


def _limited(found: ChartData, kind: ChartKind) -> ChartData:
    """No more than can be told apart; periods in their order."""
    notes = [found.note] if found.note else []
    series = found.series
    if len(series) > SERIES_MAX:
        largest = sorted(series, key=lambda one: -sum(abs(value) for value in one.values if value is not None))
        series = tuple(one for one in series if one in largest[:SERIES_MAX])
        notes.append(f"The {SERIES_MAX} largest of {len(found.series):,}.")
    chosen = list(range(len(found.places)))
    if kind == "line":
        known = [at for at in chosen if found.places[at] is not None]
        if len(known) < len(chosen):
            notes.append("What has no date is not drawn.")
        chosen = sorted(known, key=lambda at: position(found.places[at]))
    elif len(chosen) > BARS_MAX:
        notes.append(f"The first {BARS_MAX} of {len(chosen):,}.")
        chosen = chosen[:BARS_MAX]
    kept = tuple(_at(one, chosen) for one in series)
    if all(value is None for one in kept for value in one.values):
        raise ChartError("There is no chart of a result without numbers.")
    places = tuple(found.places[at] for at in chosen)
    return ChartData(kind, found.across, places, found.up, kept, found.legend, " ".join(notes))


def _at(series: Series, chosen: Sequence[int]) -> Series:
    return Series(series.name, tuple(series.values[at] for at in chosen), tuple(series.exact[at] for at in chosen))


def position(place: Value | None) -> float:
    """Where a period or a number stands on its axis: dates in days."""
    match place:
        case datetime():
            return place.toordinal() + _fraction(place.time())
        case date():
            return float(place.toordinal())
        case _:
            return number(place) or 0.0


def _fraction(clock: time) -> float:
    return (clock.hour * 3600 + clock.minute * 60 + clock.second) / 86_400


def days(places: Sequence[Value | None]) -> list[date]:
    """The places of an axis of dates, as days."""
    return [cast(date, place.date() if isinstance(place, datetime) else place) for place in places]
