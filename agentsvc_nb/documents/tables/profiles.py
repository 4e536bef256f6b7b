"""What a plan may know of tables without reading them: names, kinds, units, decimals and distinct values.

Also how the tables of a chat are named. What a column's name says of its numbers stands in `roles`, apart: that takes
the tables of `normalization`, which the process that previews tables need not load.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final, Literal

Kind = Literal["text", "number", "date", "datetime", "time", "boolean"]
DECIMALS_MAX: Final = 12
"""Columns of numbers with more decimals are floating point: products and quotients would not fit the engine's 38
digits."""


class PlanError(ValueError):
    """A plan that can't be computed, or is not to be: one sentence for people, and a code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """A column. `decimals` is the largest number of decimals of its numbers, and None for floating point. `smallest`
    and `largest` are of all kinds but text; `values` of text, each once, the commonest first. `unread` counts filled
    cells that could not be read as the column's kind, `unread_texts` has the first few of them: no sum or mean of the
    column is given without saying so."""

    name: str
    kind: Kind
    unit: str = ""
    decimals: int | None = 0
    empty: int = 0
    distinct: int = 0
    smallest: str = ""
    largest: str = ""
    values: tuple[str, ...] = ()
    all_values: bool = False
    unread: int = 0
    unread_texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableProfile:
    """A table: its name in SQL, the path that people see, and the sheet if the file has several. No two names of its
    columns are equal. `notes` are sentences on how it was read; `form` is how a program has to read the file, if it is
    not a usual CSV."""

    name: str
    path: str
    rows: int
    columns: tuple[ColumnProfile, ...]
    sheet: str = ""
    notes: tuple[str, ...] = ()
    form: str = ""

    def column(self, name: str) -> ColumnProfile:
        """Raises `PlanError` when there is none of this name."""
        return self.columns[self.place(name)]

    def place(self, name: str) -> int:
        """The place of a column, from 0. Raises `PlanError` when there is none of this name."""
        for place, column in enumerate(self.columns):
            if column.name == name:
                return place
        raise PlanError("unknown_column", f"{self.path} has no column {name!r}.")


Tables = Mapping[str, TableProfile]
"""Tables by their names."""


def table_of(tables: Tables, name: str) -> TableProfile:
    """Raises `PlanError` when there is none of this name."""
    if name not in tables:
        raise PlanError("unknown_table", f"There is no table {name!r}.")
    return tables[name]


def file_names(paths: Iterable[str]) -> dict[str, str]:
    """The name of each file's first table: the file's own, without its ending."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for path in paths:
        names[path] = _free(_plain(PurePosixPath(path).stem) or "table", taken)
    return names


def named(files: Mapping[str, Sequence[TableProfile]], names: Mapping[str, str]) -> dict[str, tuple[TableProfile, ...]]:
    """The tables of files, by path, with their names: further tables of a file have those of their sheets behind the
    file's. `names` are those of all files of the chat (`file_names`)."""
    taken = set(names.values())
    made = {}
    for path, tables in files.items():
        first = names[path]
        made[path] = tuple(
            replace(
                table,
                name=_free(_plain(f"{first}_{table.sheet}"), taken) if place else first,
                path=path,
                sheet=table.sheet if len(tables) > 1 else "",
            )
            for place, table in enumerate(tables)
        )
    return made


def _plain(text: str) -> str:
    return re.sub(r"\W+", "_", text).strip("_").lower()


def _free(name: str, taken: set[str]) -> str:
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    taken.add(free)
    return free
