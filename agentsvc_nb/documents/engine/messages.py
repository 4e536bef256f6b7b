"""What is asked of a chat's tables and answered, and what the service and the process of tables say to each other.

Questions are pickled, for the service is trusted; answers, of a process that reads files of strangers, are JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict

from agentsvc_nb.documents.tables.profiles import TableProfile

ROWS_MAX: Final = 200
"""Rows of a query that are shown."""
SAVED_ROWS_MAX: Final = 100_000


@dataclass(frozen=True, slots=True)
class FileTables:
    """The tables of a file, by its path; none if it is `unreadable`, which is why, in a sentence. `too_much` says that
    reading it was given up, so that it may well have tables."""

    path: str
    tables: tuple[TableProfile, ...] = ()
    unreadable: str = ""
    too_much: bool = False


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """The first rows of a query: cells are numbers, None, or texts. `more`: there are further rows. `notes` are how the
    tables were read, `saved` the rows as CSV, of which there are `saved_rows`, `types` the types of
    their columns in a Table Schema."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool = False
    notes: tuple[str, ...] = ()
    saved: bytes = b""
    saved_rows: int = 0
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableFile:
    """A content with tables: its hash, its format as an ending (`.csv`), and where it is."""

    sha256: str
    ending: str
    file: str

    @property
    def key(self) -> str:
        """What its tables are kept by."""
        return f"{self.sha256}{self.ending}"


@dataclass(frozen=True, slots=True)
class UsedTable:
    """A table of a file, at `place` among them (from 0), and what it is called."""

    file: TableFile
    place: int
    profile: TableProfile


@dataclass(frozen=True, slots=True)
class ReadQuestion:
    """Which tables are in the file?"""

    file: TableFile


@dataclass(frozen=True, slots=True)
class SqlQuestion:
    """What does the query give?"""

    sql: str
    tables: tuple[UsedTable, ...]
    save: bool = False
    """Whether more rows are wanted than are shown, as CSV."""


Question = ReadQuestion | SqlQuestion


class TableAnswer(BaseModel):
    """What was asked for, or an error."""

    model_config = ConfigDict(defer_build=True)

    tables: tuple[TableProfile, ...] = ()
    query: QueryAnswer | None = None
    saved: str = ""
    """A query's rows as CSV."""
    error: tuple[Literal["unreadable", "query", "too_much"], str, str] | None = None
    """What failed, a code or "", and a sentence."""
