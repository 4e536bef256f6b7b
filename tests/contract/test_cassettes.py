"""A real service recorded, then played back without it: users test their notebooks offline."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.testing import NotRecorded, Record, Replay, RunningService
from tests.contract.cuts import Cuts
from tests.contract.faces import Face, async_face, sync_face

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    return tmp_path / "nb.jsonl"


@pytest.fixture(params=[sync_face, async_face], ids=["sync", "async"])
def offline(request: pytest.FixtureRequest) -> Face:
    made: Face = request.param("any-key", NOWHERE)
    return made


def notebook(client: AgentService) -> list[Any]:
    """What a user's notebook does: attach, stream, wait, read a file, search, fail."""
    seen: list[Any] = []
    with client.runs.start_and_stream(
        "say hällo\nwrite out/plan.md # Plan\nanswer done", files=[("a.bin", bytes(range(256)))]
    ) as stream:
        seen += [(event.id, event.type, event.payload) for event in stream]
        run = stream.final_status()
    chat = run.chat or ""
    seen += [run.output, [file.path for file in client.files.list(chat)]]
    seen.append(client.files.download("uploads/a.bin", chat=chat))
    seen.append([found.path for found in client.files.search("plan", chat=chat).results])
    try:
        client.runs.get("not-a-run")
    except StefanBrainError as error:
        seen.append((error.code, error.status, error.hint))
    return seen


def test_what_was_recorded_plays_back_the_same(service: RunningService, tape: Path) -> None:
    with AgentService(service.api_key, service.base_url, transport=Record(tape)) as client:
        recorded = notebook(client)
    with AgentService("any-key", NOWHERE, transport=Replay(tape)) as client:
        assert notebook(client) == recorded
    assert recorded[-1][0] == "invalid_run_id"


async def _ask(client: Any) -> str:
    async with await client.runs.start_and_stream("say one\nsay two\nanswer three") as stream:
        return (await stream.final_status()).output or ""


def test_both_clients_record_and_play(face: Face, tape: Path) -> None:
    """What one client records, either plays back."""
    tools = face(lambda client: client.tools.list(), Record(tape))
    for play in (sync_face("any", NOWHERE), async_face("any", NOWHERE)):
        assert play(lambda client: client.tools.list(), Replay(tape)) == tools


def test_the_async_client_records_streams(service: RunningService, tape: Path) -> None:
    assert async_face(service.api_key, service.base_url)(_ask, Record(tape)) == "three"
    assert async_face("any", NOWHERE)(_ask, Replay(tape)) == "three"


def test_the_cassette_holds_no_secret_and_nothing_that_varies(service: RunningService, tape: Path) -> None:
    with AgentService(service.api_key, service.base_url, transport=Record(tape)) as client:
        client.runs.start(f"answer {service.api_key}", sync=True)
    text = tape.read_text()
    assert service.api_key not in text
    assert "answer REDACTED" in text
    assert not any(word in text.lower() for word in ("x-request-id", "authorization", "cookie", "bearer"))
    [exchange] = map(json.loads, text.splitlines())
    assert exchange["asked"]["path"] == "/api/developers/v1/runs"


def test_what_is_not_on_it_names_the_nearest(face: Face, offline: Face, tape: Path) -> None:
    face(lambda client: client.runs.start("say hello", sync=True), Record(tape))
    with pytest.raises(NotRecorded) as caught:
        offline(lambda client: client.runs.start("say hallo", sync=True), Replay(tape))
    first, second = str(caught.value).splitlines()
    assert first.startswith("nb.jsonl has no answer to POST /api/developers/v1/runs {")
    assert '"message": "say hallo"' in first
    assert second.startswith("The nearest request is POST /api/developers/v1/runs {")
    assert '"message": "say hello"' in second


def test_a_start_is_played_as_often_as_it_was_recorded_and_a_read_for_ever(
    face: Face, offline: Face, tape: Path
) -> None:
    record = Record(tape)
    chat = face(lambda client: client.runs.start("say hello", sync=True), record).chat
    face(lambda client: client.runs.start("say hello", sync=True, chat=chat), record)
    face(lambda client: client.tools.describe("create_images"), record)
    replay = Replay(tape)
    for _ in range(3):
        offline(lambda client: client.tools.describe("create_images"), replay)
    offline(lambda client: client.runs.start("say hello", sync=True), replay)
    with pytest.raises(NotRecorded, match="has no more answers to POST"):
        offline(lambda client: client.runs.start("say hello", sync=True), replay)


def test_a_connection_that_broke_breaks_again(service: RunningService, tape: Path, tmp_path: Path) -> None:
    """A download that went on after a cut is recorded as two answers, and played as two."""
    content = os.urandom(200_000)
    with AgentService(service.api_key, service.base_url) as client:
        chat = client.runs.start("say hello", sync=True).chat or ""
        client.files.upload(("a.bin", content), chat=chat)
    with AgentService(service.api_key, service.base_url, transport=Record(tape, Cuts([70_000]))) as client:
        assert client.files.download("uploads/a.bin", chat=chat) == content
    assert [json.loads(line)["broken"] for line in tape.read_text().splitlines()] == [True, False]
    with AgentService("any", NOWHERE, transport=Replay(tape)) as client:
        assert client.files.download("uploads/a.bin", chat=chat) == content


def test_an_empty_cassette(offline: Face, tape: Path) -> None:
    tape.write_text("")
    with pytest.raises(NotRecorded, match="The cassette is empty"):
        offline(lambda client: client.tools.list(), Replay(tape))
