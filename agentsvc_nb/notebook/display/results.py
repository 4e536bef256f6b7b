"""What a magic gives back when it is not an answer: a table, or words."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.safe.text import plain

if TYPE_CHECKING:
    import pandas as pd


class Said(str):
    """Words that a magic prints, made harmless for a terminal; with `-o` they are in the variable, too."""

    __slots__ = ()

    def __new__(cls, words: object) -> Said:
        return super().__new__(cls, plain(str(words)))


class Table:
    """A table as a cell shows it. `table.df` is the DataFrame, with all rows; `table["path"]` one of its columns.

    `-o name` keeps the DataFrame itself.
    """

    def __init__(self, bundle: Bundle, build: Callable[[], pd.DataFrame]) -> None:
        self._bundle, self._build = bundle, build

    @functools.cached_property
    def df(self) -> pd.DataFrame:
        """All rows, with fixed columns and types (docs/magics.md)."""
        return self._build()

    def __getitem__(self, column: str) -> pd.Series[Any]:
        return self.df[column]

    def __len__(self) -> int:
        return len(self.df)

    def __repr__(self) -> str:
        return self._bundle["text/plain"]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Bundle:
        return dict(self._bundle)
