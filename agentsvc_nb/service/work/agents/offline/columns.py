"""Which columns, values and conditions of a table a question means."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import Final

from agentsvc_nb.service.rules.search import tokens
from agentsvc_nb.service.work.agents.offline import numbers as numbers
from agentsvc_nb.service.work.agents.offline.operations import ABOVE_BELOW, UNITS
from agentsvc_nb.service.work.agents.offline.tables import Table
from agentsvc_nb.service.work.agents.offline.words import STOP, stem, stems

_VALUE_CHARS: Final = 60
_COSTS = re.compile(r"\bcosts?\s*$", re.I)  # "products that cost more than 100": their price is meant
_COMPARE: Final[dict[str, tuple[str, Callable[[Decimal, Decimal], bool]]]] = {
    "ge": (">=", ge),
    "le": ("<=", le),
    "gt": (">", gt),
    "lt": ("<", lt),
}


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


def parts(column: str) -> list[str]:
    """The words of a column's name: `priceEur`, `price_eur` and `Price (EUR)` alike, without its unit."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", column).replace("_", " ")
    words = tokens(spaced)
    return [word for word in words if word not in UNITS] or words


def likeness(column: str, asked: Collection[str]) -> float:
    """From 0 to 1: how much of the column's name the question's word stems name."""
    wanted = [stem(part) for part in parts(column)]
    hits = sum(1 for part in wanted if part in asked or _nearly(part, asked))
    return hits / len(wanted) if wanted else 0.0


def _nearly(part: str, asked: Collection[str]) -> bool:
    """A slip of the pen in a word of five letters or more."""
    return len(part) >= 5 and bool(difflib.get_close_matches(part, [word for word in asked if len(word) >= 5], 1, 0.84))


def best(table: Table, asked: Collection[str], among: Iterable[int]) -> tuple[int, float] | None:
    """The column most like the words and how much, when it is like enough. In a tie the one of which more
    words are named wins, then the shorter."""
    named = [(index, table.columns[index]) for index in among]
    scored = [(likeness(name, asked), _hits(parts(name), asked), -len(name), -index) for index, name in named]
    score, _, _, index = max(scored, default=(0.0, 0, 0, 0))
    return (-index, score) if score >= 0.5 else None


def likest(table: Table, asked: Collection[str], among: Iterable[int]) -> list[int]:
    """The columns most like the words: more than one when the words do not tell them apart."""
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
    """The other columns that the question names in full, with words that the chosen one leaves."""
    taken = {stem(part) for part in parts(table.columns[chosen])}
    left = {word for word in asked if word not in taken and not _nearly(word, taken)}
    return [index for index in among if index != chosen and likeness(table.columns[index], left) == 1.0]


def limited(table: Table, text: str) -> int | None:
    """The column of numbers that a condition names: the one nearest before `over 50`."""
    found = ABOVE_BELOW.search(text.casefold())
    if found is None:
        return None
    before = stems(_COSTS.sub("price", text[: found.start()]))[-5:]
    near = (best(table, set(before[-count:]), table.numbers) for count in range(1, len(before) + 1))
    return next((column[0] for column in near if column), None)


def named_values(table: Table, question: str, but: Collection[int]) -> list[Filter]:
    """Conditions that the question makes by naming values of text columns: `where category is Tents`, or `of tents`."""
    asked, lowered = stems(question), question.lower()
    found = (_named(table, index, asked, lowered) for index in range(len(table.columns)) if index not in table.numbers)
    return [one for one in found if one is not None and one.column not in but]


def _named(table: Table, column: int, asked: list[str], lowered: str) -> Filter | None:
    cells = table.cells(column)
    title = {stem(part) for part in parts(table.columns[column])}
    texts = {cell for cell in cells if cell and len(cell) <= _VALUE_CHARS}
    # Most cells of a large table are refused by their first letters, which is quicker than to fold them.
    texts = {cell for cell in texts if not cell.isascii() or cell[:3].lower() in lowered}
    named = [text for text in texts if _mentions(asked, stems(text), title)]
    longest = max((len(stems(text)) for text in named), default=0)
    values = sorted(text for text in named if len(stems(text)) == longest)
    if not values or len(values) == len(set(cells)) > 1:
        return None
    rows = frozenset(row for row, cell in enumerate(cells) if cell in values)
    listed = ", ".join(f'"{value}"' for value in values)
    return Filter(column, f"{table.columns[column]} {'=' if len(values) == 1 else 'in'} {listed}", rows, len(values))


def _mentions(asked: list[str], value: list[str], title: Collection[str]) -> bool:
    meaning = [word for word in value if word not in title and word not in STOP and (len(word) > 1 or word.isdigit())]
    size = len(value)
    return bool(meaning) and any(asked[at : at + size] == value for at in range(len(asked) - size + 1))


def compared(table: Table, question: str, measure: int | None) -> Filter | None:
    """The condition on numbers that the question makes: `with a price over 50`."""
    found = ABOVE_BELOW.search(question.casefold())
    if found is None:
        return None
    near = limited(table, question)
    index = measure if near is None else near
    if index is None and len(table.numbers) == 1:
        index = next(iter(table.numbers))
    read = numbers.read([found["number"].rstrip(".,")])
    if index is None or read is None:
        return None
    sign, compare = next(_COMPARE[name] for name in _COMPARE if found[name])
    limit = read.known[0]
    rows = (row for row, value in enumerate(table.numbers[index].values) if value is not None and compare(value, limit))
    unknown = frozenset(row for row, value in enumerate(table.numbers[index].values) if value is None)
    return Filter(index, f"{table.columns[index]} {sign} {limit}", frozenset(rows), unknown=unknown)
