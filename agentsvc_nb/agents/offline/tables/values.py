"""The words of a table: those of its headers, and those of the values of its columns of texts."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

from agentsvc_nb.agents.offline.tables.columns import TableColumns
from agentsvc_nb.agents.offline.tables.question import forms
from agentsvc_nb.formats.normalization import tokens

_ASIDE: Final = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")


_MEASURED: Final = re.compile(r"(\d+)([a-z])")


def _measured_apart(folded: tuple[str, ...]) -> tuple[str, ...]:
    """A name's words as a question has them, where `250g` is a number with its unit."""
    parted = (found.groups() if (found := _MEASURED.fullmatch(word)) else (word,) for word in folded)
    return tuple(part for parts in parted for part in parts) if len(folded) > 1 else folded


class TableValues(TableColumns):
    """A table's columns, and its values by their words."""

    @cached_property
    def _cells(self) -> dict[tuple[str, ...], list[tuple[str, str]]]:
        """Values of text columns by their folded tokens."""
        found: dict[tuple[str, ...], list[tuple[str, str]]] = {}
        for column in self.table.columns:
            if column.kind == "text":
                for value in column.values:
                    if folded := tuple(tokens(value)):
                        for one in {folded, _measured_apart(folded)}:
                            found.setdefault(one, []).append((column.name, value))
        return found

    @cached_property
    def _cells_without_asides(self) -> dict[tuple[str, ...], list[tuple[str, str]]]:
        """The same without what stands in brackets, as `Belgium (BEL)`."""
        found: dict[tuple[str, ...], list[tuple[str, str]]] = {}
        for places in self._cells.values():
            for name, value in places:
                plain = tuple(tokens(_ASIDE.sub(" ", value)))
                if plain and plain not in self._cells:
                    found.setdefault(plain, []).append((name, value))
        return found

    @cached_property
    def _cells_by_form(self) -> dict[str, list[tuple[str, ...]]]:
        found: dict[str, list[tuple[str, ...]]] = {}
        for folded in self._cells:
            for form in forms(folded[-1]):
                found.setdefault(form, []).append(folded)
        return found

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        return frozenset(token for header in self.headers.values() for token in header)

    def value_words(self) -> frozenset[str]:
        return frozenset(word for folded in self._cells for word in folded)

    def stands(self, word: str) -> bool:
        """Whether a header or a value has the word."""
        # In any form: `Monatsgehälter` beside `Monatsgehalt` is no salary by month.
        return not forms(word).isdisjoint(self._standing)

    @cached_property
    def _standing(self) -> frozenset[str]:
        found = {*self.vocabulary, *(word for folded in self._cells for word in folded)}
        return frozenset(form for word in found for form in forms(word))
