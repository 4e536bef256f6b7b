"""The words of a table: those of its headers, and those of the values of its columns of texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from agentsvc_nb.agents.offline.tables.columns import TableColumns
from agentsvc_nb.agents.offline.tables.question import forms
from agentsvc_nb.documents.kept import Kept
from agentsvc_nb.documents.normalization import tokens
from agentsvc_nb.documents.plans.profiles import ColumnProfile

_ASIDE: Final = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_MEASURED: Final = re.compile(r"(\d+)([a-z])")

Phrase = tuple[str, ...]
Places = list[tuple[str, str]]
"""Columns, each with a value as it is written there."""


def _measured_apart(folded: Phrase) -> Phrase:
    """A name's words as a question has them, where `250g` is a number with its unit."""
    parted = (found.groups() if (found := _MEASURED.fullmatch(word)) else (word,) for word in folded)
    return tuple(part for parts in parted for part in parts) if len(folded) > 1 else folded


class CellWords:
    """The values of text columns, by their folded tokens."""

    def __init__(self, columns: Sequence[ColumnProfile]) -> None:
        self.cells: dict[Phrase, Places] = {}
        for column in columns:
            if column.kind == "text":
                for value in column.values:
                    if folded := tuple(tokens(value)):
                        for one in {folded, _measured_apart(folded)}:
                            self.cells.setdefault(one, []).append((column.name, value))

    @cached_property
    def without_asides(self) -> dict[Phrase, Places]:
        """The same without what stands in brackets, as `Belgium (BEL)`."""
        found: dict[Phrase, Places] = {}
        for places in self.cells.values():
            for name, value in places:
                bare = _ASIDE.sub(" ", value)
                plain = tuple(tokens(bare)) if bare != value else ()
                if plain and plain not in self.cells:
                    found.setdefault(plain, []).append((name, value))
        return found

    @cached_property
    def by_form(self) -> dict[str, list[Phrase]]:
        """By the forms of their last words."""
        found: dict[str, list[Phrase]] = {}
        for folded in self.cells:
            for form in forms(folded[-1]):
                found.setdefault(form, []).append(folded)
        return found

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(word for folded in self.cells for word in folded)

    @cached_property
    def standing(self) -> frozenset[str]:
        """All forms of the words."""
        return frozenset(form for word in self.words for form in forms(word))


_KEPT: Final = Kept[tuple[ColumnProfile, ...], CellWords](100_000, lambda one: 1 + len(one.cells))
"""Of the tables that were asked last."""


def cell_words(columns: tuple[ColumnProfile, ...]) -> CellWords:
    return _KEPT.get(columns) or _KEPT.put(columns, CellWords(columns))


class TableValues(TableColumns):
    """A table's columns, and its values by their words."""

    @cached_property
    def _said(self) -> CellWords:
        return cell_words(self.table.columns)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        return frozenset(token for header in self.headers.values() for token in header)

    def value_words(self) -> frozenset[str]:
        return self._said.words

    def stands(self, word: str) -> bool:
        """Whether a header or a value has the word."""
        # In any form: `Monatsgehälter` beside `Monatsgehalt` is no salary by month.
        return not (forms(word).isdisjoint(self._said.standing) and forms(word).isdisjoint(self._header_forms))

    @cached_property
    def _header_forms(self) -> frozenset[str]:
        return frozenset(form for word in self.vocabulary for form in forms(word))
