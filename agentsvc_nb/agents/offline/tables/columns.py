"""Which columns of a table a question means, and which rows by the values that it names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from agentsvc_nb.agents.offline.tables import operations as ops
from agentsvc_nb.agents.offline.tables.operations import MEASURED_IN, NEVER_ADDED, NOT_ADDED, PLACES, RANKS, UNITS
from agentsvc_nb.agents.offline.words import STOP, stem, stems
from agentsvc_nb.formats.queries import tokens
from agentsvc_nb.formats.tables.plain import Table

_DATED: Final = frozenset({"year", "date", "day", "jahr", "datum", "annee", "ano", "fecha"})


def parts(column: str) -> list[str]:
    """The words of a column's name, without its unit: the same for `priceEur`, `price_eur` and `Price (EUR)`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", column).replace("_", " ")
    words = tokens(spaced)
    return [word for word in words if word not in UNITS] or words


def likeness(column: str, asked: Collection[str]) -> float:
    """From 0 to 1: how much of the column's name the question's word stems name."""
    wanted = [stem(part) for part in parts(column)]
    hits = sum(1 for part in wanted if part in asked or _nearly(part, asked))
    return hits / len(wanted) if wanted else 0.0


def _nearly(part: str, asked: Collection[str]) -> bool:
    """Whether one of the words is the part with a typing error; both have five letters or more."""
    return len(part) >= 5 and bool(difflib.get_close_matches(part, [word for word in asked if len(word) >= 5], 1, 0.84))


_SUFFIX: Final = re.compile(
    r"(?:s|es|er|ers|or|ors|ing|ings|ed|ion|ions|ition|itions|ation|ations|ance|ence|ment|ments|ure|ures|al|ity|ership)?"
)


def share_a_stem(word: str, part: str) -> bool:
    """Whether two words are forms of one: `attending` and `attendance`, `directed` and `director`.

    >>> share_a_stem("owned", "ownership"), share_a_stem("county", "country")
    (True, False)
    """
    base = re.sub(r"(?:ing|ed|s|e)$", "", word)
    return len(base) >= 3 and part.startswith(base) and _SUFFIX.fullmatch(part, len(base)) is not None


def best(table: Table, asked: Collection[str], among: Iterable[int]) -> tuple[int, float] | None:
    """The column whose name is most like the words, and its likeness; None below a likeness of 0.5. In a tie, the name
    with more words in the question wins, then the shorter name."""
    named = [(index, table.columns[index]) for index in among]
    scored = [(likeness(name, asked), _hits(parts(name), asked), -len(name), -index) for index, name in named]
    score, _, _, index = max(scored, default=(0.0, 0, 0, 0))
    return (-index, score) if score >= 0.5 else None


def likest(table: Table, asked: Collection[str], among: Iterable[int]) -> list[int]:
    """The columns whose names are most like the words: several when the words do not tell them apart."""
    columns = list(among)
    found = best(table, asked, columns)
    if found is None:
        return []

    def key(index: int) -> tuple[float, int, int]:
        name = table.columns[index]
        return likeness(name, asked), _hits(parts(name), asked), _hits(tokens(name.replace("_", " ")), asked)

    most = max(map(key, columns))
    return [index for index in columns if key(index) == most]


def _hits(words: Iterable[str], asked: Collection[str]) -> int:
    return sum(1 for word in words if stem(word) in asked)


def rivals(table: Table, asked: Collection[str], chosen: int, among: Iterable[int]) -> list[int]:
    """The other columns whose whole names are among the words that the chosen column's name does not use."""
    taken = {stem(part) for part in parts(table.columns[chosen])}
    left = {word for word in asked if word not in taken and not _nearly(word, taken)}
    return [index for index in among if index != chosen and likeness(table.columns[index], left) == 1.0]


def addable(table: Table, column: int) -> bool:
    """Whether the column holds amounts: not years, places in an order, rates or numbers that only name something."""
    numbers, name = table.numbers.get(column), table.columns[column]
    words = set(re.sub(r"\b(?:number|no|nr) of\b", "", " ".join(_words(name))).split())
    if numbers is None or never_added(name, numbers.unit) or words & (NOT_ADDED | PLACES):
        return False
    known = sorted(numbers.known)
    return len(known) < 3 or known != list(range(1, len(known) + 1))


def never_added(name: str, unit: str) -> bool:
    """Whether a column of that name never adds up: rates, averages, years and ranks."""
    return unit == "%" or bool((NEVER_ADDED | RANKS) & set(_words(name)))


def _words(column: str) -> list[str]:
    return tokens(column.replace("_", " "))


def heads(column: str) -> list[str]:
    """The main noun of a column's name, if any: the last word before `of`, `per` or a bracket that is no unit and no
    participle.

    >>> heads("unit_price"), heads("orbital_period_days"), heads("units_sold"), heads("cost_per_click")
    (['price'], ['period'], ['units'], ['cost'])
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", column).replace("_", " ")
    before = re.split(r"(?<=\w)\s*(?:[(\[%]|\b(?:of|from|in|per|for|by|to|at|under|de|von|pro|par)\b)", spaced.lower())[
        0
    ]
    words = [word for word in tokens(before) if word not in UNITS | MEASURED_IN and not re.search(r"\d", word)]
    nouns = [word for word in words if not re.search(r"..ed$|^(?:sold|won|lost|made|paid|held|built|spent|run)$", word)]
    return ([word for word in nouns if word not in _DATED] or words)[-1:]


_VALUE_CHARS: Final = 60
_BETWEEN: Final = 4
"""At most so many words stand between `not` and the value that it excludes: `not yet been paid`."""
_JOINED: Final = frozenset("and or nor und oder noch et ou ni y o the der die das den dem la le les el los las".split())  # noqa: SIM905

Run = tuple[int, int]
"""The place of a value in a question: the index of its first token, and of the token after its last."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on a column, as shown, and the rows (indices from 0) that meet it."""

    column: int
    shown: str
    rows: frozenset[int]
    values: int = 1
    """How many values were named: two, as in `tents and bags`, are compared with each other."""
    unknown: frozenset[int] = frozenset()
    """Rows without a number, for which the condition is neither true nor false."""
    at: frozenset[int] = frozenset()
    """The tokens of the question (counted from 0) that state the condition."""


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
    """The column's values that the question names, by their places among its tokens."""
    asked, lowered = stems(question), question.lower()
    title = {stem(part) for part in parts(table.columns[column])}
    texts = {cell for cell in table.cells(column) if cell and len(cell) <= _VALUE_CHARS}
    is_id = table.is_id(column)
    found: dict[Run, set[str]] = {}
    named = {*title, *stems(table.path)}
    for text in texts:
        # A test of the first letters excludes most cells of a large table, and is faster than folding them.
        if text.isascii() and text[:3].lower() not in lowered:
            continue
        if _says_something(text, title):
            value = stems(text)
            for at in range(len(asked) - len(value) + 1):
                # A value of an id column counts only right after the column's or table's name: `order 1003`.
                if asked[at : at + len(value)] == value and not (is_id and not named & set(asked[max(0, at - 2) : at])):
                    found.setdefault((at, at + len(value)), set()).add(text)
    return found


def _says_something(text: str, title: Collection[str]) -> bool:
    words = [
        word for word in tokens(text) if stem(word) not in title and word not in STOP and not ops.is_operation(word)
    ]
    return any(len(word) > 1 or word.isdigit() for word in words)


def _longest(held: Mapping[Run, set[str]], runs: Sequence[Run]) -> dict[Run, set[str]]:
    """The values without those that lie within a longer one: `New York City` does not name `New York`."""
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
    """The places of values after `other than`, `not` or `without`, each with the tokens that exclude it."""
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
    """The conditions, but of those that the same words make on several columns only the one whose column is named, or
    any one of them when all select the same rows."""
    kept: list[Filter] = []
    for one in found:
        rivals = [other for other in found if other.at & one.at]
        named = [other for other in rivals if {stem(part) for part in parts(table.columns[other.column])} & set(asked)]
        if len({other.rows for other in rivals}) == 1:
            named = rivals[:1]
        if named == [one]:
            kept.append(one)
    return kept
