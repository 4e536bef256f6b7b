"""Values of cells (`_`, `Out[n]`, `-o name`): text, a table, a preview, or the result of a run or job."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from agentsvc_nb.client.cards import Showing
from agentsvc_nb.client.models import frame
from agentsvc_nb.notebook.display import tables
from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.text import plain

if TYPE_CHECKING:
    import pandas as pd


class PrintedText(str):
    """Text that a magic prints, made harmless for a terminal; with `-o` the variable holds it, too."""

    __slots__ = ()

    def __new__(cls, words: object) -> PrintedText:
        return super().__new__(cls, plain(str(words)))


class ResultTable(Showing):
    """A table as a cell shows it. `table.df` is the DataFrame, with all rows; `table["path"]` one of its columns.

    `-o name` keeps the DataFrame itself.
    """

    def __init__(self, bundle: Bundle, build: Callable[[], pd.DataFrame]) -> None:
        self._bundle = bundle
        self._build = build

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

    def _mimebundle(self) -> Bundle:
        return self._bundle


class Preview(Showing):
    """A static output as a value, such as the preview of a file."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def __repr__(self) -> str:
        return self._bundle["text/plain"]

    def _mimebundle(self) -> Bundle:
        return self._bundle


class DisplayedResult(Showing):
    """A value that its own cell has displayed already; another cell that evaluates it shows it again."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._hidden: Callable[[], bool] = lambda: False

    def hide_while(self, shown: Callable[[], bool]) -> None:
        """Show nothing while `shown()` is true: the cell that made it has displayed it already."""
        self._hidden = shown

    @property
    def shown(self) -> Bundle:
        """Its output."""
        return dict(self._bundle)

    def _mimebundle(self) -> Bundle:
        return self.shown

    def _ipython_display_(self) -> None:
        # `_` and `Out[n]` are set for whatever a cell returns; this keeps IPython from showing a second copy.
        if not self._hidden():
            from IPython.display import display

            display(self._repr_mimebundle_(), raw=True)  # type: ignore[no-untyped-call]


class WorkResult(DisplayedResult):
    """The result of a finished run or job."""

    def __init__(self, bundle: Bundle, files: Sequence[WorkspaceFile], chat: str | None) -> None:
        super().__init__(bundle)
        self.files = tuple(files)
        self.chat = chat

    @property
    def df(self) -> pd.DataFrame:
        """The files that it wrote, a row each, without a request."""
        return frame((file.model_dump(exclude={"object"}) for file in self.files), tables.FILES, **self.attrs)

    @property
    def attrs(self) -> dict[str, Any]:
        """The `attrs` of its DataFrames: their origin."""
        return {"chat": self.chat}
