"""One shape for the lists of an account's work (docs/api/runs.md "Lists"): newest first, a page at a time."""

from __future__ import annotations

from dataclasses import dataclass

from agentsvc_nb.service.ports import Row, Tx


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Which part of an account's work: of this chat, with this status, before the one with the id `after` (None: from
    the newest on), at most `limit`."""

    account: str
    chat: str | None
    status: str | None
    after: str | None
    limit: int


def page(tx: Tx, sql: str, query: ListQuery) -> tuple[list[Row], bool]:
    """Return the rows of a page, and whether there are more."""
    found = tx.all(
        sql,
        account=query.account,
        chat=query.chat,
        status=query.status,
        after=query.after,
        limit=query.limit + 1,
    )
    return found[: query.limit], len(found) > query.limit
