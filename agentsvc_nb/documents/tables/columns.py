"""Find the kind of each column, such as number, from its cells. If they are ambiguous, use the other columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import Final

from agentsvc_nb.documents.tables.model import (
    UNREAD_SHOWN,
    Cell,
    Kind,
    MarkedText,
    ReadColumn,
    Value,
    is_filled,
    text_of,
)
from agentsvc_nb.documents.tables.values import (
    NO_HINTS,
    SHARE,
    ColumnReading,
    Hints,
    collect_hints,
    is_duration_name,
    is_empty,
    is_error,
    is_serial_date,
    parse_amount,
    parse_date,
    read_texts,
)

_LONG: Final = 20_000
_SAMPLE: Final = 500
_KINDS: Final[Mapping[type, str]] = {
    **dict.fromkeys((int, float, Decimal), "number"),
    bool: "boolean",
    datetime: "datetime",
    date: "date",
    time: "time",
    timedelta: "duration",
    str: "text",
    MarkedText: "text",
}


@dataclass(slots=True)
class _Draft:
    """A column between the two passes of reading. The first pass reads each column alone, the second uses hints from
    the other columns."""

    name: str
    cells: Sequence[Cell]
    counts: Counter[str]
    kind: str
    """How to read the cells: by the type that most of them have in the file (such as `number`), or as `text`, `marked`
    or `mixed`."""
    reading: ColumnReading


def read_columns(names: Sequence[str], columns: Sequence[Sequence[Cell]], hints: Hints = NO_HINTS) -> list[ReadColumn]:
    """Return the columns with typed values. `hints` apply where the columns themselves give no hints."""
    drafts = [_draft(name, cells) for name, cells in zip(names, columns, strict=True)]
    shown = collect_hints([one.reading for one in drafts], hints)
    for one in drafts:
        if not one.reading.sure:
            one.reading = read_texts(one.name, one.counts, shown)
    return [_finish(one) for one in drafts]


def _draft(name: str, cells: Sequence[Cell]) -> _Draft:
    types = set(map(type, cells)) - {type(None)}
    if types <= {str}:
        texts: Sequence[str] = ["" if cell is None else cell for cell in cells]  # type: ignore[misc]
        counts = Counter(texts)
        if len(counts) > _LONG and _is_plain_text(texts):
            return _Draft(name, cells, Counter(), "text", ColumnReading("text", {}))
        return _Draft(name, cells, counts, "text", read_texts(name, counts))
    if types.isdisjoint({str, MarkedText}):  # for speed with millions of cells, count only their types
        kinds = Counter[str]()
        for type_, count in Counter(map(type, cells)).items():
            kinds[_KINDS.get(type_, "text")] += count if type_ is not type(None) else 0
        strings: list[str] = []
    else:
        kinds = Counter(
            _KINDS.get(type(cell), "text") for cell in cells if is_filled(cell) and not _means_nothing(cell)
        )
        strings = [cell for cell in cells if isinstance(cell, str)]
    if kinds["date"] and kinds["datetime"]:
        kinds["datetime"] += kinds.pop("date")
    kind, most = kinds.most_common(1)[0] if kinds else ("text", 0)
    counts = Counter(map(text_of, strings))
    if any(isinstance(cell, MarkedText) and cell[:1].isdigit() for cell in strings):
        kind = "marked"
    elif kind != "text" and most < SHARE * kinds.total():
        # Read typed cells as texts, too, because the column may mix numbers with texts such as "12", or dates with
        # texts.
        reading = read_texts(name, Counter(map(text_of, cells)))
        kind = "text" if reading.kind == "text" else "mixed"
    elif kind == "text":
        kind = "text" if len(kinds) == 1 else "mixed"
    if kind in ("text", "mixed"):
        counts = Counter(map(text_of, cells))
        return _Draft(name, cells, counts, kind, read_texts(name, counts))
    return _Draft(
        name, cells, counts, kind, read_texts(name, counts) if kind == "number" else ColumnReading("text", {})
    )


def _means_nothing(cell: Cell) -> bool:
    return isinstance(cell, str) and (is_empty(cell) or is_error(cell))


def _is_plain_text(texts: Sequence[str]) -> bool:
    """Return True if less than half of a sample of the texts are numbers or dates."""
    stride = len(texts) // _SAMPLE + 1
    sample = [text for text in (*islice(filter(None, texts), _SAMPLE), *texts[::stride]) if not is_empty(text)]
    return sum(1 for text in sample if parse_amount(text) or parse_date(text)) * 2 < len(sample)


def _finish(draft: _Draft) -> ReadColumn:
    match draft.kind:
        case "text" | "mixed":
            return _from_texts(draft)
        case "marked":
            values = [text_of(cell) or None for cell in draft.cells]
            return ReadColumn(draft.name, "text", values, draft.cells)
        case "number":
            return _from_numbers(draft)
        case "duration":
            return _in_seconds(draft)
        case "time" if is_duration_name(draft.name):
            return _in_seconds(draft)
        case _:
            return _from_typed(draft)


def _from_texts(draft: _Draft) -> ReadColumn:
    reading = draft.reading
    if not reading.values:
        values: list[Value] = [text_of(cell) or None for cell in draft.cells]
        return ReadColumn(draft.name, "text", values, draft.cells)
    plain = set(map(type, draft.cells)) <= {str}
    texts = draft.cells if plain else [text_of(cell) if not isinstance(cell, str) else cell for cell in draft.cells]
    by_text = reading.values
    values = [by_text[text] if text in by_text else by_text.get(text_of(text)) for text in texts]  # type: ignore[index]
    column = ReadColumn(
        draft.name, reading.kind, values, draft.cells, reading.unit, reading.decimals,
        decimal_mark=reading.decimal_mark, notes=reading.notes, doubt=reading.doubt,
    )  # fmt: skip
    return column if reading.kind in ("text", "boolean") else _count_unread(column)


def _from_numbers(draft: _Draft) -> ReadColumn:
    texts = draft.reading.values if draft.reading.kind == "number" else {}
    units = {draft.reading.unit} if texts else {""}
    if units == {"%"} and any(isinstance(cell, int | float | Decimal) for cell in draft.cells):
        texts, units = {}, {""}  # only some cells are percentages, so they do not count as numbers
    if set(map(type, draft.cells)) <= {int, type(None)}:
        values: list[Value] = [None if cell is None else Decimal(cell) for cell in draft.cells]  # type: ignore[arg-type]
    else:
        values = [texts.get(text_of(cell)) if isinstance(cell, str) else to_number(cell) for cell in draft.cells]
    numbers = [value for value in values if isinstance(value, Decimal)]
    if is_serial_date(draft.name, numbers) and numbers:
        days = [date(1899, 12, 30) + timedelta(int(one)) if isinstance(one, Decimal) else None for one in values]
        notes = ("Spreadsheet serial numbers are read as dates.",)
        return _count_unread(ReadColumn(draft.name, "date", days, draft.cells, notes=notes))
    decimals = max((-int(value.as_tuple().exponent) for value in numbers), default=0)
    return _count_unread(ReadColumn(draft.name, "number", values, draft.cells, units.pop(), max(0, decimals)))


def _in_seconds(draft: _Draft) -> ReadColumn:
    texts = read_texts(f"{draft.name} duration", draft.counts).values if draft.counts else {}
    values: list[Value] = []
    for cell in draft.cells:
        if isinstance(cell, timedelta):
            length = Decimal(cell.days * 86400 + cell.seconds) + Decimal(cell.microseconds).scaleb(-6)
            values.append(length.quantize(Decimal("0.001")).normalize() + 0)
        elif isinstance(cell, time):
            values.append(Decimal(cell.hour * 3600 + cell.minute * 60 + cell.second))
        else:
            value = texts.get(text_of(cell)) if isinstance(cell, str) else None
            values.append(value if isinstance(value, Decimal) else None)
    decimals = max((-int(value.as_tuple().exponent) for value in values if isinstance(value, Decimal)), default=0)
    notes = ("Durations are read as seconds.",)
    return _count_unread(ReadColumn(draft.name, "number", values, draft.cells, "s", max(0, decimals), notes=notes))


def _from_typed(draft: _Draft) -> ReadColumn:
    """Return a column of dates, times or booleans, if the file itself stores the cells as such (and not as texts)."""
    kind: Kind = draft.kind  # type: ignore[assignment]
    values: list[Value] = []
    for cell in draft.cells:
        value: Value = None
        if isinstance(cell, datetime):
            cell = cell.astimezone(UTC).replace(tzinfo=None) if cell.tzinfo else cell
            value = cell if kind == "datetime" else None
        elif isinstance(cell, date) and kind == "datetime":
            value = datetime.combine(cell, time(0))
        elif _KINDS.get(type(cell)) == kind:
            value = cell  # type: ignore[assignment]
        elif isinstance(cell, str) and kind in ("date", "datetime") and is_filled(cell):
            read = next(iter(read_texts(draft.name, {cell: 1}).values.values()))
            if isinstance(read, datetime):
                value = read if kind == "datetime" else None
            elif isinstance(read, date):
                value = datetime.combine(read, time(0)) if kind == "datetime" else read
        values.append(value)
    moments = [value for value in values if isinstance(value, datetime)]
    if kind == "datetime" and all(one.time() == time(0) for one in moments):
        days = [value.date() if isinstance(value, datetime) else None for value in values]
        return _count_unread(ReadColumn(draft.name, "date", days, draft.cells))
    return _count_unread(ReadColumn(draft.name, kind, values, draft.cells))


def to_number(cell: Cell) -> Decimal | None:
    """Return the number of a typed cell in its shortest decimal form, or None if the cell is not a number."""
    match cell:
        case bool():
            return None
        case Decimal():
            return cell if cell.is_finite() else None
        case int():
            return Decimal(cell)
        case float():
            if cell != cell or cell in (float("inf"), float("-inf")):
                return None
            return Decimal(int(cell)) if cell.is_integer() and abs(cell) <= 2**53 else Decimal(repr(cell))
        case _:
            return None


def _count_unread(column: ReadColumn) -> ReadColumn:
    if None not in column.values:
        return column
    cells = zip(column.values, column.cells, strict=True)
    return note_unread(column, Counter(text_of(cell) for value, cell in cells if value is None and is_filled(cell)))


def note_unread(column: ReadColumn, texts: Counter[str]) -> ReadColumn:
    """Return the column with the number of its unread cells, and with notes about them.

    Sums leave these cells out, and users must know that.
    """
    unread, empty, errors = Counter[str](), Counter[str](), Counter[str]()
    for text, count in texts.items():
        (errors if is_error(text) else empty if is_empty(text) else unread)[text.strip()] += count
    notes = list(column.notes)
    kind = {"datetime": "date with a time", "boolean": "truth value"}.get(column.kind, column.kind)
    if unread:
        shown = _listed([f"{text[:40]!r}" for text, _ in unread.most_common(UNREAD_SHOWN)], len(unread))
        are = "1 cell is" if unread.total() == 1 else f"{unread.total():,} cells are"
        notes.append(f"{are} not a {kind} and not counted: {shown}.")
    if errors:
        shown = _listed(list(errors)[:UNREAD_SHOWN], len(errors))
        has = "1 cell has" if errors.total() == 1 else f"{errors.total():,} cells have"
        notes.append(f"{has} an error value and no number: {shown}.")
    if empty:
        notes.append(f"Read as empty: {', '.join(sorted(empty)[:UNREAD_SHOWN])}.")
    shown_texts = tuple(text for text, _ in unread.most_common(UNREAD_SHOWN))
    return replace(column, unread=unread.total(), unread_texts=shown_texts, notes=tuple(notes))


def _listed(texts: list[str], total: int) -> str:
    return ", ".join(texts) + (", ..." if total > len(texts) else "")


def column_notes(columns: Sequence[ReadColumn]) -> list[str]:
    """Return the notes of all columns, each after its column's name."""
    return [f"{column.name}: {note}" for column in columns for note in column.notes]
