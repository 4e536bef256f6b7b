"""Rules of events, one by one (docs/api/events.md)."""

from __future__ import annotations

import re

import pytest

from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.routes import V1
from tests.service.api.conftest import Opened, Wire, code
from tests.service.api.service_fixture import ServiceFixture, stop
from tests.service.api.test_events import stream


def test_an_event_has_four_fields(wire: Wire) -> None:
    run = wire.finish("say a\nstep 1\nwrite a.txt x\nprogress 1 2 half")
    for event in wire.events(run["run_id"]):
        assert set(event) == {"id", "type", "created_at", "payload"}
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["created_at"])


def test_payloads_have_the_fields_of_their_type(wire: Wire) -> None:
    run = wire.finish('say a\nwrite a.txt x\nprogress 1 2 half\ncall echo_job {"steps": 0}\nrewind\nsay b')
    payloads = {event["type"]: set(event["payload"]) for event in wire.events(run["run_id"])}
    assert payloads == {
        "run.status": {"status"},
        "step.started": {"step"},
        "text.delta": {"text"},
        "file.written": {"id", "path", "file_name", "media_type", "size_bytes", "version", "previous_version"},
        "progress": {"done", "total", "message"},
        "tool.call": {"call_id", "tool", "input"},
        "job.submitted": {"job_id", "family", "tool", "chat"},
        "tool.result": {"call_id", "tool", "is_error", "content"},
        "run.resumed": {"attempt", "discard_after"},
        "run.ended": {"run"},
    }


def test_what_an_agent_says_is_its_output(offline_service: RunningService, opened: Opened) -> None:
    wire = opened(offline_service)
    run = wire.finish("Which files are there?")
    events = wire.events(run["run_id"])
    said = [event["payload"]["text"] for event in events if event["type"] == "text.delta"]
    assert "".join(said).strip() == run["output"].strip()
    assert stream(wire, run["run_id"]) == events


@pytest.mark.parametrize("accept", ["text/event-stream", "text/event-stream;q=0.9, */*", "TEXT/Event-Stream"])
def test_who_accepts_a_stream_gets_one(wire: Wire, accept: str) -> None:
    run = wire.finish("say a")
    answer = wire("GET", f"/runs/{run['run_id']}/events", headers={"Accept": accept})
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.startswith("retry: 1000\n\nid: 1\nevent: run.status\ndata: ")


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/*", ""])
def test_who_does_not_gets_a_page(wire: Wire, accept: str) -> None:
    run = wire.finish("say a")
    answer = wire("GET", f"/runs/{run['run_id']}/events", headers={"Accept": accept})
    assert answer.json()["object"] == "list"


def test_a_stream_with_nothing_left_closes_at_once(wire: Wire) -> None:
    run = wire.finish("say a")
    last = wire.events(run["run_id"])[-1]["id"]
    for cursor in (last, last + 1, 2**63 - 1):
        assert stream(wire, run["run_id"], headers={"Last-Event-ID": str(cursor)}) == []


def test_a_page_of_an_active_run_says_so(stage: ServiceFixture) -> None:
    run = stage.wire.start("wait 600")
    page = stage.wire("GET", f"/runs/{run['run_id']}/events", params={"after": 1_000}).json()
    assert (page["data"], page["next_after"], page["has_more"]) == ([], 1_000, False)
    assert page["status"] in ("queued", "running")
    stop(stage.wire, run)


def test_a_stream_of_a_run_that_is_not_there_is_the_envelope(wire: Wire) -> None:
    answer = wire.http.get(
        f"{V1}/runs/00000000-0000-0000-0000-000000000000/events", headers={"Accept": "text/event-stream"}
    )
    assert (answer.status_code, code(answer)) == (404, "run_not_found")
    assert answer.headers["content-type"] == "application/json"
