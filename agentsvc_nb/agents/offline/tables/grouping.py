"""Which column a calculation is grouped by, which column names its result, and how many groups or rows are wanted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agentsvc_nb.agents.offline.tables import operations as ops
from agentsvc_nb.agents.offline.tables.columns import likest, parts
from agentsvc_nb.agents.offline.tables.conditions import is_dates
from agentsvc_nb.agents.offline.words import STOP, stem
from agentsvc_nb.formats.tables.plain import Table

_TIMES: Final = frozenset("time times case cases occasion occasions instance instances mal fois vez veces".split())  # noqa: SIM905
_PEOPLE: Final = frozenset("people person persons leute personen personnes gens personas".split())  # noqa: SIM905


def first(folded: str) -> int:
    """How many rows or groups are wanted: 5 of `top 5`; 0 when no number is said."""
    found = ops.TOP.search(folded)
    return int(next(part for part in found.groups() if part)) if found else 0


def group(table: Table, folded: str) -> int | None:
    """The column after `per`, `by` or `for each`, unless it is one of numbers. `Paid by the guests` groups nothing."""
    for found in ops.GROUP.finditer(folded):
        passes = ops.AGENT.match(folded, found.start()) or _is_value(table, found[0])
        column = None if passes else _like(table, found[1])
        if column is not None and column not in table.numbers:
            return column
    return None


def _is_value(table: Table, word: str) -> bool:
    """Whether the word is a cell of the table: `pro` groups nothing where a plan is called `Pro`."""
    return any(word == cell.lower() for row in table.rows for cell in row)


def entity(table: Table, folded: str) -> int | None:
    """The column whose value is asked for: `which product`, `who`, `the cheapest product`."""
    asked = ops.ASKED.search(folded)
    kind = next((kind for kind in ops.NAMED_BY if asked and asked[kind]), "")
    if kind:
        named = (index for name in ops.NAMED_BY[kind] for index in _with_part(table, name))
        return next(named, naming(table) if kind == "who" else None)
    direct = wanted(table, folded)
    if direct is not None:
        return direct
    behind = [found[1] for pattern in (ops.WHICH, ops.LEADERS) for found in pattern.finditer(folded)]
    nouns = (_like(table, " ".join(word for word in words.split() if word not in STOP)) for words in behind)
    return next((column for column in nouns if column is not None and column not in table.numbers), None)


def wanted(table: Table, folded: str) -> int | None:
    """The column that the word right after `which` or `what` names."""
    nouns = (found[1].split()[0] for found in ops.WHICH.finditer(folded))
    columns = (_like(table, noun) for noun in nouns if noun not in STOP and not ops.is_operation(noun))
    return next((column for column in columns if column is not None), None)


def naming(table: Table) -> int | None:
    """The column that names rows when the question asks for none: the first of text, but not of dates or ids."""
    texts = (index for index in range(len(table.columns)) if index not in table.numbers)
    plain = (index for index in texts if not table.is_id(index) and not is_dates(table, index))
    return next(plain, table.label)


def is_row(table: Table, word: str) -> bool:
    """Whether the word means the rows: `products`, where each row is a product."""
    if word in ops.ROWS | _TIMES:
        return True
    names = {index: parts(name) for index, name in enumerate(table.columns) if index not in table.numbers}
    if word in _PEOPLE:
        called = (index for index, name in names.items() if set(ops.NAMED_BY["who"]) & set(name))
    else:
        said = stem(word)
        called = (
            index
            for index, name in names.items()
            if said in map(stem, name) and (word.endswith("s") or word not in name)
        )
    return any(not repeats(table, index) for index in called)


def repeats(table: Table, column: int) -> bool:
    cells = [cell for cell in table.cells(column) if cell]
    return len(set(cells)) < len(cells)


def _with_part(table: Table, name: str) -> Iterator[int]:
    return (index for index, column in enumerate(table.columns) if name in parts(column))


def _like(table: Table, words: str) -> int | None:
    """The column that the fewest of the words name, counted from the first."""
    asked = [stem(word) for word in words.split()]
    tries = (likest(table, set(asked[:count]), range(len(table.columns))) for count in range(1, len(asked) + 1))
    return next((found[0] for found in tries if found), None)
