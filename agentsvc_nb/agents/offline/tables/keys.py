"""The columns by which two tables belong together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final

from agentsvc_nb.agents.offline.tables.question import alike
from agentsvc_nb.formats.normalization import tokens
from agentsvc_nb.formats.plans.profiles import ColumnProfile, TableProfile
from agentsvc_nb.formats.plans.roles import is_label

_IDENTIFIERS: Final = frozenset(
    tokens("id ids nr no num number code key index nummer sku kennung numero clave codigo cle")
)
_CONTAINED_MIN: Final = 2
"""Different values that a column must have at least to be a key by what it holds alone."""


@dataclass(frozen=True, slots=True)
class Key:
    """A column of a table, and one of another. It is `safe` when no two rows of the other have the same value."""

    own: ColumnProfile
    other: ColumnProfile
    safe: bool
    once: bool
    """Whether no two rows of the table itself have the same value."""
    named: bool


def keys_of(table: TableProfile, other: TableProfile) -> list[Key]:
    """The columns that may be meant to tell which rows of two tables belong together: those of one name, and if there
    are none those of which one has all values of the other. Those that are safe, if there are such."""
    found = list(_keys_of(table, other))
    found = [key for key in found if key.named] or found
    return [key for key in found if key.safe] or [key for key in found if not key.once]


def _keys_of(table: TableProfile, other: TableProfile) -> Iterator[Key]:
    for one in table.columns:
        for two in other.columns:
            if one.kind == two.kind and one.kind in ("text", "number") and one.distinct and two.distinct:
                safe, once = _is_once(two, other), _is_once(one, table)
                named = _named_alike(one, two, table, other) and _may_meet(one, two)
                if named or ((safe or once) and _contained(one, two)):
                    yield Key(one, two, safe, once, named)


def _is_once(column: ColumnProfile, table: TableProfile) -> bool:
    return column.distinct == table.rows - column.empty


def _named_alike(one: ColumnProfile, two: ColumnProfile, table: TableProfile, other: TableProfile) -> bool:
    """`customer_id` and `Customer ID`; also `customer_id` and the `id` of customers."""
    first, second = _words(one.name), _words(two.name)
    if len(first) == len(second) and all(map(alike, first, second)):
        return True
    return _names(first, second, other) or _names(second, first, table)


@lru_cache(5_000)
def _words(name: str) -> tuple[str, ...]:
    return tuple(tokens(name))


def _names(written: Sequence[str], key: Sequence[str], table: TableProfile) -> bool:
    if not _IDENTIFIERS.issuperset(key):
        return False
    title = _words(PurePosixPath(table.path).stem)
    subject = [word for word in written if word not in _IDENTIFIERS]
    return bool(subject) and len(subject) == len(title) and all(map(alike, subject, title))


def _may_meet(one: ColumnProfile, two: ColumnProfile) -> bool:
    """Whether columns of one name may have values in common; numbers are keys if they are no amounts."""
    if one.kind == "text":
        return not (one.all_values and two.all_values) or not set(one.values).isdisjoint(two.values)
    if not (is_label(one) and is_label(two)):
        return False
    return float(one.smallest) <= float(two.largest) and float(two.smallest) <= float(one.largest)


def _contained(one: ColumnProfile, two: ColumnProfile) -> bool:
    if one.kind != "text" or not (one.all_values and two.all_values):
        return False
    few, many = sorted((set(one.values), set(two.values)), key=len)
    return len(few) >= _CONTAINED_MIN and few <= many
