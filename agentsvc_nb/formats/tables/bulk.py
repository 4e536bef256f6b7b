"""Long columns whose cells are all written alike, read at once: the result is that of cell by cell, much sooner."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from itertools import islice
from typing import Final

from agentsvc_nb.formats.tables.numbers import NumberReading

LONG: Final = 2_000
"""Cells from which on it is worth it."""
_SAMPLE: Final = 300
_AROUND: Final = re.compile(r"-?([^-\d.,]*)-?\d[\d.,]*([^-\d.,]*)")
_ISO_DATES: Final = re.compile(r"(?:(?:\d{4}-\d\d-\d\d)?\n)*+")
_ISO_MOMENTS: Final = re.compile(r"(?:(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)?\n)*+")


def sample(cells: Sequence[str]) -> list[str]:
    """Some of the filled cells: of the beginning, and from everywhere."""
    begin = list(islice(filter(None, cells), _SAMPLE))
    return begin + list(islice(filter(None, cells[:: strided(len(cells))]), _SAMPLE))


def strided(rows: int) -> int:
    """At what distance cells are taken from everywhere."""
    return rows // _SAMPLE + 1


def numbers_at_once(cells: Sequence[str], reading: NumberReading) -> tuple[list[Decimal | None], int] | None:
    """The numbers of a column whose sample was read so, and their decimals; None if not all cells are plain numbers
    with the sample's mark and unit."""
    signs = around(next(filter(None, cells), ""))
    if signs is None or not reading.sure:
        return None
    before, after = signs
    joined = "\n".join(cells) + "\n"
    if joined.count("\n") != len(cells) or not _pattern(before, after, reading.mark).fullmatch(joined):
        return None
    for literal in filter(None, (before, after)):
        joined = joined.replace(literal, "")
    if reading.mark:
        joined = joined.replace("," if reading.mark == "." else ".", "").replace(",", ".")
    digits = joined.split("\n")[:-1]
    values = [Decimal(one) if one else None for one in digits]
    if any(reading.values.get(text, value) != value for text, value in zip(cells[:_SAMPLE], values, strict=False)):
        return None  # the unit is a scale
    return values, _decimals(joined)


def around(cell: str) -> tuple[str, str] | None:
    """What stands before and behind the number in a cell; None if it holds none."""
    found = _AROUND.fullmatch(cell)
    return (found[1], found[2]) if found else None


def _decimals(joined: str) -> int:
    """The most digits that stand behind a point."""
    count = 0
    while re.search(rf"\.\d{{{count + 1}}}", joined):
        count += 1
    return count


def _pattern(before: str, after: str, mark: str) -> re.Pattern[str]:
    group = re.escape("," if mark == "." else ".")
    whole = rf"(?:0|[1-9]\d{{0,17}}+(?!{group})|[1-9]\d{{0,2}}(?:{group}\d{{3}})+)" if mark else r"(?:0|[1-9]\d{0,17})"
    part = rf"(?:{re.escape(mark)}\d{{1,18}})?" if mark else ""
    before, after = re.escape(before), re.escape(after)
    return re.compile(rf"(?:(?:(?:-?{before}|{before}-){whole}{part}{after})?\n)*+")


def dates_at_once(cells: Sequence[str]) -> list[date | None] | list[datetime | None] | None:
    """The dates, or dates with times, of a column in which all stand as ISO 8601 has it; None if they do not."""
    joined = "\n".join(cells) + "\n"
    if joined.count("\n") != len(cells):
        return None
    try:
        if _ISO_DATES.fullmatch(joined):
            return [date.fromisoformat(text) if text else None for text in cells]
        if _ISO_MOMENTS.fullmatch(joined):
            moments = [datetime.fromisoformat(text) if text else None for text in cells]
            return moments if any(one and one.time() != time(0) for one in moments) else None
    except ValueError:
        return None
    return None
