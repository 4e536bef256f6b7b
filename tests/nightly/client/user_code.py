"""Code as users write it: `test_typing` has mypy --strict read it as theirs.

It is never run. `assert_type` says what an editor knows of each answer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, assert_type

import pandas as pd
from pydantic import BaseModel

from agentsvc_nb import (
    AgentService,
    Answer,
    AsyncAgentService,
    AsyncEventStream,
    ChatBusyError,
    EventStream,
    Job,
    JobFailedError,
    JobTimeoutError,
    RateLimitError,
    Run,
    RunEvent,
    StefanBrainError,
    WorkspaceFile,
)
from agentsvc_nb.client.events import EventPage, OtherEvent, TextDelta
from agentsvc_nb.client.faces import AsyncPages, Pages
from agentsvc_nb.client.models import Listing
from agentsvc_nb.wire.files import StagedFile
from agentsvc_nb.wire.runs import CallApproval


class Offer(BaseModel):
    headline: str


def runs(client: AgentService) -> None:
    assert_type(client.ask("x", chat="new", on_busy="wait", timeout=300, file_ids=["upload_1"]), Answer)
    run = client.runs.start("x", files=["a.csv", Path("b.csv"), ("c.csv", b"c")], output_config=Offer)
    assert_type(run, Run[Offer])
    assert_type(run.data, Offer | None)
    assert_type(client.runs.start("x").data, dict[str, Any] | None)
    assert_type(client.runs.start("x", chat=run, extra_body={"model": "m"}), Run)
    assert_type(run.parse(Offer), Offer)
    assert_type(run.status, Literal["queued", "running", "cancelling", "completed", "failed", "cancelled"] | str)
    assert_type(client.runs.wait(run, timeout=60), Run[Offer])
    assert_type(client.runs.get(run, deadline=5.0, headers={"x-team": "blue"}), Run[Any])
    assert_type([run.message for run in client.runs.list(chat=run, status="failed")], list[str])
    assert_type(client.runs.cancel(run), Run[Any])
    assert_type(client.runs.approve(run.run_id, "call_1"), CallApproval)
    assert_type(client.runs.events(run.run_id, after=1, limit=10), EventPage)
    with client.runs.attach(run.run_id, after=3) as stream:
        assert_type(stream, EventStream)
        assert_type(stream.final_status(), Run)
    with client.runs.start_and_stream("x", output_config=Offer) as offered:
        assert_type(offered.final_status(), Run[Offer])
        assert_type(list(offered.text), list[str])


def follow(client: AgentService, run: Run, event: RunEvent) -> None:
    """The fields of a known type are known; a new type is open."""
    assert_type(event.payload, dict[str, Any])
    if event.type == "text.delta":
        assert_type(event.text, str)
    elif event.type == "approval.requested":
        assert_type(client.runs.approve(run, event), CallApproval)
    elif event.type == "progress":
        assert_type(event.total, float | None)
    elif event.type == "run.ended":
        assert_type(event.run, Run)
    if isinstance(event, TextDelta):
        assert_type(event.text, str)
    elif isinstance(event, OtherEvent):
        assert_type(event.call_id, Any)


def files(client: AgentService, table: pd.DataFrame) -> None:
    staged = client.files.upload(table, ("prices.csv", table), "a.csv", chat="chat_1", on_progress=print)
    assert_type(staged, Listing[StagedFile])
    walk = client.files.list("chat_1")
    assert_type(walk, Pages[WorkspaceFile])
    assert_type([file.path for file in walk], list[str])
    assert_type(client.files.download("a.csv", chat="chat_1", to="downloads/"), Path)
    assert_type([client.files.download(file) for file in client.files.list(client.ask("x"))], list[bytes])


def errors(client: AgentService) -> float | None:
    try:
        client.ask("x")
    except ChatBusyError as error:
        assert_type(error.active_run_id, str | None)
    except RateLimitError as error:
        assert_type(error.retry_after_seconds, float | None)
        return error.retry_after_seconds
    except JobFailedError as error:
        assert_type(error.job, Job)
    except JobTimeoutError as error:
        assert_type((error.job_id, error.chat), tuple[str | None, str | None])
    except StefanBrainError as error:
        assert_type((error.code, error.status, error.request_id), tuple[str | None, int | None, str | None])
        assert_type((error.hint, error.reset_at), tuple[str | None, str | None])
    return None


async def awaited(client: AsyncAgentService, table: pd.DataFrame) -> None:
    """Where the client for asyncio differs: streams, pages and answers by what is given."""
    assert_type(await client.ask("x"), Answer)
    assert_type(await client.map(table, "{{text}}", schema=Offer, max_cents=5), pd.DataFrame)
    run = await client.runs.start("x", output_config=Offer, on_busy="wait")
    assert_type(run, Run[Offer])
    assert_type(run.parse(Offer), Offer)
    assert_type(await client.runs.wait(run), Run[Offer])
    assert_type([run.message async for run in client.runs.list()], list[str])
    assert_type(client.runs.iterate_events(run.run_id), AsyncPages[RunEvent])
    async with client.runs.start_and_stream("x") as stream:
        assert_type(stream, AsyncEventStream)
        assert_type([piece async for piece in stream.text], list[str])
        assert_type([event.id async for event in stream], list[int])
        assert_type(await stream.final_status(), Run)
    assert_type(await client.runs.attach(run.run_id), AsyncEventStream)
    assert_type(await client.files.upload(table), Listing[StagedFile])
    assert_type(await client.files.download("a", chat="chat_1"), bytes)
    assert_type(await client.files.download("a", chat="chat_1", to="a"), Path)
