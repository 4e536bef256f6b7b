"""Which columns of a table a question means."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from typing import Final

from agentsvc_nb.service.rules.search import tokens
from agentsvc_nb.service.rules.tables import Table
from agentsvc_nb.service.work.agents.offline.operations import MEASURED_IN, NEVER_ADDED, NOT_ADDED, PLACES, RANKS, UNITS
from agentsvc_nb.service.work.agents.offline.words import stem

_DATED: Final = frozenset({"year", "date", "day", "jahr", "datum", "annee", "ano", "fecha"})


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


_SUFFIX: Final = re.compile(
    r"(?:s|es|er|ers|or|ors|ing|ings|ed|ion|ions|ition|itions|ation|ations|ance|ence|ment|ments|ure|ures|al|ity|ership)?"
)


def akin(word: str, part: str) -> bool:
    """Whether two words are forms of one: `attending` and `attendance`, `directed` and `director`.

    >>> akin("owned", "ownership"), akin("departs", "departure"), akin("county", "country")
    (True, True, False)
    """
    base = re.sub(r"(?:ing|ed|s|e)$", "", word)
    return len(base) >= 3 and part.startswith(base) and _SUFFIX.fullmatch(part, len(base)) is not None


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
    """The word of the column's name that says what it holds, if any: the last one before `of`, `per` or a bracket, but
    for units and participles.

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
