"""Find the cell, total or mean from which a number was copied. Its value and the words near it must fit."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.agents.numbers.context import Place
from agentsvc_nb.agents.numbers.evidence import Column, IndexedTable, Values
from agentsvc_nb.agents.numbers.reading import Number
from agentsvc_nb.agents.numbers.words import DOWN, EXTREME, MEAN, TOTAL, beginnings, stem, stems

NAMED, GROUP, UNNAMED = 2, 1, 0
_BETTER: Final = 0.5
"""Choose another column if its words fit better by this much."""
_ROWS_COMPARED: Final = 300
_FEW_ROWS: Final = 3
_OF: Final = stem("of")


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a number. `parts` are the values from which it was computed. `column` may be the first of them."""

    status: str
    text: str
    strong: bool = False
    value: float | None = None
    table: IndexedTable | None = None
    row: int | None = None
    column: Column | None = None
    path: str | None = None
    line: int | None = None
    call_id: str | None = None
    columns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows of a table that the text names: one (`NAMED`), several (`GROUP`), or all if it names none.

    `instead` is True if only the text before the sentence names rows.
    """

    rows: Sequence[int]
    named: int
    instead: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """A column that may be the source, with how well its words fit the clause, the sentence and the topic."""

    table: IndexedTable
    selection: Selection
    column: Column
    factors: Sequence[float]
    close: float
    near: float
    topic: float


def selections(place: Place, table: IndexedTable) -> Iterator[Selection]:
    """Yield the rows to which a number may belong, likeliest first. Yield nothing if it belongs to another table."""
    seen: list[Sequence[int]] = []
    direct = any(name in place.rows for name in table.keys)
    variants: list[tuple[Values, Values]] = [(place.rows, place.carried)]
    variants += [({**place.rows, **place.also}, place.carried)] if place.also else []
    variants += [(place.rows, {})] if direct and place.carried else []
    for keys, carried in variants:
        found = _selection(keys, carried, table)
        if found is not None and found.rows not in seen:
            seen.append(found.rows)
            yield found
    if seen and seen[0] != table.body and len(table.rows) > 1 and not direct:
        yield Selection(
            table.body, UNNAMED, instead=True
        )  # these names come from the text before, which may have another subject


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
            narrowed = hits if rows is None else rows & hits
            rows = narrowed or rows
    if rows is None:
        return Selection(table.body, NAMED if len(table.rows) == 1 else UNNAMED)
    return Selection(
        sorted(rows), NAMED if len(rows) == 1 else GROUP if direct or len(rows) < len(table.rows) else UNNAMED
    )


def factors(number: Number, table: IndexedTable, column: Column) -> list[float]:
    """Return the factors that turn a column's values into numbers written this way. Empty if none can."""
    if number.kind in ("percent", "points"):
        if column.fraction:
            return [100.0]
        return [1.0] if column.percent or (number.kind == "points" and not column.money) else []
    if number.kind == "money":
        if (column.percent and not column.fraction) or (column.fraction and column.percent):
            return []
        if column.counts and not column.averaged:
            return []
        if column.currency and number.currency and column.currency != number.currency:
            return []
    measure = 1.0
    if number.measure and column.measure:
        if number.measure[0] == column.measure[0]:
            measure = column.measure[1] / number.measure[1]
    elif number.kind == "times" and (column.money or column.percent):
        return []
    return [measure, column.scale] if column.scale != 1 else [measure]


def options(place: Place, tables: Sequence[IndexedTable]) -> list[Option]:
    """Return all columns that may be the source of a number."""
    found = []
    around = place.close
    for table in tables:
        chosen = list(selections(place, table))
        scores = [_fits(table, words) for words in (around, place.near, place.topic)] if chosen else []
        for column in table.columns if chosen else ():
            if ways := factors(place.number, table, column):
                measure, own = place.number.measure, column.measure
                unit = 0.6 if measure and own and measure[0] == own[0] else 0.0
                close, near, topic = (fits[column.index] for fits in scores)
                found += [
                    Option(table, selection, column, ways, close + unit, near + unit, topic) for selection in chosen
                ]
    return found


def fit(column: Column, table: IndexedTable, words: frozenset[str]) -> float:
    """Return how well words name a column. Rare words and complete names count most."""
    return _fits(table, words)[column.index]


def _fits(table: IndexedTable, words: frozenset[str]) -> dict[int, float]:
    if words not in table.fits:
        table.fits[words] = {column.index: _fit(column, table, words) for column in table.columns}
    return table.fits[words]


def _fit(column: Column, table: IndexedTable, words: frozenset[str]) -> float:
    score = 0.0
    hits = set()
    for word, wide in column.wide.items():
        exact = word in words or (2 < len(word) < 6 and word in beginnings(words))
        if exact or wide & words:
            score += (1.0 if exact else 0.7) * table.weights[word]
            hits.add(word)
    if hits:
        named = (column.name_words, column.label_words, column.words)
        score += 0.5 * max(len(hits & part) / len(part) for part in named if part)
    return score


def same_sign(place: Place, value: float) -> bool:
    if place.number.negative is not None:
        return value == 0 or (value < 0) == place.number.negative
    return value >= 0 or bool(place.near & DOWN) or place.cell is not None


def from_cell(place: Place, found: Sequence[Option]) -> Source | None:
    """Return the cell that fits best."""
    number = place.number
    clearest = max((option.close for option in found if option.selection.named == NAMED), default=0.0)
    clearest = clearest or max((option.close for option in found), default=0.0)
    best: tuple[float, Source] | None = None
    for option in found:
        if option.close + _BETTER < clearest and not place.whole:
            continue
        for row, value in _hits(place, option):
            if not same_sign(place, value) or not _is_likely(place, option, value):
                continue
            named = max(option.close, option.near, option.topic) > 0
            strong = option.selection.named == NAMED and (named or len(option.table.columns) == 1)
            score = 4 * option.selection.named + 2 * min(option.close, 2) + min(option.near, 2) + option.topic / 4
            score += option.table.order / 1000
            if best is None or score > best[0]:
                best = score, _cell_source(option, row, value, strong)
    if best is None and number.digits > 3 and clearest < 1:
        lone = [
            (option, row, value)
            for option in found
            for row, value in _hits(place, option)
            if option.selection.named != NAMED and not option.selection.instead and same_sign(place, value)
        ]
        if len({(option.table.order, option.column.index, row) for option, row, _ in lone}) == 1:
            return _cell_source(*lone[0], False)
    return best[1] if best else None


def _hits(place: Place, option: Option) -> Iterator[tuple[int, float]]:
    """Yield the rows, with their values, from which a number may be copied."""
    number, values = place.number, option.column.values
    for factor in option.factors:
        if option.selection.named and len(option.selection.rows) <= _ROWS_COMPARED:
            for row in option.selection.rows:
                value = values[row]
                if value is not None and number.fits(abs(value) * factor):
                    yield row, value
        elif not option.selection.named:
            reach = 1.01 * number.step
            for _, row in option.column.near((number.value - reach) / factor, (number.value + reach) / factor):
                value = values[row]
                if value is not None and number.fits(abs(value) * factor):
                    yield row, value


def _is_likely(place: Place, option: Option, value: float) -> bool:
    """Return False if a value may fit by chance. The less the words say, the more digits are required."""
    number = place.number
    exact = abs(value) == number.value
    if number.adjectival and option.close == 0:
        return False
    if option.selection.named == NAMED:
        return number.digits > 1 or (exact and (option.close > 0 or option.near > 0)) or option.close > 0
    present = [other for row in option.selection.rows if (other := option.column.values[row]) is not None]
    extreme = place.close & EXTREME and present and value in (max(present), min(present))
    if extreme and (option.close > 0 or option.near > 0):
        return number.digits > 1 or exact
    if option.close == option.near == 0 or (option.selection.instead and len(option.selection.rows) > 2):
        return False
    if len(option.selection.rows) <= _FEW_ROWS and option.close > 0:
        return number.digits > 1
    return number.digits > 2 and (option.close > 0 or option.selection.named == GROUP)


def _cell_source(option: Option, row: int, value: float, strong: bool) -> Source:
    table, column = option.table, option.column
    key = table.key(row) or f"row {row + 1}"
    text = f"From `{table.name}`: {key}, {column.name} = {value:,.15g}"
    if not strong and option.close == option.near == option.topic == 0:
        place = f"Found in `{table.name}` under {key}, column {column.name}."
        text = f"{place} The text does not name the column; please compare."
    return Source("traced", text, strong, abs(value), table, row, column, call_id=table.table.call_id)


def from_column(place: Place, found: Sequence[Option]) -> Source | None:
    """Return the total, mean or median of a column over all rows or the named rows."""
    number, near = place.number, place.near
    totals = bool(near & TOTAL) or _OF in place.before | place.after
    means = bool(near & MEAN)
    clearest: dict[int, float] = {}
    for option in found:
        clearest[option.table.order] = max(option.close, clearest.get(option.table.order, 0.0))
    for option in sorted(found, key=lambda one: (-one.close, -one.near)):
        table, column = option.table, option.column
        named = option.close or option.near
        if (
            (option.close + _BETTER < clearest[table.order] and not place.whole)
            or len(table.rows) < 2
            or number.adjectival
        ):
            continue
        groups: list[tuple[Sequence[int], str]] = []
        groups += [(table.body, "all rows")] if option.selection.named != NAMED or totals or means else []
        if option.selection.named == GROUP:
            groups.insert(0, (option.selection.rows, "the rows named"))
        for rows, which in groups:
            whole, count = table.total(column, rows)
            if count < 2:
                continue
            for factor in option.factors:
                total = whole * factor
                enough = number.digits >= (3 if option.close or totals else 5) or bool(
                    totals and (named or place.whole)
                )
                enough = enough or (option.close >= 1.5 and number.digits > 1)
                if option.selection.named == GROUP:
                    enough = enough or number.digits >= (2 if named else 4)
                if not column.averaged and enough and number.fits(abs(total)):
                    return _column_source(
                        table, column, f"total of {column.name} over {which} = {total:,.15g}", named > 0
                    )
                if means and named and number.fits(abs(total / count)):
                    return _column_source(table, column, f"mean of {column.name} over {which}", True)
                if (
                    "median" in near
                    and named
                    and number.fits(
                        abs(
                            statistics.median(value for row in rows if (value := column.values[row]) is not None)
                            * factor
                        )
                    )
                ):
                    return _column_source(table, column, f"median of {column.name} over {which}", True)
    return None


def _column_source(table: IndexedTable, column: Column, what: str, strong: bool) -> Source:
    return Source(
        "traced", f"From `{table.name}`: {what}", strong, None, table, None, column, call_id=table.table.call_id
    )


def from_count(place: Place, tables: Sequence[IndexedTable]) -> Source | None:
    """Return the table whose rows or different names a number counts."""
    number = place.number
    if number.kind or number.value != int(number.value) or number.step > 1:
        return None
    around = place.close | ({stem(number.noun)} if number.noun else set())
    for table in tables:
        for dimension, where in table.keys.items():
            nouns = {stem(word) for word in dimension.split("_")} | {stem(dimension)}
            nouns |= stems(table.table.labels.get(table.table.columns[table.key_index[dimension]], ""))
            if all(len(key) == 10 and key[4] == key[7] == "-" for key in where):
                nouns |= {"day", "date"}
            kinds = len([key for key in where if key]) - (1 if table.totals else 0)
            if kinds == number.value and nouns & around:
                return Source(
                    "traced",
                    f"From `{table.name}`: {kinds} different {dimension}",
                    True,
                    None,
                    table,
                    call_id=table.table.call_id,
                )
        if len(table.body) == number.value and around & ({stem(word) for word in table.name.split("_")} | _ROWS):
            text = f"From `{table.name}`: {len(table.body)} rows"
            return Source("traced", text, True, None, table, call_id=table.table.call_id)
    return None


_ROWS: Final = frozenset(map(stem, "row item entry record line case".split()))  # noqa: SIM905
