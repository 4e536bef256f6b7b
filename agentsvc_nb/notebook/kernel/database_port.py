"""What a database of the kernel is asked through. The docstrings are the contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from agentsvc_nb.notebook.kernel.statements import Tables

QUERY_SECONDS: Final = 30.0
"""How long a query may take: it keeps the kernel busy."""
STOPPED: Final = "The user stopped the query."
TOO_LONG: Final = f"The query took over {QUERY_SECONDS:.0f} seconds, and was stopped: ask for less."


@dataclass(frozen=True)
class Selected:
    """The first rows of a query, and whether there are more."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    more: bool


class Database(Protocol):
    """A connection. For the main thread. Its methods raise `LookupError` with a sentence for the agent."""

    @property
    def product(self) -> str:
        """What it is, such as `PostgreSQL`."""
        ...

    def tables(self) -> Tables: ...

    def select(self, sql: str, rows: int) -> Selected:
        """The first rows of a statement that `check` has let pass; nothing in the database is changed."""
        ...


@dataclass(frozen=True)
class OfferedDatabase:
    """A connection, and the variable that it is in."""

    name: str
    database: Database
