"""What a plan may know of tables without reading them: names, kinds, units, decimals and distinct values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
    and `largest` are of all kinds but text; `values` of text, each once, the commonest first."""

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


@dataclass(frozen=True, slots=True)
class TableProfile:
    """A table: its name in SQL, the path that people see, and the sheet if the file has several. No two names of its
    columns are equal. `notes` are sentences on how it was read."""

    name: str
    path: str
    rows: int
    columns: tuple[ColumnProfile, ...]
    sheet: str = ""
    notes: tuple[str, ...] = ()

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
