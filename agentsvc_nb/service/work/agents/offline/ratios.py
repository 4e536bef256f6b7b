"""One column per another: `revenue per spend`, `revenue / spend`, `the ratio of revenue to spend`; or times another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import localcontext

from agentsvc_nb.service.rules.numbers import PRECISION, Numbers
from agentsvc_nb.service.rules.search import tokens
from agentsvc_nb.service.rules.tables import Table
from agentsvc_nb.service.work.agents.offline.columns import likest, parts
from agentsvc_nb.service.work.agents.offline.measures import Measure, derived, of_column
from agentsvc_nb.service.work.agents.offline.unclear import Unclear, no_column, several
from agentsvc_nb.service.work.agents.offline.words import stem

_SLASH = re.compile(
    r"(?<=[\w\s])\s*[/÷]\s*(?=\w)|\bdivided by\b|\bgeteilt durch\b|\bdivisée? par\b|\bdividido por\b", re.I
)
_RATIO = re.compile(
    r"\b(?:ratio|verhaltnis|rapport|relacion) (?:of|von|de|entre) (\w+(?: \w+){0,3}?) "
    r"(?:to|zu|a|and|und|et|y) (\w+(?: \w+){0,2})"
)
_PER = re.compile(r"((?:\w+ ){1,4})(?:per|pro|par|por) (\w+(?: \w+){0,2})")
_STAR = re.compile(r"\s*[*×]\s*(?=[a-z])", re.I)
_TIMES = re.compile(
    r"((?:\w+ ){1,3})(?:times|multiplied by|mal|multipliziert mit|fois|multiplicado por) (\w+(?: \w+){0,2})"
)


def ratio(table: Table, text: str) -> Measure | Unclear | None:
    """The quotient that the question asks for, or why there is none; None when it asks for no quotient."""
    folded = " ".join(tokens(_SLASH.sub(" per ", text)))
    found = _RATIO.search(folded) or _PER.search(folded)
    if found is None or _one_column(table, folded):
        return None
    below = _nearest(table, found[2].split(), range(len(table.columns)))
    if not below or not any(index in table.numbers for index in below):
        return None
    before = found[1].split()[::-1]
    above = _nearest(table, before, [index for index in table.numbers if index not in below])
    if len(above) > 1 or len(below) > 1:
        return several(table, [*above, *below], 1.0)
    upper = of_column(table, above[0]) if above else derived(table, found[1])
    return _quotient(table, upper, below[0]) if upper else no_column(table, before[0], 1.0)


def _one_column(table: Table, folded: str) -> bool:
    """`cost per click` may be the name of a column."""
    stems = {stem(word) for word in folded.split()}
    names = [
        name for name in table.columns if len(parts(name)) > 1 and {"per", "pro"} & set(tokens(name.replace("_", " ")))
    ]
    return any({stem(part) for part in parts(name)} <= stems for name in names)


def _nearest(table: Table, words: Sequence[str], among: Sequence[int] | range) -> list[int]:
    """The columns that the fewest of the words name."""
    for count in range(1, len(words) + 1):
        if found := likest(table, {stem(word) for word in words[:count]}, among):
            return likest(table, {stem(word) for word in words}, found) or found
    return []


def _quotient(table: Table, upper: Measure, lower: int) -> Measure:
    over, under = upper.numbers.values, table.numbers[lower].values
    with localcontext(prec=PRECISION):
        values = [a / b if a is not None and b else None for a, b in zip(over, under, strict=True)]
    zeros = frozenset(row for row, (a, b) in enumerate(zip(over, under, strict=True)) if a is not None and b == 0)
    name = table.columns[lower]
    used = (*upper.columns, lower)
    top = f"({upper.formula})" if upper.formula else upper.name
    return Measure(
        f"{upper.name} per {name}", Numbers(values, "", 0), None, f"{top} / {name}", 1.0, used, zeros, name,
        rate=True, quotient=(upper.numbers, table.numbers[lower]),
    )  # fmt: skip


def product(table: Table, text: str) -> Measure | None:
    """One column times another, row by row: `price times stock`."""
    found = _TIMES.search(" ".join(tokens(_STAR.sub(" times ", text))))
    if found is None:
        return None
    left = _nearest(table, found[1].split()[::-1], list(table.numbers))
    right = _nearest(table, found[2].split(), [index for index in table.numbers if index not in left])
    if len(left) != 1 or len(right) != 1:
        return None
    one, other = table.numbers[left[0]], table.numbers[right[0]]
    with localcontext(prec=PRECISION):
        values = [
            a * b if a is not None and b is not None else None for a, b in zip(one.values, other.values, strict=True)
        ]
    names = [table.columns[index] for index in (*left, *right)]
    numbers = Numbers(values, one.unit or other.unit, one.decimals + other.decimals)
    return Measure(" × ".join(names), numbers, None, " * ".join(names), 1.0, (*left, *right))
