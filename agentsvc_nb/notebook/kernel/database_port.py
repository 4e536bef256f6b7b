"""What a database of the kernel is asked through, and what its connections share. The docstrings are the contract."""

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
"""How long a query may take: it keeps the kernel busy."""
ONE_SELECT: Final = "Only one SELECT that reads is run."
_STOPPED: Final = "The user stopped the query."
_TOO_LONG: Final = f"The query took over {QUERY_SECONDS:.0f} seconds, and was stopped: ask for less."

Tables = Mapping[str, Sequence[tuple[str, str]]]
"""The columns of each table, with their types; a table's name has its schema before it, unless that is the default."""


class ApprovalNeeded(Exception):
    """The database can't guarantee that a query reads only what is offered. The text tells the user why."""


@dataclass(frozen=True)
class Selected:
    """The first rows of a query.

    Attributes:
        more: whether the query has more rows.
        nulled: whether the database put NULL in the place of withheld values.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    more: bool
    nulled: bool = False


class Database(Protocol):
    """A connection. For the main thread. Its methods raise `LookupError` with a sentence for the agent."""

    @property
    def product(self) -> str:
        """What it is, such as `PostgreSQL`."""
        ...

    def tables(self) -> Tables: ...

    def select(self, sql: str, rows: int, rules: Rules, *, approved: bool = False) -> Selected:
        """Return the first rows of a query. The database refuses to change anything meanwhile.

        Args:
            approved: the user has read and allowed this query.

        Raises `ApprovalNeeded` if the user has to read the query first; then nothing was run.
        """
        ...


@dataclass(frozen=True)
class OfferedDatabase:
    """A connection, and the variable that it is in."""

    name: str
    database: Database


def hides_table(table: str, rules: Rules) -> bool:
    """Return True if the rules hide a table, by its name or the name of its schema."""
    return any(map(rules.hides, {table, *table.split(".")}))


def is_withheld(column: str, rules: Rules) -> bool:
    """Return True if the agent gets no values of a column of this name."""
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
    """Call `stop`, in another thread, when a query takes too long."""
    timer = threading.Timer(QUERY_SECONDS, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def errors_told(*errors: type[Exception]) -> Iterator[None]:
    """Turn errors of a database into `LookupError` with a sentence. What ends a long query has no error of its own."""
    begun = clock.monotonic()
    try:
        yield
    except KeyboardInterrupt:
        raise LookupError(_STOPPED) from None
    except errors as error:
        reason = str(getattr(error, "orig", None) or error)  # SQLAlchemy's has the driver's
        if clock.monotonic() - begun > QUERY_SECONDS:
            reason = _TOO_LONG
        elif "interrupted" in reason:
            reason = _STOPPED
        raise LookupError(reason) from None
