"""Which columns of a table a question means."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable

from agentsvc_nb.service.rules.search import tokens
from agentsvc_nb.service.rules.tables import Table
from agentsvc_nb.service.work.agents.offline.operations import UNITS
from agentsvc_nb.service.work.agents.offline.words import stem


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
