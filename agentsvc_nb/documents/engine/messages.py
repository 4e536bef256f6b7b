"""Define the messages between the service and the child process that reads and queries tables.

The service sends questions pickled, because it is trusted. The child process answers in JSON, because it reads
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
    """Holds the profiles of the tables in the file at `path`.

    If it has no tables, or they could not be read, `unreadable` is a sentence that says why. If `too_much` is True,
    reading stopped at a limit, so the file may have tables.
    """

    path: str
    tables: tuple[TableProfile, ...] = ()
    unreadable: str = ""
    too_much: bool = False


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """Holds the first rows of a query's result. Cells are numbers, texts or None.

    Attributes:
        more: True if the result has further rows.
        notes: sentences about how the tables were read.
        saved: rows as CSV, if the query asked for them.
        saved_rows: the number of rows in `saved`.
        types: the columns' types in a Table Schema.
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
    """Identifies a file with tables: the hash of its content, its format (such as `.csv`), and its path."""

    sha256: str
    ending: str
    file: str

    @property
    def key(self) -> str:
        """Return the key of the file's tables in the cache."""
        return f"{self.sha256}{self.ending}"


@dataclass(frozen=True, slots=True)
class UsedTable:
    """Identifies a table that a query may use: its file, its index in the file (from 0), and its profile."""

    file: TableFile
    place: int
    profile: TableProfile


@dataclass(frozen=True, slots=True)
class ReadQuestion:
    """Asks the child process for the profiles of a file's tables."""

    file: TableFile


@dataclass(frozen=True, slots=True)
class SqlQuestion:
    """Asks the child process to run the query `sql` on `tables`."""

    sql: str
    tables: tuple[UsedTable, ...]
    save: bool = False
    """True to also return the rows as CSV, with a higher limit than for shown rows."""


Question = ReadQuestion | SqlQuestion


class TableAnswer(BaseModel):
    """The child process's answer to a question, or an error."""

    model_config = ConfigDict(defer_build=True)

    tables: tuple[TableProfile, ...] = ()
    query: QueryAnswer | None = None
    saved: str = ""
    """The rows of a query as CSV."""
    error: tuple[Literal["unreadable", "query", "too_much"], str, str] | None = None
    """If the question failed: the kind of failure, an error code (or ""), and a sentence for the user."""
