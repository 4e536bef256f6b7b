"""The interface to databases of the kernel, and helpers that all connections share. Its docstrings are the contract."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol

from agentsvc_nb import clock
from agentsvc_nb.notebook.kernel.variables import Rules
from agentsvc_nb.notebook.redaction import is_secret_name

QUERY_SECONDS: Final = 30.0
"""The time limit of a query in seconds, because a query keeps the kernel busy."""
ONE_SELECT: Final = "Only a single SELECT that reads data is allowed; nothing was run."
_STOPPED: Final = "The user stopped the query."
_TOO_LONG: Final = f"The query was stopped after {QUERY_SECONDS:.0f} seconds. Query less data."

Tables = Mapping[str, Sequence[tuple[str, str]]]
"""The columns of each table, with their types. A table's name includes its schema unless that is the default schema."""


class ApprovalNeeded(Exception):
    """The database can't guarantee that a query reads only offered data. The message tells the user why."""


@dataclass(frozen=True)
class Selected:
    """The first rows of a query.

    Attributes:
        more: whether the query has more rows.
        nulled: whether the database replaced withheld values with NULL.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    more: bool
    nulled: bool = False


class Database(Protocol):
    """A connection, used on the main thread. Its methods raise `LookupError` with a sentence for the agent."""

    @property
    def product(self) -> str:
        """The database product, such as `PostgreSQL`."""
        ...

    def tables(self) -> Tables: ...

    def select(self, sql: str, rows: int, rules: Rules, *, approved: bool = False) -> Selected:
        """Return the first rows of a query. The database refuses changes while the query runs.

        Args:
            approved: whether the user has read and approved this query.

        Raises `ApprovalNeeded` if the user must read the query first; then nothing has run.
        """
        ...


@dataclass(frozen=True)
class OfferedDatabase:
    """A connection, and the name of its variable."""

    name: str
    database: Database


def hides_table(table: str, rules: Rules) -> bool:
    """Return True if the rules hide a table, by the table's name or the schema's name."""
    return any(map(rules.hides, {table, *table.split(".")}))


def is_withheld(column: str, rules: Rules) -> bool:
    """Return True if the rules withhold the values of a column with this name."""
    return rules.hides(column) or is_secret_name(column)


def plan_nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects of a query plan in JSON, parents first."""
    if isinstance(tree, dict):
        yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for part in tree:
            yield from plan_nodes(part)


@contextmanager
def stopped_in_time(stop: Callable[[], object]) -> Iterator[None]:
    """In another thread, call `stop` when a query exceeds its time limit."""
    timer = threading.Timer(QUERY_SECONDS, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def errors_told(*errors: type[Exception]) -> Iterator[None]:
    """Turn database errors into `LookupError` with a sentence. An interrupt of a long query raises no second error."""
    begun = clock.monotonic()
    try:
        yield
    except KeyboardInterrupt:
        raise LookupError(_STOPPED) from None
    except errors as error:
        reason = str(getattr(error, "orig", None) or error)  # SQLAlchemy's error wraps the driver's error
        if clock.monotonic() - begun > QUERY_SECONDS:
            reason = _TOO_LONG
        elif "interrupted" in reason:
            reason = _STOPPED
        raise LookupError(reason) from None
