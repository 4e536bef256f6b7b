"""Code as users write it, with every operation of the client: `test_typing` has mypy --strict read it as theirs.

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
    ClientTool,
    Event,
    EventStream,
    Job,
    JobAccepted,
    JobFailedError,
    JobTimeoutError,
    MapStopped,
    RateLimitError,
    Run,
    RunEvent,
    StefanBrainError,
    ToolResult,
    WorkspaceFile,
)
from agentsvc_nb.client.events import EventPage, OtherEvent, TextDelta
from agentsvc_nb.client.faces import AsyncPages, Pages
from agentsvc_nb.client.history import History
from agentsvc_nb.client.models import FileSearch, Listing
from agentsvc_nb.wire.files import Project, RetiredChat, StagedFile
from agentsvc_nb.wire.resources import AdMedia, FeedbackReceipt, FeedbackReport, Label, LandingPage, Transcript
from agentsvc_nb.wire.runs import CallApproval, ModelInfo, SentCall
from agentsvc_nb.wire.tools import ToolDescription


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
    assert_type(client.runs.sent(run), Listing[SentCall])
    assert_type([run.message for run in client.runs.list(chat=run, status="failed")], list[str])
    assert_type(client.runs.cancel(run), Run[Any])
    assert_type(client.runs.approve(run.run_id, "call_1"), CallApproval)
    assert_type(client.runs.refuse(run.run_id, "call_1", reason="Not yet."), CallApproval)
    assert_type(client.runs.events(run.run_id, after=1, limit=10), EventPage)
    assert_type(client.runs.iterate_events(run.run_id), Pages[RunEvent])
    assert_type(client.runs.tables(run), list[pd.DataFrame])
    with client.runs.attach(run.run_id, after=3) as stream:
        assert_type(stream, EventStream)
        assert_type(stream.final_status(), Run)
    with client.runs.start_and_stream("x", output_config=Offer) as offered:
        assert_type(offered.final_status(), Run[Offer])
        assert_type(list(offered.text), list[str])


def follow(client: AgentService, run: Run, event: RunEvent, base: Event) -> None:
    """The fields of a known type are known; a new type is open."""
    assert_type(event.payload, dict[str, Any])
    assert_type(base.model_extra, dict[str, Any])
    if event.type == "text.delta":
        assert_type(event.text, str)
    elif event.type == "client_call.waiting":
        assert_type(event.expires_at, str)
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


def rows(client: AgentService, table: pd.DataFrame) -> None:
    """One question over all rows."""
    try:
        assert_type(
            client.map(table, "{{text}}", project=client.projects.create("x"), timeout=None),
            pd.DataFrame,
        )
    except MapStopped as stopped:
        assert_type(stopped.partial, object)


def files(client: AgentService, table: pd.DataFrame) -> None:
    staged = client.files.upload(table, ("prices.csv", table), "a.csv", chat="chat_1", on_progress=print)
    assert_type(staged, Listing[StagedFile])
    walk = client.files.list("chat_1")
    assert_type(walk, Pages[WorkspaceFile])
    assert_type([file.path for file in walk], list[str])
    assert_type(client.files.search("x", chat="chat_1"), FileSearch)
    assert_type(client.files.download("a.csv", chat="chat_1", to="downloads/"), Path)
    assert_type([client.files.download(file) for file in client.files.list(client.ask("x"))], list[bytes])
    assert_type(client.files.head("a.csv", 1000, chat="chat_1"), bytes)
    assert_type(client.files.rename("a.csv", "Prices", chat="chat_1"), WorkspaceFile)
    assert_type(client.files.versions("a.csv", chat="chat_1"), Listing[WorkspaceFile])
    assert_type(client.files.restore("a.csv", 1, chat="chat_1"), WorkspaceFile)


def jobs_and_tools(client: AgentService) -> None:
    accepted = client.jobs.submit("create_images", {"request": {}}, idempotency_key="k")
    assert_type(accepted, JobAccepted)
    assert_type([job.job_id for job in client.jobs.list(chat=accepted.chat, status="running")], list[str])
    assert_type(client.jobs.status(accepted.job_id, chat=accepted.chat), Job)
    assert_type(client.jobs.wait(accepted, poll=1, on_progress=print), Job)
    assert_type(client.jobs.result(accepted.job_id, session="s"), Job)
    assert_type(client.jobs.cancel(accepted.job_id, project="proj_1"), Job)
    job = client.jobs.submit_and_wait("create_images", {}, deadline=600)
    assert_type(client.jobs.download_artifacts(job, to=Path("pictures")), list[Path])
    assert_type(client.tools.list(), Listing[ToolDescription])
    assert_type(client.tools.describe("create_images"), ToolDescription)
    called = client.tools.invoke("create_images", {})
    assert_type(called, ToolResult | JobAccepted)
    if isinstance(called, ToolResult):
        assert_type(called.data, dict[str, Any] | None)


def the_rest(client: AgentService) -> None:
    receipt = client.feedback.send("x", category="idea", impact="minor")
    assert_type(receipt, FeedbackReceipt)
    assert_type(client.feedback.from_last_error("x"), FeedbackReceipt)
    assert_type(client.feedback.list(status="open", limit=5), Listing[FeedbackReport])
    assert_type(client.feedback.get(receipt.id), FeedbackReport)
    assert_type(client.media.get("media_1"), AdMedia)
    assert_type(client.media.transcribe("media_1"), Transcript | JobAccepted)
    assert_type(client.labels.list(), Listing[Label])
    page = client.labels.get("page_1")
    assert_type(client.labels.write(page.id, {**page.labels, "tone": "playful"}, page.version), LandingPage)
    assert_type(client.projects.create("Autumn"), Project)
    assert_type(client.projects.update("proj_1", instructions="x"), Project)
    assert_type(client.projects.list(), Listing[Project])
    assert_type(client.models.list(), Listing[ModelInfo])
    assert_type(client.runs.resume("run_1"), Run[Any])
    client.runs.start("x", model=client.models.list()[0], effort="low", max_steps=3, max_cents=0.5)
    assert_type(client.runs.start("x", client_tools=[len, ClientTool(len, effect=False)]).client_tools, list[str])
    assert_type(client.chats.retire("chat_1"), RetiredChat)
    assert_type(client.history, History)
    assert_type(client.history[-1].to_curl(), str)


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
        assert_type((error.method, error.path, error.attempts), tuple[str, str, int])
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
