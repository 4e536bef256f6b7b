"""Lists of an account's work, newest first, one page at a time (docs/api/runs.md "Lists")."""

from __future__ import annotations

from dataclasses import dataclass

from agentsvc_nb.service.ports import Row, Tx


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Selects a page of an account's runs or jobs, newest first. A filter that is None does not restrict the page."""

    account: str
    chat: str | None
    """Selects only runs or jobs of this chat."""
    status: str | None
    """Selects only runs or jobs with this status."""
    after: str | None
    """Selects only runs or jobs that are older than the one with this id."""
    limit: int
    """The maximum number of runs or jobs on the page."""


def page(tx: Tx, sql: str, query: ListQuery) -> tuple[list[Row], bool]:
    """Execute a statement that selects a page. Return the page's rows, and whether further rows follow."""
    found = tx.all(
        sql,
        account=query.account,
        chat=query.chat,
        status=query.status,
        after=query.after,
        limit=query.limit + 1,
    )
    return found[: query.limit], len(found) > query.limit
