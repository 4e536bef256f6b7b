"""Lists of an account's work, newest first, one page at a time (docs/api/runs.md "Lists")."""

from __future__ import annotations

from dataclasses import dataclass

from agentsvc_nb.service.ports import Row, Tx


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Selects a page of an account's runs or jobs: at most `limit` items of this chat, with this status, older than the
    id `after`.

    With `after` None, the page starts at the newest item.
    """

    account: str
    chat: str | None
    status: str | None
    after: str | None
    limit: int


def page(tx: Tx, sql: str, query: ListQuery) -> tuple[list[Row], bool]:
    """Return the rows of a page, and whether there are further rows."""
    found = tx.all(
        sql,
        account=query.account,
        chat=query.chat,
        status=query.status,
        after=query.after,
        limit=query.limit + 1,
    )
    return found[: query.limit], len(found) > query.limit
