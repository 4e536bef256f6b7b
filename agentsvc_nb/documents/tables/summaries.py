"""Find summary rows (rows that are sums of other rows) by the structure of a table rather than by words such as
"total".

A row is a summary if its labels tell which rows it sums up, and its numbers are the sums of the numbers in those rows.
The more digits are equal, the less likely is a coincidence. Summaries are totals of data cubes, of periods, of pages,
and lines at the end of a table.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from statistics import median
from typing import Final

from agentsvc_nb.documents.tables.model import Cell, ReadColumn, is_filled, text_of
from agentsvc_nb.documents.tables.values import MONTHS, WrittenDate, parse_date

Numbers = Mapping[int, Decimal | None]
"""The numbers of a row, by the index of their column."""

ROWS_MAX: Final = 200_000
VALUES_MAX: Final = 200
"""The maximum number of distinct labels in a column that counts as a dimension of a data cube."""
LINES_MAX: Final = 6
"""The maximum number of summary rows at the end of a table."""
_IMPROBABLE: Final = 50
"""If the labels also suggest a sum, numbers with odds above this (see `_odds`) are sums and not a coincidence."""
_CERTAIN: Final = 1_000
"""Numbers with odds above this (see `_odds`) are sums and not a coincidence."""


def find_summaries(
    rows: Sequence[Sequence[Cell]],
    columns: Sequence[ReadColumn],
    numbers: Sequence[Numbers],
    is_worded: Callable[[str], bool],
) -> set[int]:
    """Return the indexes of the summary rows. `is_worded` returns True for a label with a word for totals."""
    if not 2 < len(rows) <= ROWS_MAX:
        return set()
    years = {at for at, column in enumerate(columns) if _are_years(column)}
    keys = [at for at, column in enumerate(columns) if column.kind != "number" or at in years]
    measures = [at for at, column in enumerate(columns) if column.kind == "number" and at not in years]
    if not keys or not measures:
        return _find_closing_lines(rows, columns, numbers, is_worded)
    texts = [tuple(text_of(row[at]) for at in keys) for row in rows]
    found = _find_cube_totals(texts, numbers, measures)
    found |= _find_period_totals(texts, numbers, measures)
    periods = find_periods(rows, columns)
    found |= {at for at, members in periods.items() if _summarises(at, members, numbers, measures)}
    found |= _find_running_sums(texts, numbers, measures)
    return found | _find_closing_lines(rows, columns, numbers, is_worded)


def _are_years(column: ReadColumn) -> bool:
    values = [value for value in column.values if isinstance(value, Decimal)]
    return bool(values) and all(1800 <= value <= 2200 and value == int(value) for value in values)


def _odds(numbers: Sequence[Decimal]) -> int:
    """Estimate how unlikely it is that these numbers equal sums by coincidence.

    The estimate is the product of the numbers without their decimal points: 1.5 and 20 give 15 * 20. It is at most
    10**12.
    """
    odds = 1
    for number in numbers:
        odds = min(odds * max(1, abs(int("".join(map(str, number.as_tuple().digits))))), 10**12)
    return odds


def _is_sum(own: Decimal, others: Sequence[Decimal]) -> bool:
    """Return True if a number is the sum of others, apart from rounding differences."""
    places = max(0, *(-int(one.as_tuple().exponent) for one in (own, *others)))
    room = Decimal(len(others)).scaleb(-places) / 2 if places else Decimal(0)
    return abs(own - sum(others, Decimal(0))) <= room


def _match_sums(
    at: int, members: Sequence[int], numbers: Sequence[Numbers], measures: Sequence[int]
) -> list[Decimal] | None:
    """Return the numbers of row `at` if each is the sum of the numbers in the rows `members`, else None."""
    found = []
    for column in measures:
        own = numbers[at][column]
        others = [number for one in members if (number := numbers[one][column]) is not None]
        if own is None or not others:
            continue
        if not _is_sum(own, others):
            return None
        found.append(own)
    return found or None


def _find_cube_totals(
    texts: Sequence[tuple[str, ...]], numbers: Sequence[Numbers], measures: Sequence[int]
) -> set[int]:
    """Find rows such as `all regions` in a data cube.

    Such a row is the sum of the rows that have other labels in the same column (the single regions) and the same labels
    in all other columns.
    """
    found: set[int] = set()
    for key in range(len(texts[0])):
        places: dict[str, list[int]] = defaultdict(list)
        for at, labels in enumerate(texts):
            places[labels[key]].append(at)
        if not 2 < len(places) <= VALUES_MAX:
            continue
        alike: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for at, labels in enumerate(texts):
            alike[labels[:key] + labels[key + 1 :]].append(at)
        for label, own in places.items():
            if not label or len(own) < 2:
                continue
            proven: list[int] = []
            equal: list[Decimal] = []
            wide = 0
            for at in own:
                labels = texts[at]
                members = [one for one in alike[labels[:key] + labels[key + 1 :]] if texts[one][key] != label]
                if not members:
                    continue  # the table lacks the parts, so keep their total
                sums = _match_sums(at, members, numbers, measures)
                if sums is None:
                    break
                proven.append(at)
                equal += sums
                wide += len(members) > 1
            else:
                if wide > 1 and _odds(equal) > _CERTAIN:
                    found.update(proven)
    return found


def _find_period_totals(
    texts: Sequence[tuple[str, ...]], numbers: Sequence[Numbers], measures: Sequence[int]
) -> set[int]:
    """Find rows whose label is the beginning of the labels of the rows that they sum up: `2023` for `2023-Q1`."""
    members: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for at, (first, *others) in enumerate(texts):
        for end in re.finditer(r"(?<=\w)(?!\w)", first[:60]):
            if end.start() < len(first.rstrip()):
                members[first[: end.start()], *others].append(at)
    found: set[int] = set()
    equal: list[Decimal] = []
    for at in sorted(range(len(texts)), key=lambda at: -len(texts[at][0])):
        below = [one for one in members.get(texts[at], ()) if one not in found]
        sums = _match_sums(at, below, numbers, measures) if len(below) > 1 and texts[at][0] else None
        if sums:
            found.add(at)
            equal += sums
    return found if _odds(equal) > _IMPROBABLE else set()


PERIOD_CHARS: Final = 40
"""Longer texts are not labels of periods."""
_PERIOD: Final = re.compile(r"(?i)(?:(?P<quarter>q)|(?P<half>h))(?P<part>[1-4])|fy|year|(?:fy ?)?(?:19|20)\d\d")


def find_periods(rows: Sequence[Sequence[Cell]], columns: Sequence[ReadColumn]) -> dict[int, list[int]]:
    """Return the rows of quarters, halves and years, each with the rows of its months that have the same labels."""
    keys = [at for at, column in enumerate(columns) if column.kind != "number"]
    found = {}
    for key in keys:
        texts = [text_of(row[key]) for row in rows]
        distinct = set(texts)
        periods = {text: _months_of(text) for text in distinct} if len(distinct) <= VALUES_MAX else {}
        if not any(len(months) > 1 for _, months in periods.values()):
            continue
        alike: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for at, row in enumerate(rows):
            alike[tuple(text_of(row[other]) for other in keys if other != key)].append(at)
        for places in alike.values():
            months = [at for at in places if len(periods[texts[at]][1]) == 1]
            for at in places if 1 < len(months) <= VALUES_MAX else ():
                year, own = periods[texts[at]]
                parts = [one for one in months if periods[texts[one]][1] < own and periods[texts[one]][0] in (year, "")]
                if len(parts) > 1:
                    found[at] = parts
    return found


def _months_of(text: str) -> tuple[str, frozenset[int]]:
    """Return the year of a period ("" if it has none) and the numbers of its months (none if the text is not a
    period)."""
    if len(text) > PERIOD_CHARS:  # the patterns below are slow in a long text
        return "", frozenset()
    if (written := parse_date(text)) and isinstance(written, WrittenDate) and written.month_only:
        return str(written.year), frozenset({written.month})
    if month := MONTHS.get(text.casefold().rstrip(".")):
        return "", frozenset({month})
    year = re.search(r"\b(?:19|20)\d\d\b", text)
    found = _PERIOD.fullmatch(text) or _PERIOD.fullmatch(re.sub(r"\W*\b(?:19|20)\d\d\b\W*", "", text))
    if not found:
        return "", frozenset()
    length = 3 if found["quarter"] else 6 if found["half"] else 12
    first = length * (int(found["part"] or 1) - 1) + 1
    return year[0] if year else "", frozenset(range(first, min(first + length, 13)))


def _summarises(at: int, members: Sequence[int], numbers: Sequence[Numbers], measures: Sequence[int]) -> bool:
    """Return True if row `at` may summarise the rows `members`.

    Each of its numbers must be the sum of their numbers in the same column, or between the smallest and largest of
    them.
    """
    for column in measures:
        own = numbers[at][column]
        others = [number for one in members if (number := numbers[one][column]) is not None]
        if own is not None and others and not _is_sum(own, others) and not min(others) <= own <= max(others):
            return False
    return True


def _find_running_sums(
    texts: Sequence[tuple[str, ...]], numbers: Sequence[Numbers], measures: Sequence[int]
) -> set[int]:
    """Find sums that are carried forward from page to page: rows without a label that sum up all rows of data above."""
    blank = [sum(not labels[key] for labels in texts) for key in range(len(texts[0]))]
    always = [key for key, count in enumerate(blank) if 0 < count * 2 < len(texts)]
    run = dict.fromkeys(measures, Decimal(0))
    found: set[int] = set()
    equal: list[Decimal] = []
    for at, labels in enumerate(texts):
        own = {column: number for column in measures if (number := numbers[at][column]) is not None}
        hollow = any(not labels[key] for key in always)
        if hollow and own and at and all(run[column] == number for column, number in own.items()):
            found.add(at)
            equal += own.values()
            continue
        for column, number in own.items():
            run[column] += number
    return found if len(found) > 1 and _odds(equal) > _CERTAIN else set()


def find_unnamed_sums(columns: Sequence[ReadColumn], numbers: Sequence[Numbers]) -> list[int]:
    """Return the indexes of rows that are the sums of all rows above, or [] if the last row is not such a sum.

    Earlier sums do not count as rows above. Examples: profits in a profit and loss account, or a closing balance.
    """
    measures = [at for at, column in enumerate(columns) if column.kind == "number" and not _are_years(column)]
    run = dict.fromkeys(measures, Decimal(0))
    found: list[int] = []
    equal: list[Decimal] = []
    added = 0
    for at, row in enumerate(numbers):
        own = {column: number for column in measures if (number := row[column])}
        if added > 1 and own and all(run[column] == number for column, number in own.items()):
            found.append(at)
            equal += [number.normalize() for number in own.values()]  # round numbers are equal more often
            continue
        added += bool(own)
        for column, number in own.items():
            run[column] += number
    is_last = bool(found) and found[-1] == len(numbers) - 1 > 2
    return found if is_last and _odds(list(set(equal))) > _IMPROBABLE else []


def _find_closing_lines(
    rows: Sequence[Sequence[Cell]],
    columns: Sequence[ReadColumn],
    numbers: Sequence[Numbers],
    is_worded: Callable[[str], bool],
) -> set[int]:
    """Find summary rows at the end of a table, such as sums, means and balances."""
    last = len(rows) - 1
    numeric = [at for at, column in enumerate(columns) if column.kind == "number"]
    first = max(2, last + 1 - LINES_MAX)
    for begin in range(first, last + 1):
        run = range(begin, last + 1)
        worded = len(run) > 1 and all(_starts_with_total(rows[at], is_worded) for at in run)
        # Some of the totals may sum up only a part of the rows, but one of them must sum up all rows.
        if worded and any(_is_grand_total(at, begin, numbers, numeric) for at in run):
            return set(run)
        if all(_is_closing_line(at, begin, rows, columns, numbers, numeric) for at in run):
            return set(run)
        below = range(begin + 1, last + 1)
        if (
            below
            and _starts_with_total(rows[begin], is_worded)
            and _is_grand_total(begin, begin, numbers, numeric)
            and all(_find_statistic(at, begin, numbers, numeric) for at in below)
        ):
            return set(run)
    return set()


def _starts_with_total(row: Sequence[Cell], is_worded: Callable[[str], bool]) -> bool:
    label = next((cell for cell in row if is_filled(cell)), None)
    return isinstance(label, str) and is_worded(re.split(r"[\s:]+", label.strip())[0])


def _is_grand_total(at: int, end: int, numbers: Sequence[Numbers], numeric: Sequence[int]) -> bool:
    """Return True if most numbers of row `at` are the sums of all rows before `end`."""
    equal, missed = [], 0
    for column in numeric:
        own = numbers[at][column]
        others = [number for one in numbers[:end] if (number := one[column]) is not None]
        if own is None or not others:
            continue
        if _is_sum(own, others):
            equal.append(own)
        else:
            missed += 1
    return len(equal) >= max(missed, 1) and _odds(equal) > _IMPROBABLE


def _is_closing_line(
    at: int,
    end: int,
    rows: Sequence[Sequence[Cell]],
    columns: Sequence[ReadColumn],
    numbers: Sequence[Numbers],
    numeric: Sequence[int],
) -> bool:
    """Return True if row `at` lacks a value that all rows before `end` have, or has a text instead of it, and if its
    numbers summarise those rows."""
    lacks = [
        column for column in range(len(columns))
        if not is_filled(rows[at][column]) and all(is_filled(row[column]) for row in rows[:end])
    ]  # fmt: skip
    key = columns[0]
    odd = key.kind not in ("text", "boolean") and key.values[at] is None and is_filled(rows[at][0])
    odd = odd and not re.search(r"\d", text_of(rows[at][0])) and all(value is not None for value in key.values[:end])
    if odd:
        return bool(lacks) or bool(_find_statistic(at, end, numbers, numeric))
    if not any(columns[column].kind != "number" for column in lacks) or end < 3:
        return False
    equal = []
    for column in numeric:
        own = numbers[at][column]
        others = [number for one in numbers[:end] if (number := one[column]) is not None]
        if own is None or not others:
            continue
        if _is_sum(own, others):
            equal.append(own)
        elif not min(others) <= own <= max(others):
            return False  # it is neither a sum nor a mean
    return _odds(equal) > _CERTAIN


def _find_statistic(at: int, end: int, numbers: Sequence[Numbers], numeric: Sequence[int]) -> str:
    """Return the statistic of the rows before `end`, such as `mean`, that all numbers of row `at` are, or ""."""
    possible = {"sum", "mean", "max", "min", "median", "count"}
    seen = False
    for column in numeric:
        own = numbers[at][column]
        others = [number for one in numbers[:end] if (number := one[column]) is not None]
        if own is None or not others:
            continue
        seen = True
        step = Decimal("0.51").scaleb(min(0, int(own.as_tuple().exponent)))
        possible &= {
            name
            for name, is_it in (
                ("sum", _is_sum(own, others)),
                ("mean", abs(own - sum(others, Decimal(0)) / len(others)) <= step),
                ("max", own == max(others)),
                ("min", own == min(others)),
                ("median", own == median(others)),
                ("count", own == len(others)),
            )
            if is_it
        }
    return min(possible, default="") if seen else ""
