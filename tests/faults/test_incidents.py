"""What went wrong in other services, tried on ours. The whole list is in docs/spec-map.md, "Incidents of others"."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.service.accounts import accounts
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.http import responses
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.runs import attempts, event_records, run_records
from agentsvc_nb.service.runs import runs as run_usecases
from agentsvc_nb.service.runs.runs import Start
from agentsvc_nb.service.use_cases import UseCaseContext
from tests.faults.engines import WrappedDatabase
from tests.support import databases
from tests.support.waiting import until
from tests.unit.service.contexts import use_case

T = TypeVar("T")


class InterruptedDatabase(WrappedDatabase):
    """Calls `meanwhile` once, when a read has its answer and its reader does not have it yet."""

    meanwhile: Callable[[], None] | None = None

    async def read_soon(self, use: Callable[[Tx], T], *, single: bool = False) -> T:
        found = await super().read_soon(use, single=single)
        if meanwhile := self.meanwhile:
            self.meanwhile = None
            meanwhile()
        return found


@pytest.fixture
def context(tmp_path: Path) -> Iterator[UseCaseContext]:
    database = InterruptedDatabase(databases.folder(tmp_path))
    database.open()
    yield use_case(database)
    database.close()


def begun(context: UseCaseContext) -> run_records.RunRecord:
    """A run at work, with two events."""

    async def begin() -> run_records.RunRecord | None:
        key, _ = await context.write(lambda tx: accounts.create_key(tx, context.clock, name="incident"))
        run = await run_usecases.start(context, key, Start("hello", ChatSelector(), "scripted", context.now))
        return await attempts.claim(context, run.run_id)

    claimed = asyncio.run(begin())
    assert claimed is not None
    return claimed


async def frames(context: UseCaseContext, run_id: str, count: int) -> list[bytes]:
    """The first so many things that a stream sends."""
    sent = []
    async for part in responses.Streams(context).response(run_id, 0).body_iterator:
        sent.append(part)
        if len(sent) == count:
            break
    return sent


def test_an_event_between_the_snapshot_and_the_wait_is_sent_at_once(context: UseCaseContext) -> None:
    """langgraphjs-api 65: subscribed after the snapshot, what came between was lost."""
    run = begun(context)
    database = context.database
    assert isinstance(database, InterruptedDatabase)

    def append(tx: Tx) -> int | None:
        return event_records.append(tx, run.run_id, run.attempt, "progress", {"done": 1}, 0)

    def write() -> None:  # as a worker would, while the reader is held up
        worker = threading.Thread(target=lambda: database.write_now(append))
        worker.start()
        worker.join()
        context.signals.notify(run.run_id)

    database.meanwhile = write
    retry, first, second = asyncio.run(frames(context, run.run_id, 3))
    assert (retry, first.count(b"\nid: ") + first.startswith(b"id: ")) == (b"retry: 1000\n\n", 2)
    assert second.startswith(b"id: 3\nevent: progress\n"), "a ping would have come first, had it been missed"


def test_a_ping_carries_no_id(context: UseCaseContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """aiq 272: heartbeats with ids of their own; a resumed stream skipped real events."""
    monkeypatch.setattr(responses, "STREAM_PING_SECONDS", 0.01)
    run = begun(context)
    *_, first_ping, second_ping = asyncio.run(frames(context, run.run_id, 4))
    assert first_ping == second_ping == b": ping\n\n"


def test_a_chat_goes_on_after_a_cancel_within_a_tool(client: AgentService) -> None:
    """pydantic-ai 7977: what was cancelled within a tool could not be continued."""
    run = client.runs.start('call echo_job {"steps": 600, "seconds": 60}\nsay never')
    until(lambda: any(event.type == "progress" for event in client.runs.events(run.run_id).data))
    client.runs.cancel(run.run_id)
    assert client.runs.wait(run.run_id, poll=0.05).status == "cancelled"
    again = client.runs.start("say goes on", chat=run.chat)
    assert client.runs.wait(again.run_id, poll=0.05).output == "goes on"
