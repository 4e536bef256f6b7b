"""Columns of cells, each made a column of one kind: by its cells, and where they leave it open, by its neighbours'.

Long columns whose cells are all written alike are read at once: the result is that of cell by cell, much sooner.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any, Final, NamedTuple

from agentsvc_nb.documents.tables.dates import DateReading, read_dates
from agentsvc_nb.documents.tables.model import SHARE, Kind, ReadColumn, Value, is_empty
from agentsvc_nb.documents.tables.numbers import NumberReading, read_numbers

_BOOLEANS: Final = tuple(
    {yes: True, no: False}
    for yes, no in (
        *(("true", "false"), ("yes", "no"), ("y", "n"), ("ja", "nein"), ("oui", "non"), ("sí", "no"), ("si", "no")),
        *(("wahr", "falsch"), ("vrai", "faux"), ("verdadero", "falso"), ("t", "f"), ("on", "off")),
    )
)


ColumnReading = NumberReading | DateReading | str | None
"""A column's numbers or dates; else a text, with a sentence if it only looks like numbers."""


class Hints(NamedTuple):
    """What other columns of the table show: the decimal mark, and whether the day stands before the month."""

    mark: str = ""
    day_first: bool | None = None


NO_HINTS: Final = Hints()


def read_columns(names: Sequence[str], cells: Sequence[Sequence[Any]], hints: Hints = NO_HINTS) -> list[ReadColumn]:
    """The columns, their kinds decided. `hints` count where no column shows better."""
    read = [
        _read_whole(name, column) if set(map(type, column)) <= {str} else None
        for name, column in zip(names, cells, strict=True)
    ]
    shown = shown_hints([one.reading for one in read if one is not None], hints)
    return [_typed_or_not(name, column, one, shown) for name, column, one in zip(names, cells, read, strict=True)]


class _Whole(NamedTuple):
    """What a column of texts was read as; the column itself where that was done at once."""

    reading: ColumnReading
    counts: Mapping[str, int]
    column: ReadColumn | None = None


def _read_whole(name: str, cells: Sequence[str]) -> _Whole:
    if len(cells) < LONG:
        counts = Counter(cells)
        return _Whole(column_reading(name, counts, NO_HINTS), counts)
    some = Counter(sample(cells))
    reading = column_reading(name, some, NO_HINTS)
    if reading is None and (len(some) > 8 or not truth_values(some)):
        values = [text.strip() or None for text in cells]
        return _Whole(None, {}, ReadColumn(name, "text", values, cells))
    if len(some) > some.total() / 2 and (column := _at_once(name, cells, reading)):
        return _Whole(reading, {}, column)
    counts = Counter(cells)
    return _Whole(column_reading(name, counts, NO_HINTS), counts)


def _at_once(name: str, cells: Sequence[str], reading: ColumnReading) -> ReadColumn | None:
    if isinstance(reading, NumberReading) and (found := numbers_at_once(cells, reading)):
        values, decimals = found
        return ReadColumn(name, "number", values, cells, reading.unit, decimals, decimal_mark=reading.mark)
    if isinstance(reading, DateReading) and reading.kind != "time" and (dates := _dates_at_once(cells)):
        return ReadColumn(name, "datetime" if isinstance(next(filter(None, dates)), datetime) else "date", dates, cells)
    return None


def _typed_or_not(name: str, cells: Sequence[Any], whole: _Whole | None, hints: Hints) -> ReadColumn:
    if whole is None:
        return _typed_column(name, cells, hints)
    if whole.column:
        return whole.column
    reading = whole.reading
    sure = not isinstance(reading, NumberReading | DateReading) or reading.sure
    return counted_column(name, cells, whole.counts, reading if sure else column_reading(name, whole.counts, hints))


def column_reading(name: str, counts: Mapping[str, int], hints: Hints) -> ColumnReading:
    """What a column is read as whose texts stand there so often."""
    numbers = read_numbers(counts, hints.mark) if not _is_date(name, counts) else None
    return numbers or read_dates(counts, name, hints.day_first)


def _is_date(name: str, counts: Mapping[str, int]) -> bool:
    """Whether whole numbers are dates: eight digits below a name that says so."""
    first = next((text for text in counts if not is_empty(text)), "")
    return len(first.strip()) == 8 and first.strip().isdecimal() and read_dates(counts, name) is not None


def shown_hints(read: Sequence[ColumnReading], hints: Hints) -> Hints:
    """What the columns that are sure show: the decimal mark that most have, and the order of day and month."""
    marks = Counter(one.mark for one in read if isinstance(one, NumberReading) and one.sure and one.mark)
    orders = Counter(
        one.day_first for one in read if isinstance(one, DateReading) and one.sure and one.day_first is not None
    )
    return Hints(
        marks.most_common(1)[0][0] if marks else hints.mark,
        orders.most_common(1)[0][0] if orders else hints.day_first,
    )


def counted_column(name: str, cells: Sequence[str], counts: Mapping[str, int], reading: ColumnReading) -> ReadColumn:
    """The column of these cells, each of which is among the texts that were counted and read."""
    if isinstance(reading, NumberReading):
        about = _empty_signs(counts)
        values = [reading.values[text] for text in cells]
        return ReadColumn(
            name, "number", values, cells, reading.unit, reading.decimals, _misread(counts, reading.values),
            reading.mark, (*reading.remarks, *about),
        )  # fmt: skip
    if isinstance(reading, DateReading):
        dates = [reading.values[text] for text in cells]
        remarks = (*reading.remarks, *_empty_signs(counts))
        misread = _misread(counts, reading.values)
        return ReadColumn(name, reading.kind, dates, cells, reading.unit, misread=misread, remarks=remarks)
    if booleans := truth_values(counts):
        return ReadColumn(name, "boolean", [booleans[text] for text in cells], cells)
    texts = {text: text.strip() or None for text in counts}
    return ReadColumn(name, "text", [texts[text] for text in cells], cells, remarks=(reading,) if reading else ())


def _misread(counts: Mapping[str, int], values: Mapping[str, Value]) -> int:
    return sum(count for text, count in counts.items() if values[text] is None and not is_empty(text))


def _empty_signs(counts: Mapping[str, int]) -> tuple[str, ...]:
    signs = sorted({text.strip() for text in counts if text.strip() and is_empty(text)})
    return (f"Read as empty: {', '.join(signs[:4])}.",) if signs else ()


def truth_values(counts: Mapping[str, int]) -> dict[str, bool | None] | None:
    """The truth values of texts that are nothing but a word for true and its word for false."""
    folded = {text: text.strip().casefold() for text in counts}
    words = {word for word in folded.values() if word}
    pair = next((pair for pair in _BOOLEANS if words and words <= pair.keys()), None)
    if pair is None or (all(len(word) == 1 for word in words) and len(words) < 2):
        return None
    return {text: pair.get(word) for text, word in folded.items()}


def _typed_column(name: str, cells: Sequence[Any], hints: Hints = NO_HINTS) -> ReadColumn:
    """A column of cells that have types in the file, of Python's; those that are texts there are read as such."""
    plain = [plain_value(cell) for cell in cells]
    texts = [text_of(cell) for cell in plain]
    kinds = Counter(_kind(cell) for cell in plain if cell is not None)
    kind, most = kinds.most_common(1)[0] if kinds else ("text", 0)
    if kind in ("date", "datetime") and kinds["date"] and kinds["datetime"]:
        kind, most = "datetime", kinds["date"] + kinds["datetime"]
    filled = sum(1 for cell in plain if cell is not None and not (isinstance(cell, str) and is_empty(cell)))
    if kind == "text" or most < SHARE * filled:
        return counted_column(
            name, texts, Counter(texts), None if _mixed(kinds) else column_reading(name, Counter(texts), hints)
        )
    values = [_as(kind, cell) for cell in plain]
    return _whole_days(_of(name, kind, values, plain, texts))


def _of(name: str, kind: Kind, values: list[Value], plain: list[Value], texts: list[str]) -> ReadColumn:
    strings = Counter(cell for cell in plain if isinstance(cell, str))
    if kind == "number" and strings and isinstance(read := read_numbers(strings, "."), NumberReading):
        cells = zip(plain, values, strict=True)
        values = [read.values.get(cell) if isinstance(cell, str) else value for cell, value in cells]
    misread = sum(1 for value, text in zip(values, texts, strict=True) if value is None and not is_empty(text))
    decimals = max((-int(v.as_tuple().exponent) for v in values if isinstance(v, Decimal) and v.is_finite()), default=0)
    return ReadColumn(name, kind, values, texts, "", max(0, decimals), misread, remarks=_empty_signs(strings))


def _whole_days(column: ReadColumn) -> ReadColumn:
    """A column of dates, if all its times are midnight."""
    moments = [value for value in column.values if value is not None]
    if column.kind != "datetime" or any(isinstance(one, datetime) and one.time() != time(0) for one in moments):
        return column
    days = [value.date() if isinstance(value, datetime) else None for value in column.values]
    texts = [text.removesuffix(" 00:00:00") for text in column.texts]
    return ReadColumn(column.name, "date", days, texts, misread=column.misread, remarks=column.remarks)


def _mixed(kinds: Mapping[Kind, int]) -> bool:
    """Whether texts and numbers mix in a column of the file, in which texts are meant as such."""
    return kinds.get("text", 0) < sum(kinds.values())


def plain_value(cell: Any) -> Value:
    """The cell as a value of one of the kinds; what is none of them becomes a text."""
    match cell:
        case None | bool():
            return cell
        case Decimal():
            return cell if cell.is_finite() else None
        case datetime() if cell.tzinfo:
            return cell.astimezone(UTC).replace(tzinfo=None)
        case datetime() | time():
            return cell
        case str():
            return cell if cell.strip() else None
        case int():
            return Decimal(cell)
        case float():
            return _from_float(cell)
        case date():
            return cell
        case timedelta():
            return _duration(cell)
        case _:
            return str(cell)


def _from_float(number: float) -> Decimal | None:
    """The shortest decimal that is this number in binary."""
    if number != number or number in (float("inf"), float("-inf")):
        return None
    return Decimal(int(number)) if number.is_integer() and abs(number) <= 2**53 else Decimal(repr(number))


def _duration(length: timedelta) -> str:
    seconds = int(length.total_seconds())
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def text_of(cell: Value) -> str:
    """A cell as a reader would write it."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    return f"{cell:f}" if isinstance(cell, Decimal) else str(cell)


def _kind(cell: Value) -> Kind:
    match cell:
        case bool():
            return "boolean"
        case Decimal():
            return "number"
        case datetime():
            return "datetime"
        case date():
            return "date"
        case time():
            return "time"
        case _:
            return "text"


def _as(kind: Kind, cell: Value) -> Value:
    """The cell's value in a column of a kind; None if it is of another."""
    if cell is None or _kind(cell) == kind:
        return cell
    if kind == "datetime" and isinstance(cell, date):
        return datetime.combine(cell, time(0))
    return None


LONG: Final = 2_000
"""Cells from which on it is worth it."""
_SAMPLE: Final = 300
_AROUND: Final = re.compile(r"-?([^-\d.,]*)-?\d[\d.,]*([^-\d.,]*)")
_ISO_DATES: Final = re.compile(r"(?:(?:\d{4}-\d\d-\d\d)?\n)*+")
_ISO_MOMENTS: Final = re.compile(r"(?:(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?)?\n)*+")
_DOTTED: Final = re.compile(r"(?:(?:\d\d\.\d\d\.\d{4}(?: \d\d:\d\d(?::\d\d)?)?)?\n)*+")
_DOTTED_DAY: Final = re.compile(r"(\d\d)\.(\d\d)\.(\d{4})")


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


def _dates_at_once(cells: Sequence[str]) -> list[date | None] | list[datetime | None] | None:
    """The dates, or dates with times, of a column in which all stand as ISO 8601 has it, or as `31.12.2026 18:05`;
    None if they do not."""
    joined = "\n".join(cells) + "\n"
    if joined.count("\n") != len(cells):
        return None
    if _DOTTED.fullmatch(joined):
        joined = _DOTTED_DAY.sub(r"\3-\2-\1", joined)
        cells = joined.split("\n")[:-1]
    try:
        if _ISO_DATES.fullmatch(joined):
            return [date.fromisoformat(text) if text else None for text in cells]
        if _ISO_MOMENTS.fullmatch(joined):
            moments = [datetime.fromisoformat(text) if text else None for text in cells]
            return moments if any(one and one.time() != time(0) for one in moments) else None
    except ValueError:
        return None
    return None
