"""Find a number of the answer in a table: as a cell, as the total or mean of a column, or as a count of rows.

Both the value and the words near the number must fit. The more cells the words allow, the more digits the number must
have to be accepted, because one of many cells fits a short number by chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.agents.numbers.context import LocatedNumber
from agentsvc_nb.agents.numbers.reading import Number
from agentsvc_nb.agents.numbers.tables import IndexedTable, NumberColumn, Values
from agentsvc_nb.agents.numbers.words import DOWN, EXTREME, MEAN, TOTAL, stem, stems

CHANCE: Final = 0.1
"""The maximum accepted probability that one of the compared values equals the number by accident."""
NAMED, GROUP, UNNAMED = 2, 1, 0
_BETTER: Final = 0.5
"""A column is not a source if the words near the number fit another column better by more than this."""
_ROWS_COMPARED: Final = 8
"""The values of at most this many rows are compared one by one. For more rows, the sorted column is searched."""


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a number. `value` is the source's exact value in the unit of its column.

    `text` describes the source for the user.
    """

    status: str
    text: str
    strong: bool = False
    value: float | None = None
    table: IndexedTable | None = None
    row: int | None = None
    column: NumberColumn | None = None
    path: str | None = None
    line: int | None = None
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows of a table to which a number may belong.

    Attributes:
        named: `NAMED` if the text names one row, `GROUP` if it names several rows, or `UNNAMED` if it names none. In
            the last case, the selection contains all rows except totals.
        instead: True if the selection contains all these rows although the text before the sentence names some rows.
    """

    rows: Sequence[int]
    named: int
    instead: bool = False


@dataclass(slots=True)
class PossibleColumn:
    """A column that may be the source of a number.

    Attributes:
        factors: the factors that may convert the column's values to the unit of the number.
        close: how well the words of the number's clause name the column.
        near: how well the words of the number's sentence name the column.
    """

    table: IndexedTable
    selection: Selection
    column: NumberColumn
    factors: Sequence[float]
    close: float
    near: float

    @property
    def columns_tried(self) -> int:
        """Return an estimate of how many columns the words near the number allow."""
        if self.close > 0:
            return 1
        return 2 if self.near > 0 else 4


def chance(number: Number) -> float:
    """Return the probability that a random value rounds to the number: precision divided by value (0.01 for `100`)."""
    return min(1.0, number.step / max(number.value, number.step))


def selections(place: LocatedNumber, table: IndexedTable) -> Iterator[Selection]:
    """Yield selections of rows to which the number may belong, the most likely first.

    Yield none if no row of the table has the keys that the sentence names: the number then belongs to another table.
    """
    seen: list[Sequence[int]] = []
    direct = any(name in place.rows for name in table.keys)
    variants: list[tuple[Values, Values]] = [(place.rows, place.carried)]
    variants += [(place.rows, {})] if direct and place.carried else []
    for keys, carried in variants:
        found = _selection(keys, carried, table)
        if found is not None and found.rows not in seen:
            seen.append(found.rows)
            yield found
    if seen and seen[0] != table.body and len(table.rows) > 1 and not direct:
        yield Selection(table.body, UNNAMED, instead=True)  # the sentence may be about all rows


def _selection(keys: Values, carried: Values, table: IndexedTable) -> Selection | None:
    rows: set[int] | None = None
    for dimension, where in table.keys.items():
        if (named := keys.get(dimension)) is not None:
            hits = {row for key in named for row in where.get(key, ())}
            rows = hits if rows is None else rows & hits
    if rows is not None and not rows:
        return None
    direct = rows is not None
    for dimension, where in table.keys.items():
        if dimension not in keys and (named := carried.get(dimension)) is not None and (rows is None or len(rows) > 1):
            hits = {row for key in named for row in where.get(key, ())}
            rows = (hits if rows is None else rows & hits) or rows
    if rows is None:
        return Selection(table.body, NAMED if len(table.rows) == 1 else UNNAMED)
    return Selection(
        sorted(rows), NAMED if len(rows) == 1 else GROUP if direct or len(rows) < len(table.rows) else UNNAMED
    )


def factors(number: Number, column: NumberColumn) -> list[float]:
    """Return the factors that may convert the column's values to the number's unit, or [] if the units do not match."""
    if number.kind in ("percent", "points"):
        if column.fraction:
            return [100.0]
        return [1.0] if column.percent or (number.kind == "points" and not column.money) else []
    if number.kind == "money" and (
        column.percent or (column.currency and number.currency and column.currency != number.currency)
    ):
        return []
    measure = 1.0
    if number.measure and column.measure:
        if number.measure[0] == column.measure[0]:
            measure = column.measure[1] / number.measure[1]
    elif number.kind == "times" and (column.money or column.percent):
        return []
    if column.scale == 1:
        return [measure]
    return [column.scale] if number.kind == "money" else [measure, column.scale]


def possible_columns(place: LocatedNumber, tables: Sequence[IndexedTable]) -> list[PossibleColumn]:
    """Return the columns that may be the source of the number at `place`."""
    found = []
    for table in tables:
        chosen = list(selections(place, table))
        scores = [column_fits(table, words) for words in (place.close, place.near)] if chosen else []
        priced = place.number.kind == "money" and any(column.money for column in table.columns)
        for column in table.columns if chosen else ():
            if priced and not column.money:
                continue
            if ways := factors(place.number, column):
                measure, own = place.number.measure, column.measure
                unit = 0.6 if measure and own and measure[0] == own[0] else 0.0
                close, near = (fits[column.index] for fits in scores)
                found += [
                    PossibleColumn(table, selection, column, ways, close + unit, near + unit) for selection in chosen
                ]
    return found


def column_fits(table: IndexedTable, words: frozenset[str]) -> dict[int, float]:
    """Return how well the words name each column: the number of matching words, plus up to 0.5 for a complete name."""
    if words not in table.fits:
        table.fits[words] = {column.index: _fit(column, table, words) for column in table.columns}
    return table.fits[words]


def _fit(column: NumberColumn, table: IndexedTable, words: frozenset[str]) -> float:
    hits = column.words & words
    return len(hits) + 0.5 * max(len(hits & part) / len(part) for part in column.namings) if hits else 0.0


def _clearest(found: Sequence[PossibleColumn]) -> dict[int, float]:
    """Return, for each table, the highest `close` of its possible columns. The keys are the tables' `order`."""
    clearest: dict[int, float] = {}
    for option in found:
        clearest[option.table.order] = max(option.close, clearest.get(option.table.order, 0.0))
    return clearest


def trace_to_cell(place: LocatedNumber, found: Sequence[PossibleColumn]) -> Source | None:
    """Return the best-fitting cell as the source of the number at `place`, or None."""
    number = place.number
    clearest = _clearest(found)
    best: tuple[float, Source] | None = None
    for option in found:
        if (option.close + _BETTER < clearest[option.table.order] and not place.whole) or (
            number.adjectival and option.close == 0
        ):
            continue
        for row, value in _hits(place, option):
            if not _same_sign(place, value) or not _is_likely(place, option, value):
                continue
            named = max(option.close, option.near) > 0
            strong = option.selection.named == NAMED and (named or len(option.table.columns) == 1)
            score = 4 * option.selection.named + 2 * min(option.close, 2) + min(option.near, 2)
            score += option.table.order / 1000
            if best is None or score > best[0]:
                best = score, _cell_source(option, row, value, strong)
    return best[1] if best else None


def _hits(place: LocatedNumber, option: PossibleColumn) -> Iterator[tuple[int, float]]:
    """Yield each selected row whose value, converted by one of the factors, equals the number; and the value."""
    number, values, rows = place.number, option.column.values, option.selection.rows
    for factor in option.factors:
        found: Iterable[int] = rows
        if len(rows) > _ROWS_COMPARED:
            reach = 1.01 * number.step
            near = option.column.near((number.value - reach) / factor, (number.value + reach) / factor)
            found = (row for row in near if row in rows)
        for row in found:
            value = values[row]
            if value is not None and number.fits(abs(value) * factor):
                yield row, value


def _same_sign(place: LocatedNumber, value: float) -> bool:
    if place.number.negative is not None:
        return value == 0 or (value < 0) == place.number.negative
    return value >= 0 or bool(place.near & DOWN) or place.cell is not None


def _is_likely(place: LocatedNumber, option: PossibleColumn, value: float) -> bool:
    """Return False if the words allow so many cells that one of them may equal the number by chance."""
    rows = option.selection.rows
    if option.selection.named == NAMED:
        return place.number.digits > 1 or option.close > 0 or (option.near > 0 and abs(value) == place.number.value)
    present = [other for row in rows if (other := option.column.values[row]) is not None]
    tried = 2 if place.close & EXTREME and value in (max(present), min(present)) else len(rows)
    return tried * option.columns_tried * chance(place.number) <= CHANCE


def _cell_source(option: PossibleColumn, row: int, value: float, strong: bool) -> Source:
    table, column = option.table, option.column
    key = table.key(row) or f"row {row + 1}"
    text = f"From `{table.name}`: {key}, {column.name} = {value:,.15g}"
    if not strong and option.close == option.near == 0:
        found = f"Found in `{table.name}` under {key}, column {column.name}."
        text = f"{found} The answer does not name the column. Please check it."
    return Source("traced", text, strong, abs(value), table, row, column, call_id=table.table.call_id)


def trace_to_column(place: LocatedNumber, found: Sequence[PossibleColumn]) -> Source | None:
    """Return a column's total or mean that equals the number at `place`, over all rows or the named rows, or None."""
    number = place.number
    clearest = _clearest(found)
    cues = {"total": bool(place.near & TOTAL), "mean": bool(place.near & MEAN)}
    for option in sorted(found, key=lambda one: (-one.close, -one.near)):
        table, column, selection = option.table, option.column, option.selection
        if len(table.rows) < 2 or (option.close + _BETTER < clearest[table.order] and not place.whole):
            continue
        groups = [(selection.rows, "the rows named")] if selection.named == GROUP else []
        groups += [(table.body, "all rows")] if selection.named != NAMED or any(cues.values()) else []
        for rows, which in groups:
            for what, value in _summaries(table, column, rows):
                tried = option.columns_tried * (1 if cues[what] else 4)
                likely = tried * chance(number) <= CHANCE or (cues[what] and option.close > 0)
                if likely and any(number.fits(abs(value * factor)) for factor in option.factors):
                    text = f"From `{table.name}`: {what} of {column.name} over {which} = {value:,.15g}"
                    named = option.close > 0 or option.near > 0
                    return Source("traced", text, named, None, table, None, column, call_id=table.table.call_id)
    return None


def _summaries(table: IndexedTable, column: NumberColumn, rows: Sequence[int]) -> Iterator[tuple[str, float]]:
    total, count = table.total(column, rows)
    if count > 1:
        if not column.averaged:
            yield "total", total
        yield "mean", total / count


def trace_to_count(place: LocatedNumber, tables: Sequence[IndexedTable]) -> Source | None:
    """Return the table as source if the number at `place` counts its rows or a dimension's distinct keys, else None."""
    number = place.number
    if number.kind or number.value != int(number.value) or number.step > 1:
        return None
    around = place.close
    for table in tables:
        for dimension, where in table.keys.items():
            nouns = {stem(word) for word in dimension.split("_")} | {stem(dimension)}
            nouns |= stems(table.table.labels.get(table.table.columns[table.key_index[dimension]], ""))
            if all(len(key) == 10 and key[4] == key[7] == "-" for key in where):
                nouns |= {"day", "date"}
            kinds = len([key for key in where if key]) - (len(table.body) < len(table.rows))
            if kinds == number.value and nouns & around:
                text = f"From `{table.name}`: {kinds} different {dimension}"
                return Source("traced", text, True, None, table, call_id=table.table.call_id)
        if len(table.body) == number.value and around & ({stem(word) for word in table.name.split("_")} | _ROWS):
            text = f"From `{table.name}`: {len(table.body)} rows"
            return Source("traced", text, True, None, table, call_id=table.table.call_id)
    return None


_ROWS: Final = stems("row item entry record line case")
