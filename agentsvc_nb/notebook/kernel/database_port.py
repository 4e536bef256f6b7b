"""The interface of databases that the agent may query, and functions for all kinds of databases."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol

from agentsvc_nb import clock
from agentsvc_nb.notebook.kernel.variables import SharingRules
from agentsvc_nb.notebook.redaction import is_secret_name

QUERY_SECONDS: Final = 30.0
"""The maximum duration of a query in seconds. A query blocks the kernel."""
ONE_SELECT: Final = "Only a single SELECT that reads data is allowed; nothing was run."
_STOPPED: Final = "The user stopped the query."
_TOO_LONG: Final = f"The query was stopped after {QUERY_SECONDS:.0f} seconds. Query less data."

Tables = Mapping[str, Sequence[tuple[str, str]]]
"""The names and types of columns, by table. A table's name includes its schema, unless that is the default schema."""


class ApprovalNeeded(Exception):
    """The database can't guarantee that a query reads only shared data. The message tells the user why."""


@dataclass(frozen=True)
class SelectedRows:
    """The first rows that a query returns.

    Attributes:
        more: whether the query returns further rows.
        nulled: whether the database has returned NULL in place of values that the user does not share.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    more: bool
    nulled: bool = False


class ReadOnlyDatabase(Protocol):
    """A database that the agent may query. Call its methods on the main thread.

    If a method fails, it raises `LookupError` with a sentence for the agent.
    """

    @property
    def product(self) -> str:
        """The name of the database product, such as `PostgreSQL`."""
        ...

    def tables(self) -> Tables: ...

    def select(self, sql: str, rows: int, rules: SharingRules, *, approved: bool = False) -> SelectedRows:
        """Return the first rows of a query. While the query runs, the database refuses changes.

        Args:
            rows: the maximum number of rows to return.
            approved: whether the user has read and approved this query.

        Raises `ApprovalNeeded` if the user must approve the query first. The query was then not run.
        """
        ...


@dataclass(frozen=True)
class OfferedDatabase:
    """A database that the user offers to the agent, with the name of the variable that holds the connection."""

    name: str
    database: ReadOnlyDatabase


def hides_table(table: str, rules: SharingRules) -> bool:
    """Return True if the rules hide the table. A rule may match the table's name, its schema, or both together."""
    return any(map(rules.hides, {table, *table.split(".")}))


def is_withheld(column: str, rules: SharingRules) -> bool:
    """Return True if the values in columns with this name must not be shown to the agent."""
    return rules.hides(column) or is_secret_name(column)


def plan_nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects in a query plan in JSON. An object comes before the objects that it contains."""
    if isinstance(tree, dict):
        yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for part in tree:
            yield from plan_nodes(part)


@contextmanager
def limit_time(stop: Callable[[], object]) -> Iterator[None]:
    """Call `stop` in another thread if the `with` block takes longer than the time limit of a query."""
    timer = threading.Timer(QUERY_SECONDS, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def convert_errors(*errors: type[Exception]) -> Iterator[None]:
    """Convert database errors and interrupts in the `with` block to `LookupError` with a sentence for the agent."""
    begun = clock.monotonic()
    try:
        yield
    except KeyboardInterrupt:
        raise LookupError(_STOPPED) from None
    except errors as error:
        reason = str(getattr(error, "orig", None) or error)  # SQLAlchemy wraps the driver's error
        if clock.monotonic() - begun > QUERY_SECONDS:
            reason = _TOO_LONG
        elif "interrupted" in reason:
            reason = _STOPPED
        raise LookupError(reason) from None
