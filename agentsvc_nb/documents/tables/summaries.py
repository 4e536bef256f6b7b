"""Find rows that sum up others, by their structure: totals of cubes, periods and pages, and lines at the end.

No word decides here. A row is a summary if its labels say which rows it sums up, and its numbers are the sums of those
rows. So many equal digits are not a coincidence.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from statistics import median
from typing import Final

from agentsvc_nb.documents.tables.model import Cell, ReadColumn, is_filled, text_of

Numbers = Mapping[int, Decimal | None]
"""The numbers of a row by column."""

ROWS_MAX: Final = 200_000
VALUES_MAX: Final = 200
"""The maximum number of distinct labels of a column that may be a dimension of a cube."""
LINES_MAX: Final = 6
"""The maximum number of lines at the end that may be summaries."""
_IMPROBABLE: Final = 50
"""Above these odds, a number is a sum and not a coincidence, if the labels also suggest a sum."""
_CERTAIN: Final = 1_000
"""Above these odds, equal numbers are not a coincidence."""


def find_summaries(
    rows: Sequence[Sequence[Cell]],
    columns: Sequence[ReadColumn],
    numbers: Sequence[Numbers],
    is_worded: Callable[[str], bool],
) -> set[int]:
    """Return the indexes of the summaries. `is_worded` detects labels with a word for totals."""
    if not 2 < len(rows) <= ROWS_MAX:
        return set()
    years = {at for at, column in enumerate(columns) if _are_years(column)}
    keys = [at for at, column in enumerate(columns) if column.kind != "number" or at in years]
    measures = [at for at, column in enumerate(columns) if column.kind == "number" and at not in years]
    if not keys or not measures:
        return _closing_lines(rows, columns, numbers, is_worded)
    texts = [tuple(text_of(row[at]) for at in keys) for row in rows]
    found = _cube_totals(texts, numbers, measures)
    found |= _period_totals(texts, numbers, measures)
    found |= _running_sums(texts, numbers, measures)
    return found | _closing_lines(rows, columns, numbers, is_worded)


def _are_years(column: ReadColumn) -> bool:
    values = [value for value in column.values if isinstance(value, Decimal)]
    return bool(values) and all(1800 <= value <= 2200 and value == int(value) for value in values)


def _odds(numbers: Sequence[Decimal]) -> int:
    """Estimate the odds against these numbers being sums by chance. Small numbers are often sums by chance."""
    odds = 1
    for number in numbers:
        odds = min(odds * max(1, abs(int("".join(map(str, number.as_tuple().digits))))), 10**12)
    return odds


def _is_sum(own: Decimal, others: Sequence[Decimal]) -> bool:
    """Return True if a number is the sum of others, if all are rounded to the same decimals."""
    places = max(0, *(-int(one.as_tuple().exponent) for one in (own, *others)))
    room = Decimal(len(others)).scaleb(-places) / 2 if places else Decimal(0)
    return abs(own - sum(others, Decimal(0))) <= room


def _sums(at: int, members: Sequence[int], numbers: Sequence[Numbers], measures: Sequence[int]) -> list[Decimal] | None:
    """Return the numbers of a row, which are the sums of the members' numbers, or None if any number is not."""
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


def _cube_totals(texts: Sequence[tuple[str, ...]], numbers: Sequence[Numbers], measures: Sequence[int]) -> set[int]:
    """Find rows whose label sums up the other labels of its dimension, with all other labels being equal."""
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
                    continue  # without its parts in the table, a total is the only number for them
                sums = _sums(at, members, numbers, measures)
                if sums is None:
                    break
                proven.append(at)
                equal += sums
                wide += len(members) > 1
            else:
                if wide > 1 and _odds(equal) > _CERTAIN:
                    found.update(proven)
    return found


def _period_totals(texts: Sequence[tuple[str, ...]], numbers: Sequence[Numbers], measures: Sequence[int]) -> set[int]:
    """Find rows such as `2023` among `2023-Q1`, whose label begins the labels of the rows that they add up."""
    members: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for at, (first, *others) in enumerate(texts):
        for end in re.finditer(r"(?<=\w)(?!\w)", first[:60]):
            if end.start() < len(first.rstrip()):
                members[first[: end.start()], *others].append(at)
    found: set[int] = set()
    equal: list[Decimal] = []
    for at in sorted(range(len(texts)), key=lambda at: -len(texts[at][0])):
        below = [one for one in members.get(texts[at], ()) if one not in found]
        sums = _sums(at, below, numbers, measures) if len(below) > 1 and texts[at][0] else None
        if sums:
            found.add(at)
            equal += sums
    return found if _odds(equal) > _IMPROBABLE else set()


def _running_sums(texts: Sequence[tuple[str, ...]], numbers: Sequence[Numbers], measures: Sequence[int]) -> set[int]:
    """Find sums carried forward from page to page: rows that lack a label and sum all rows of data above."""
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


def _closing_lines(
    rows: Sequence[Sequence[Cell]],
    columns: Sequence[ReadColumn],
    numbers: Sequence[Numbers],
    is_worded: Callable[[str], bool],
) -> set[int]:
    """Find the lines at the end (sums, means, balances) that lack a value that each row of data has."""
    last = len(rows) - 1
    numeric = [at for at, column in enumerate(columns) if column.kind == "number"]
    first = max(2, last + 1 - LINES_MAX)
    for begin in range(first, last + 1):
        run = range(begin, last + 1)
        worded = len(run) > 1 and all(_starts_with_total(rows[at], is_worded) for at in run)
        # Some of several totals may cover only a part of the rows, but one of them must cover all rows.
        if worded and any(_is_grand_total(at, begin, numbers, numeric) for at in run):
            return set(run)
        if all(_closes(at, begin, rows, columns, numbers, numeric) for at in run):
            return set(run)
        below = range(begin + 1, last + 1)
        if (
            below
            and _starts_with_total(rows[begin], is_worded)
            and _is_grand_total(begin, begin, numbers, numeric)
            and all(_statistic(at, begin, numbers, numeric) for at in below)
        ):
            return set(run)
    return set()


def _starts_with_total(row: Sequence[Cell], is_worded: Callable[[str], bool]) -> bool:
    label = next((cell for cell in row if is_filled(cell)), None)
    return isinstance(label, str) and is_worded(re.split(r"[\s:]+", label.strip())[0])


def _is_grand_total(at: int, end: int, numbers: Sequence[Numbers], numeric: Sequence[int]) -> bool:
    """Return True if most numbers of a line are the sums of all rows before `end`."""
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


def _closes(
    at: int,
    end: int,
    rows: Sequence[Sequence[Cell]],
    columns: Sequence[ReadColumn],
    numbers: Sequence[Numbers],
    numeric: Sequence[int],
) -> bool:
    """Return True for a line that differs from all rows of data, and that sums up the rows before `end`."""
    lacks = [
        column for column in range(len(columns))
        if not is_filled(rows[at][column]) and all(is_filled(row[column]) for row in rows[:end])
    ]  # fmt: skip
    key = columns[0]
    odd = key.kind not in ("text", "boolean") and key.values[at] is None and is_filled(rows[at][0])
    odd = odd and not re.search(r"\d", text_of(rows[at][0])) and all(value is not None for value in key.values[:end])
    if odd:
        return bool(lacks) or bool(_statistic(at, end, numbers, numeric))
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
            return False  # neither a sum nor a mean
    return _odds(equal) > _CERTAIN


def _statistic(at: int, end: int, numbers: Sequence[Numbers], numeric: Sequence[int]) -> str:
    """Return the statistic of the rows before `end` that all numbers of a line are, such as the mean; "" for none."""
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
