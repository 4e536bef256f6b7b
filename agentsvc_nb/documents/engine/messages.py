"""Messages between the service and the process of tables.

Questions are pickled, because the service is trusted. Answers are JSON, because they come from a process that reads
untrusted files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict

from agentsvc_nb.documents.tables.profiles import TableProfile

ROWS_MAX: Final = 200
"""The maximum number of rows that a query shows."""
SAVED_ROWS_MAX: Final = 100_000


@dataclass(frozen=True, slots=True)
class FileTables:
    """The tables of the file at `path`, or in `unreadable` a sentence why there are none.

    If `too_much` is True, reading stopped at a limit, so the file may well have tables.
    """

    path: str
    tables: tuple[TableProfile, ...] = ()
    unreadable: str = ""
    too_much: bool = False


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """The first rows of a query, whose cells are numbers, None or texts.

    `more` is True if there are further rows. `notes` say how the tables were read. `saved` has `saved_rows` rows as
    CSV, and `types` has the types of their columns in a Table Schema.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool = False
    notes: tuple[str, ...] = ()
    saved: bytes = b""
    saved_rows: int = 0
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file with tables: the hash of its content, its format as a file extension (`.csv`), and its path."""

    sha256: str
    ending: str
    file: str

    @property
    def key(self) -> str:
        """Return the key of the file's tables in the cache."""
        return f"{self.sha256}{self.ending}"


@dataclass(frozen=True, slots=True)
class UsedTable:
    """A table of a file, with its name and its `place` among the file's tables (from 0)."""

    file: TableFile
    place: int
    profile: TableProfile


@dataclass(frozen=True, slots=True)
class ReadQuestion:
    """Asks for the tables of a file."""

    file: TableFile


@dataclass(frozen=True, slots=True)
class SqlQuestion:
    """Asks for the result of a query."""

    sql: str
    tables: tuple[UsedTable, ...]
    save: bool = False
    """True to return more rows than are shown, as CSV."""


Question = ReadQuestion | SqlQuestion


class TableAnswer(BaseModel):
    """The answer to a question, or an error."""

    model_config = ConfigDict(defer_build=True)

    tables: tuple[TableProfile, ...] = ()
    query: QueryAnswer | None = None
    saved: str = ""
    """The rows of a query as CSV."""
    error: tuple[Literal["unreadable", "query", "too_much"], str, str] | None = None
    """The kind of failure, a code or "", and a sentence."""
