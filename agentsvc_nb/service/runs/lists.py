"""Lists of an account's runs and jobs (docs/api/runs.md "Lists")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats import chats
from agentsvc_nb.service.jobs import job_records
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.runs import list_records, runs
from agentsvc_nb.service.runs.list_records import Wanted
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.wire.runs import RunPage
from agentsvc_nb.wire.tools import JobPage

Entry = TypeVar("Entry")


async def of_runs(context: UseCaseContext, wanted: Wanted) -> RunPage:
    """Raises `invalid_chat`, `chat_not_found`, and of `after` `invalid_run_id`, `run_not_found`."""

    def use(tx: Tx) -> RunPage:
        after = runs.of_account(tx, wanted.account, wanted.after).run_id if wanted.after is not None else None
        found, more = _page(tx, list_records.of_runs, replace(wanted, after=after))
        return RunPage(data=found, next_after=found[-1].run_id if more else None)

    return await context.read(use)


async def of_jobs(context: UseCaseContext, wanted: Wanted) -> JobPage:
    """Raises `invalid_chat`, `chat_not_found`, and of `after` `job_not_found`."""

    def use(tx: Tx) -> JobPage:
        last = job_records.get(tx, wanted.after) if wanted.after is not None else None
        if wanted.after is not None and (last is None or last.account != wanted.account):
            raise ApiError("job_not_found")
        found, more = _page(tx, list_records.of_jobs, wanted)
        return JobPage(data=found, next_after=found[-1].job_id if more else None)

    return await context.read(use)


def _page(tx: Tx, read: Callable[[Tx, Wanted], list[Entry]], wanted: Wanted) -> tuple[list[Entry], bool]:
    """The wanted entries, and whether there are more."""
    if wanted.chat is not None:
        chats.of_account(tx, wanted.chat, wanted.account)
    found = read(tx, replace(wanted, limit=wanted.limit + 1))
    return found[: wanted.limit], len(found) > wanted.limit
