"""Followers of a run that have the same cursor share one read, also where reads take a while, as in PostgreSQL."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from agentsvc_nb.service.accounts import accounts
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.http.responses import Streams
from agentsvc_nb.service.runs import attempts, runs
from agentsvc_nb.service.runs.runs import Start
from agentsvc_nb.service.store.postgres import PostgresDatabase
from agentsvc_nb.service.use_cases import UseCaseContext
from tests.support import databases
from tests.unit.service import contexts

NOW = 1_700_000_000_000
FOLLOWERS = 50


@pytest.fixture
def context() -> Iterator[UseCaseContext]:
    with contextlib.closing(PostgresDatabase(databases.server().new_database()).open()) as database:
        yield contexts.use_case(database, NOW)


def test_of_many_followers_that_one_event_wakes_one_reads(
    context: UseCaseContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = 0
    events: Callable[..., Awaitable[Any]] = runs.events

    async def counted(*given: Any) -> Any:
        nonlocal reads
        reads += 1
        return await events(*given)

    async def work() -> None:
        nonlocal reads
        key, _ = await context.write(lambda tx: accounts.create_key(tx, context.clock, name="caller"))
        run = await runs.start(context, key, Start("hello", ChatSelector(), "scripted", NOW))
        await attempts.claim(context, run.run_id)
        streams = Streams(context)
        followers = [streams.response(run.run_id, 0).body_iterator for _ in range(FOLLOWERS)]
        for _ in range(2):  # how long to wait before another attempt, and what is there
            await asyncio.gather(*(anext(follower) for follower in followers))
        reads = 0
        waiting = [asyncio.ensure_future(anext(follower)) for follower in followers]
        await asyncio.sleep(0)
        await attempts.append(context, run.run_id, 1, [("progress", {"done": 1})])
        found = await asyncio.gather(*waiting)
        assert len({*found}) == 1
        assert b"progress" in found[0]
        assert reads <= 2
        for follower in followers:
            await follower.aclose()

    monkeypatch.setattr(runs, "events", counted)
    asyncio.run(work())
