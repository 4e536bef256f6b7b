"""What a question names that a table lacks, and how much of the question a table explains."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from agentsvc_nb.service.rules.search import tokens
from agentsvc_nb.service.rules.tables import Table
from agentsvc_nb.service.work.agents.offline import operations as ops
from agentsvc_nb.service.work.agents.offline.columns import likeness, parts
from agentsvc_nb.service.work.agents.offline.dates import dated, months
from agentsvc_nb.service.work.agents.offline.values import named_values
from agentsvc_nb.service.work.agents.offline.words import STOP, stem, stems, telling

_GENERIC: Final = frozenset(
    map(stem, ("column", "columns", "value", "values", "spalte", "wert", "werte", "row", "rows", *ops.ROWS))
)


def unknown_words(table: Table, text: str) -> list[str]:
    """The telling words that name neither an operation, nor the table, nor anything in it."""
    values = {word for one in named_values(table, text) for word in stems(one.shown)}
    dates = map(stem, named) if (named := months(text)) and dated(table, text) else ()
    known = {*stems(table.path), *values, *_GENERIC, *dates}
    return [word for word in telling(text) if not _known(word, known) and not _names(table, word)]


def guessed(table: Table, text: str, used: Collection[int]) -> list[tuple[str, str]]:
    """The words that only resemble the name of a column that had a part, each with that name."""
    named = {stem(part) for name in table.columns for part in tokens(name.replace("_", " "))} | set(stems(table.path))
    slips = [word for word in telling(text) if not _known(word, named)]
    pairs = ((word, index) for word in slips for index in used if likeness(table.columns[index], stems(word)))
    return [(word, table.columns[index]) for word, index in pairs]


def missing(table: Table, text: str) -> str:
    """The name behind `in`, `for` or `from` that nothing in the table bears: no result is of it."""
    after = set(ops.CONDITION.findall(" ".join(tokens(text))))
    names = [word for word in telling(text) if word[0].isupper() and not text.lstrip().startswith(word)]
    names = [word for word in names if after & set(tokens(word))]
    unknown = unknown_words(table, text) if names else []
    return next((word for word in names if word in unknown), "")


def explained(table: Table, text: str, used: Collection[int]) -> int:
    """How many words of the question the table has a part for: its name, columns that are used, values and dates."""
    names = {stem(part) for index in used for part in tokens(table.columns[index].replace("_", " "))}
    values = {word for one in named_values(table, text) for word in stems(one.shown)}
    dates = map(stem, named) if (named := months(text)) and dated(table, text) else ()
    return len({*names, *values, *dates, *stems(table.path.rsplit("/", 1)[-1])} & set(stems(text)))


def asked(text: str) -> int:
    """How many words of the question could have a part in a calculation."""
    return len({word for word in telling(text) if not all(ops.is_operation(token) for token in tokens(word))})


def no_group(table: Table, folded: str) -> str:
    """The word after `per` or `by` that names nothing in the table; empty when there is none."""
    for found in ops.BY.finditer(folded):
        word = next((word for word in found[1].split() if word not in STOP), "")
        known = not word or word in ops.NO_COLUMN or word.isdigit() or stem(word) in stems(table.path)
        if not known and not _names(table, word) and not named_values(table, word):
            return word
    return ""


def _known(word: str, known: Collection[str]) -> bool:
    return all(
        token in STOP or token.isdigit() or ops.is_operation(token) or stem(token) in known for token in tokens(word)
    )


def _names(table: Table, word: str, but: Collection[int] = ()) -> bool:
    """Whether the word is like a part of a column's name."""
    asked = set(stems(word))
    return any(
        likeness(part, asked) for index, name in enumerate(table.columns) if index not in but for part in parts(name)
    )
