"""The rows that a question means by naming values of text columns, or means to leave out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from agentsvc_nb.service.rules.search import tokens
from agentsvc_nb.service.rules.tables import Table
from agentsvc_nb.service.work.agents.offline import operations as ops
from agentsvc_nb.service.work.agents.offline.columns import parts
from agentsvc_nb.service.work.agents.offline.words import STOP, stem, stems

_VALUE_CHARS: Final = 60
_BETWEEN: Final = 4
"""At most so many words stand between `not` and the value that it refuses: `not yet been paid`."""
_JOINED: Final = frozenset("and or nor und oder noch et ou ni y o the der die das den dem la le les el los las".split())  # noqa: SIM905

Run = tuple[int, int]
"""Where a value stands in a question: its first token, and the one after its last."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on a column, as shown, and the rows (indices from 0) that meet it."""

    column: int
    shown: str
    rows: frozenset[int]
    values: int = 1
    """How many values were named: `tents and bags` are compared."""
    unknown: frozenset[int] = frozenset()
    """Rows of which it can't be said, since they hold no number."""
    at: frozenset[int] = frozenset()
    """The tokens of the question (counted from 0) that say it."""


def named_values(table: Table, question: str) -> list[Filter]:
    """Conditions that the question makes by naming values of text columns: `of tents`, `other than tents`. A value that
    several columns hold, on different rows, is no condition: it may mean any of them."""
    texts = [index for index in range(len(table.columns)) if index not in table.numbers]
    runs = {column: _runs(table, column, question) for column in texts}
    longest = {
        column: _longest(held, [run for other in runs.values() for run in other]) for column, held in runs.items()
    }
    found = [one for column, held in longest.items() for one in _filters(table, column, question, held)]
    return _told_apart(table, stems(question), found)


def _runs(table: Table, column: int, question: str) -> dict[Run, set[str]]:
    """The column's values that the question names, by their places in it."""
    asked, lowered = stems(question), question.lower()
    title = {stem(part) for part in parts(table.columns[column])}
    texts = {cell for cell in table.cells(column) if cell and len(cell) <= _VALUE_CHARS}
    is_id = table.is_id(column)
    found: dict[Run, set[str]] = {}
    named = {*title, *stems(table.path)}
    for text in texts:
        # Most cells of a large table are refused by their first letters, which is quicker than to fold them.
        if text.isascii() and text[:3].lower() not in lowered:
            continue
        if _says_something(text, title):
            value = stems(text)
            for at in range(len(asked) - len(value) + 1):
                # The number of an id is one only behind its name: `order 1003`.
                if asked[at : at + len(value)] == value and not (is_id and not named & set(asked[max(0, at - 2) : at])):
                    found.setdefault((at, at + len(value)), set()).add(text)
    return found


def _says_something(text: str, title: Collection[str]) -> bool:
    words = [
        word for word in tokens(text) if stem(word) not in title and word not in STOP and not ops.is_operation(word)
    ]
    return any(len(word) > 1 or word.isdigit() for word in words)


def _longest(held: Mapping[Run, set[str]], runs: Sequence[Run]) -> dict[Run, set[str]]:
    """Without what lies within a longer value: in `New York City` no `New York` is named."""
    return {
        (start, stop): texts
        for (start, stop), texts in held.items()
        if not any(low <= start and stop <= high and high - low > stop - start for low, high in runs)
    }


def _filters(table: Table, column: int, question: str, held: Mapping[Run, set[str]]) -> Iterator[Filter]:
    refused = _refused(table, column, question, sorted(held))
    wanted = {run: texts for run, texts in held.items() if run not in refused}
    if wanted:
        values = sorted(set().union(*wanted.values()))
        sign = "=" if len(values) == 1 else "in"
        yield _of(table, column, sign, values, frozenset(_with_joints(sorted(wanted), tokens(question))))
    if refused:
        values = sorted(set().union(*(held[run] for run in refused)))
        said = frozenset(place for run, places in refused.items() for place in (*range(*run), *places))
        one = _of(table, column, "!=" if len(values) == 1 else "not in", values, said)
        yield replace(one, rows=frozenset(range(len(table.rows))) - one.rows, values=1)


def _of(table: Table, column: int, sign: str, values: Sequence[str], said: frozenset[int]) -> Filter:
    rows = frozenset(row for row, cell in enumerate(table.cells(column)) if cell in values)
    listed = ", ".join(f'"{value}"' for value in values)
    return Filter(column, f"{table.columns[column]} {sign} {listed}", rows, len(values), at=said)


def _with_joints(runs: Sequence[Run], words: Sequence[str]) -> Iterator[int]:
    """The tokens of the values, and of `or` and `and` between two of them."""
    for run in runs:
        yield from range(*run)
    for (_, stop), (start, _) in pairwise(runs):
        if all(word in _JOINED for word in words[stop:start]):
            yield from range(stop, start)


def _refused(table: Table, column: int, question: str, runs: Sequence[Run]) -> dict[Run, set[int]]:
    """The values behind `other than`, `not`, `without`, each with the tokens that refuse it."""
    words, ends = tokens(question), dict(runs)
    passed = {*stems(table.path), *(stem(part) for part in parts(table.columns[column]))}
    binding = {place for places in ops.matched(ops.BINDING, " ".join(words)) for place in places}
    found: dict[Run, set[int]] = {}
    for places in ops.matched(ops.NOT, " ".join(words)):
        at = said = max(places) + 1
        while at < len(words) and at not in ends and at - said < _BETWEEN:
            if at in binding or (words[at] not in STOP and stem(words[at]) not in passed):
                break
            at += 1
        while at in ends:
            found[at, ends[at]] = {*places, *range(said, at)}
            at = ends[at]
            after = next((place for place in range(at, len(words)) if words[place] not in _JOINED), len(words))
            at = after if after in ends else at
    return found


def _told_apart(table: Table, asked: Collection[str], found: Sequence[Filter]) -> list[Filter]:
    """Of conditions that the same words make on several columns, the one whose column is named, or any where all mean
    the same rows."""
    kept: list[Filter] = []
    for one in found:
        rivals = [other for other in found if other.at & one.at]
        named = [other for other in rivals if {stem(part) for part in parts(table.columns[other.column])} & set(asked)]
        if len({other.rows for other in rivals}) == 1:
            named = rivals[:1]
        if named == [one]:
            kept.append(one)
    return kept
