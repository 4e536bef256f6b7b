"""Lists of an account's work, newest first, one page at a time (docs/api/runs.md "Lists")."""

from __future__ import annotations

from dataclasses import dataclass

from agentsvc_nb.service.ports import Row, Tx


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Selects a page of an account's runs or jobs. A filter that is None does not restrict the page.

    The page has at most `limit` items, newest first, of the chat `chat`, with the status `status`, and older than the
    item with the id `after`.
    """

    account: str
    chat: str | None
    status: str | None
    after: str | None
    limit: int


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
