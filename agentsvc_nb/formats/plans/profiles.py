"""What a plan may know of tables without reading them: names, kinds, units, decimals and distinct values.

Also how the tables of a chat are named, and what a column's name says of its numbers (which one they mean, a place, or
a ratio) in English, German, French and Spanish.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final, Literal

from agentsvc_nb.formats.normalization import fold

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


_WORD: Final = re.compile(r"[^\W\d_]+")
_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _words(name: str) -> list[str]:
    return [fold(word) for word in _WORD.findall(_HUMP.sub(" ", name))]


_IDENTIFIERS: Final = frozenset(
    _words(
        "id ids uuid guid sku nr no num number code key index nummer kennung schluessel numero clave codigo cle zip plz"
        " phone ean isbn asin"
    )
)
_FIRST: Final = frozenset(_words("id uuid numero num n code codigo cle clave"))
"""Those that stand first in French and Spanish, as `Numéro de commande`."""
_RANKS: Final = frozenset(_words("rank ranking place position pos rang platz platzierung posicion puesto"))
_RATIOS: Final = frozenset(
    _words(
        "rate rates percent percentage pct share ratio ctr cvr cpc cpm cpa cpl roas roi aov average avg mean median"
        " anteil prozent prozentsatz durchschnitt schnitt taux pourcentage moyenne tasa porcentaje proporcion promedio"
    )
)
_CURRENCIES: Final = frozenset(_words("currency currencies währung waehrung devise monnaie moneda divisa"))
_CURRENCY_CODES: Final = frozenset(_words("eur euro euros usd gbp chf sek nok dkk pln czk jpy cny inr cad aud"))
_PER: Final = frozenset(_words("per pro je par por"))
_AMOUNTS: Final = frozenset(
    _words(
        "amount cost costs spend spent price prices revenue sales budget fee fees salary wage income turnover gross net"
        " value betrag kosten preis ausgaben umsatz erlös gehalt montant coût prix dépenses revenu salaire importe"
        " coste costo precio gasto ingresos sueldo mrr arr"
    )
)
_YEARS: Final = frozenset(_words("year jahr annee année año ano season saison"))


def is_identifier(column: ColumnProfile, table: TableProfile) -> bool:
    """Whether the column says which row is meant, and nothing else: its name says so, and no two cells are equal."""
    words = _words(column.name)
    named = bool(words) and (words[-1] in _IDENTIFIERS or words[-1].endswith("nummer") or words[0] in _FIRST)
    return named and column.distinct == table.rows - column.empty and table.rows > 1


def is_rank(column: ColumnProfile) -> bool:
    return column.kind == "number" and not _RANKS.isdisjoint(_words(column.name))


def is_ratio(column: ColumnProfile) -> bool:
    return column.kind == "number" and (column.unit == "%" or not _RATIOS.isdisjoint(_words(column.name)))


def is_per_unit(column: ColumnProfile) -> bool:
    """Whether each number is one of something else, as `Cost per click` is."""
    return column.kind == "number" and not _PER.isdisjoint(_words(column.name))


def names_currency(column: ColumnProfile) -> bool:
    """Whether all its amounts are in one currency, which its name says, as `Amount EUR` does."""
    return not _CURRENCY_CODES.isdisjoint(_words(column.name))


def is_currency(column: ColumnProfile) -> bool:
    """Whether the column says of each row which currency its amounts are in."""
    return column.kind == "text" and not _CURRENCIES.isdisjoint(_words(column.name))


def is_amount(column: ColumnProfile) -> bool:
    return column.kind == "number" and not _AMOUNTS.isdisjoint(_words(column.name))


def is_label(column: ColumnProfile) -> bool:
    """Whether the numbers are shown without separators of thousands, as years and codes are."""
    words = _words(column.name)
    return not _YEARS.isdisjoint(words) or (bool(words) and words[-1] in _IDENTIFIERS)
