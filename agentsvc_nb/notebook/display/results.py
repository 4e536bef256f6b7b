"""The types of values that cells return (`_`, `Out[n]`, `-o name`): text, tables, previews, run and job results.

Notebooks show these values as escaped HTML with inline styles. Terminals show them as aligned text.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.client.cards import Displayable
from agentsvc_nb.client.cards import Row as Row
from agentsvc_nb.client.cards import TableCell as TableCell
from agentsvc_nb.client.cards import grid as grid
from agentsvc_nb.client.models import TIME_DTYPE, frame
from agentsvc_nb.notebook.display.file_table import files_bundle
from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.text import escape, label, plain

if TYPE_CHECKING:
    import pandas as pd


# The columns of the DataFrames, with their dtypes (docs/magics.md).
FILES: Final[Mapping[str, Any]] = {
    "path": "string",
    "file_name": "string",
    "name": "string",
    "kind": "category",
    "media_type": "category",
    "size_bytes": "Int64",
    "updated_at": TIME_DTYPE,
    "run_id": "string",
    "version": "Int64",
    "id": "string",
}
RUNS: Final[Mapping[str, Any]] = {
    "run_id": "string",
    "status": "category",
    "started_at": TIME_DTYPE,
    "ended_at": TIME_DTYPE,
    "undone_at": TIME_DTYPE,
    "seconds": "Float64",
    "steps": "Int64",
    "cost_cents": "Float64",
    "model": "string",
    "prompt": "string",
    "chat": "string",
    "notebook": "string",
    "base_url": "string",
}
APPROVALS: Final[Mapping[str, Any]] = {
    "call_id": "string",
    "tool": "string",
    "input": "object",
    "since": TIME_DTYPE,
    "run_id": "string",
}
JOBS: Final[Mapping[str, Any]] = {
    "job_id": "string",
    "tool": "string",
    "status": "category",
    "created_at": TIME_DTYPE,
    "started_at": TIME_DTYPE,
    "ended_at": TIME_DTYPE,
    "chat": "string",
    "base_url": "string",
}


def code(text: object, limit: int = 200) -> TableCell:
    """Return a table cell in a code font, for text that users copy or type, such as an id."""
    # JupyterLab breaks code at any character; with `inherit`, the line break rule of the table cell applies
    return TableCell(label(text, limit), f'<code style="white-space:inherit">{escape(text, limit)}</code>')


class PrintedText(str):
    """Text that a magic prints, without control characters. Text in backticks is bold. `-o` stores the text."""

    __slots__ = ()

    def __new__(cls, words: object) -> PrintedText:
        return super().__new__(cls, plain(str(words)))


class QuotedText(PrintedText):
    """Printed text that quotes other text. Backticks are printed unchanged, because they belong to the quoted text."""

    __slots__ = ()


class Preview(Displayable):
    """A cell value that displays a static output, such as the preview of a file."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def __repr__(self) -> str:
        return self._bundle["text/plain"]

    def _mimebundle(self) -> Bundle:
        return self._bundle


class ResultTable(Preview):
    """A table as the value of a cell. `table.df` is the DataFrame with all rows, and `table["path"]` is a column of it.

    With `-o name`, the variable holds the DataFrame itself.
    """

    def __init__(self, bundle: Bundle, build: Callable[[], pd.DataFrame]) -> None:
        super().__init__(bundle)
        self._build = build

    @functools.cached_property
    def df(self) -> pd.DataFrame:
        """A DataFrame with all rows. The columns and their types are always the same (docs/magics.md)."""
        return self._build()

    def __getitem__(self, column: str) -> pd.Series[Any]:
        return self.df[column]

    def __len__(self) -> int:
        return len(self.df)


class DisplayedResult(Displayable):
    """A value that its cell has already displayed. When another cell returns the value, it is displayed again."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._hidden: Callable[[], bool] = lambda: False

    def hide_while(self, shown: Callable[[], bool]) -> None:
        """Do not display the value while `shown()` returns True.

        That is the case while the cell that has already displayed the value still runs.
        """
        self._hidden = shown

    @property
    def shown(self) -> Bundle:
        """The output without the wrapper element. The wrapper keeps Jupyter from rendering `$` as mathematics."""
        return dict(self._bundle)

    def _mimebundle(self) -> Bundle:
        return self.shown

    def _ipython_display_(self) -> None:
        # IPython assigns any value that a cell returns to `_` and `Out[n]`, and would also display it a second time.
        if not self._hidden():
            from IPython.display import display

            display(self._repr_mimebundle_(), raw=True)  # type: ignore[no-untyped-call]


class ResultFiles(Displayable, tuple[WorkspaceFile, ...]):
    """The files that a run or job wrote. Notebooks show them as a table, and `files.df` is a DataFrame of them."""

    attrs: Mapping[str, Any] = {}

    @property
    def df(self) -> pd.DataFrame:
        """One row per file, with the columns of docs/magics.md. Sends no request."""
        return frame((file.model_dump(exclude={"object"}) for file in self), FILES, **self.attrs)

    def _mimebundle(self) -> Bundle:
        return files_bundle(self)

    def __repr__(self) -> str:
        return self._mimebundle()["text/plain"]


class WorkResult(DisplayedResult):
    """The result of a finished run or job, as the value of a cell."""

    def __init__(self, bundle: Bundle, files: Sequence[WorkspaceFile], chat: str | None) -> None:
        super().__init__(bundle)
        self._files = ResultFiles(files)
        self.chat = chat

    @property
    def files(self) -> ResultFiles:
        """The files that the run or job wrote. `.files.df` is a DataFrame of them."""
        self._files.attrs = self.attrs
        return self._files

    @property
    def attrs(self) -> dict[str, Any]:
        """The `attrs` of the DataFrames in this result. They name the chat from which the data comes."""
        return {"chat": self.chat}
