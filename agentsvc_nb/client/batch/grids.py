"""DataFrames of any library: read columns as lists, and append columns. Index, order and library stay the same.

pandas is handled here, the others (polars, pyarrow, modin, ...) through narwhals, which has no dependencies and is
imported only for them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from agentsvc_nb.client import models
from agentsvc_nb.client.errors import StefanBrainError

Columns = Mapping[str, tuple[str, Sequence[Any]]]
"""Maps a column's name to its pandas dtype (`string`, `Int64`, `Float64`, `boolean`, `object`) and its values."""

_NARWHALS: Final = {"string": "String", "Int64": "Int64", "Float64": "Float64", "boolean": "Boolean"}


class Grid(Protocol):
    """What a batch needs of a DataFrame; `names` are its columns, `height` is its number of rows."""

    @property
    def names(self) -> list[str]: ...
    @property
    def height(self) -> int: ...
    def values(self, name: str) -> list[Any]:
        """The values of a column, with None for missing ones."""
        ...

    def extended(self, columns: Columns) -> Any:
        """A copy of the DataFrame with these columns appended."""
        ...


def grid(frame: Any) -> Grid:
    """The `Grid` over a DataFrame of any library.

    Raises `StefanBrainError` for an object that is no DataFrame, and for one of another library than pandas if narwhals
    is not installed.
    """
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(frame, pandas.DataFrame):
        return _Pandas(frame)
    try:
        import narwhals as nw
    except ImportError:
        raise StefanBrainError(
            f"A {_kind(frame)} needs narwhals; nothing was sent.", hint="pip install narwhals"
        ) from None
    try:
        return _Narwhals(nw.from_native(frame, eager_only=True))
    except TypeError:
        raise StefanBrainError(
            f"A {_kind(frame)} is no DataFrame that can be asked over; nothing was sent.",
            hint="Give a DataFrame of pandas, polars or pyarrow; collect() a lazy one first.",
        ) from None


@dataclass(frozen=True)
class _Pandas:
    frame: Any

    @property
    def names(self) -> list[str]:
        return [str(label) for label in self.frame.columns]

    @property
    def height(self) -> int:
        return len(self.frame)

    def values(self, name: str) -> list[Any]:
        column = self.frame.iloc[:, self.names.index(name)]
        return [None if gone else value for value, gone in zip(column.tolist(), column.isna(), strict=True)]

    def extended(self, columns: Columns) -> Any:
        import pandas as pd

        rows = ({name: values[row] for name, (_, values) in columns.items()} for row in range(self.height))
        made = models.frame(rows, {name: kind for name, (kind, _) in columns.items()})
        made.index = self.frame.index
        return pd.concat([self.frame, made], axis=1)


@dataclass(frozen=True)
class _Narwhals:
    frame: Any

    @property
    def names(self) -> list[str]:
        return list(self.frame.columns)

    @property
    def height(self) -> int:
        return len(self.frame)

    def values(self, name: str) -> list[Any]:
        # NaN is the only value that does not equal itself.
        return [None if value != value else value for value in self.frame[name].to_list()]

    def extended(self, columns: Columns) -> Any:
        import narwhals as nw

        def made(name: str, kind: str, values: Sequence[Any]) -> Any:
            wanted = getattr(nw, _NARWHALS[kind]) if kind in _NARWHALS else None
            return nw.new_series(name, list(values), wanted, backend=self.frame.implementation)

        new = [made(name, kind, values) for name, (kind, values) in columns.items()]
        return self.frame.with_columns(*new).to_native()


def _kind(frame: Any) -> str:
    return f"{type(frame).__module__.partition('.')[0]}.{type(frame).__name__}"
