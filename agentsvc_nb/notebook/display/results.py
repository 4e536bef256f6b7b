"""What a cell gives back (`_`, `Out[n]`, `-o name`): words, a table, a preview, or a piece of work that it shows."""

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


class Said(str):
    """Words that a magic prints, made harmless for a terminal; with `-o` they are in the variable, too."""

    __slots__ = ()

    def __new__(cls, words: object) -> Said:
        return super().__new__(cls, plain(str(words)))


class Table(Showing):
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

    def _mimebundle(self) -> Bundle:
        return self._bundle


class Preview(Showing):
    """What a cell shows of files."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def __repr__(self) -> str:
        return self._bundle["text/plain"]

    def _mimebundle(self) -> Bundle:
        return self._bundle


class Shown(Showing):
    """What a cell shows already when it gives it back, and what is shown again when another cell looks at it."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._hidden: Callable[[], bool] = lambda: False

    def hide_while(self, shown: Callable[[], bool]) -> None:
        """Show nothing while `shown()` says so: the cell that made it shows it already."""
        self._hidden = shown

    @property
    def shown(self) -> Bundle:
        """What a cell shows of it."""
        return dict(self._bundle)

    def _mimebundle(self) -> Bundle:
        return self.shown

    def _ipython_display_(self) -> None:
        # `_` and `Out[n]` are set for whatever a cell returns; this keeps IPython from showing a second copy.
        if not self._hidden():
            from IPython.display import display

            display(self._repr_mimebundle_(), raw=True)  # type: ignore[no-untyped-call]


class Kept(Shown):
    """A finished piece of work."""

    def __init__(self, bundle: Bundle, files: Sequence[WorkspaceFile], chat: str | None) -> None:
        super().__init__(bundle)
        self.files, self.chat = tuple(files), chat

    @property
    def df(self) -> pd.DataFrame:
        """The files that it wrote, a row each; no network is needed."""
        return frame((file.model_dump(exclude={"object"}) for file in self.files), tables.FILES, **self.attrs)

    @property
    def attrs(self) -> dict[str, Any]:
        """Where its DataFrames are from: their `attrs`."""
        return {"chat": self.chat}
