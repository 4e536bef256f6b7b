"""Payloads that are too large are shortened, and keep their shape."""

from __future__ import annotations

import asyncio
import json
from typing import Any, ClassVar, Final

import pytest
from hypothesis import strategies as st
from pydantic import BaseModel

from agentsvc_nb.client.events import parse_event
from agentsvc_nb.client.sse import EventDecoder
from agentsvc_nb.service import payloads
from agentsvc_nb.service.accounts import account_records
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.files import files
from agentsvc_nb.service.http.responses import frame
from agentsvc_nb.service.jobs import jobs
from agentsvc_nb.service.jobs.job_records import JobRecord
from agentsvc_nb.service.jobs.jobs import Submit
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.service.store.blobs import LocalBlobs
from agentsvc_nb.tools.port import BaseTool, Outcome, ToolContext, ToolInput
from agentsvc_nb.wire.limits import DELTA_CHARS, EVENT_PAYLOAD_BYTES, MESSAGE_CHARS, OUTPUT_BYTES, RESULT_BYTES
from agentsvc_nb.wire.runs import Event, Run
from tests.unit.service import contexts

WORST: Final = "\x01"
"""A character that takes six bytes in JSON."""
JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40) | st.just("x" * 2_000),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=10), inner, max_size=20),
    max_leaves=25,
)


@pytest.mark.parametrize(
    "hostile",
    [
        WORST * 10_000_000,
        [WORST * 1_000] * 10_000,
        {f"{number}{WORST * 300}": WORST * 300 for number in range(20_000)},
        json.loads("[" * 300 + "]" * 300),
    ],
    ids=["text", "texts", "names", "deep"],
)
def test_nothing_is_too_large_to_be_shortened(hostile: Any) -> None:
    kept = payloads.shortened({"call_id": "call_1", "tool": "t", "content": hostile}, payloads.SHORTENED_BYTES)
    assert payloads.fits(kept)
    assert (kept["call_id"], type(kept["content"])) == ("call_1", type(hostile))


def test_a_client_takes_what_a_service_writes() -> None:
    """The largest payload, and the largest piece of text, in a frame of the stream."""
    texts = payloads.pieces(WORST * (3 * DELTA_CHARS - 1))
    assert "".join(texts) == WORST * (3 * DELTA_CHARS - 1)
    for payload in ({"text": texts[0]}, {"text": "x" * (EVENT_PAYLOAD_BYTES - 20)}):
        assert payloads.fits(payload)
        event = Event(2**63 - 1, "text.delta", "2026-01-01T00:00:00.000Z", payload)
        stored = payloads.StoredEvent(event.id, event.type, event.created_at, json.dumps(payload, ensure_ascii=False))
        (found,) = EventDecoder().feed(frame(stored).encode())
        assert parse_event(json.loads(found.data)) == event


@pytest.mark.parametrize("character", [WORST, "\U0001f600"])
def test_an_end_is_a_record_still(character: str) -> None:
    output = character * (OUTPUT_BYTES // 6)
    run = Run(run_id="r", status="completed", output=output, structured_output={"a": output}, last_error_message="m")
    payload = payloads.ended(run.model_dump())
    assert payloads.fits(payload)
    assert payload["truncated"] is True
    read = Run.model_validate(payload["run"])
    assert read.output is not None
    assert output.startswith(read.output.removesuffix(payloads.CUT))
    assert (read.structured_output, read.status, read.last_error_message) == (None, "completed", "m")
    assert payloads.ended({"run_id": "r"}) == {"run": {"run_id": "r"}}


class Talkative(BaseTool):
    """A tool that answers as much as the test wants."""

    name: ClassVar[str] = "talkative"
    description: ClassVar[str] = "Answers."
    family: ClassVar[str] = "talkative"
    asynchronous: ClassVar[bool] = True
    Input: ClassVar[type[BaseModel]] = ToolInput

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome

    async def run(self, given: Any, context: ToolContext) -> Outcome:
        await context.progress(1, 2, "m" * 1_000_000)
        return self.outcome


def test_a_jobs_result_is_bounded_and_all_of_it_is_in_a_file(storage: Storage) -> None:
    content = [{"type": "text", "text": "ä" * 5_000_000}, {"type": "image", "path": "a.png", "media_type": "image/png"}]
    outcome = Outcome(content=content, data={"rows": ["x" * 100] * 50_000}, inline=False)

    async def work() -> JobRecord | None:
        run = await contexts.started(storage, "hello")
        key = await storage.use_case.read(lambda tx: account_records.get_key(tx, run.account, run.key_id))
        assert key is not None
        given = Submit("talkative", "talkative", {}, ChatSelector(chat=run.chat), contexts.NOW)
        submitted = await jobs.submit(storage.use_case, key, given)
        _, worker = contexts.workers(storage, Talkative(outcome))
        worker.wake(submitted.job_id)
        await worker.supervisor.ended(submitted.job_id)
        return await jobs.find(storage.use_case, submitted.job_id)

    job = asyncio.run(work())
    assert job is not None
    assert (job.status, job.data, job.files) == ("succeeded", None, [])
    assert payloads.size(job.content) <= RESULT_BYTES
    assert job.content[1] == content[1]
    (kept,) = asyncio.run(files.list_all(storage.use_case, job.chat))
    assert kept.path in job.content[-1]["text"]
    assert isinstance(storage.blobs, LocalBlobs)
    whole = json.loads(storage.blobs.path(kept.sha256).read_bytes())
    assert whole == {"content": content, "data": outcome.data}
    assert len(job.progress["message"]) == MESSAGE_CHARS


def test_a_stored_payload_is_json_for_everybody() -> None:
    """A model's tool call with `1e999` made the page of its run's events unreadable."""
    payload = {"input": json.loads('{"x": [1e999, -1e999, NaN, 1.5], "says": "Infinity"}')}
    event = payloads.StoredEvent(1, "tool.call", "2026-01-01T00:00:00.000Z", payloads.encode(payload))

    def refuse(name: str) -> None:
        raise AssertionError(name)

    found = json.loads(event.json(), parse_constant=refuse)
    assert found["payload"] == {"input": {"x": [None, None, None, 1.5], "says": "Infinity"}}
