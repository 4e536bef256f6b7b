"""Every error says which request it is about: id, method, real path, attempts; and its status in its text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from agentsvc_nb.client.errors import (
    APIConnectionError,
    JobFailedError,
    JobTimeoutError,
    StefanBrainError,
    ToolResultError,
)
from agentsvc_nb.wire.files import WorkspaceFile
from tests.client.conftest import RUN_ID, Network, answer, failure, run
from tests.client.cutting import events, frames

Networks = Callable[..., Network]
V1 = "/api/developers/v1"
SSE = {"content-type": "text/event-stream", "x-request-id": "req_9"}


def raised(call: Callable[[], Any], kind: type[StefanBrainError] = StefanBrainError) -> StefanBrainError:
    with pytest.raises(kind) as caught:
        call()
    return caught.value


def facts(error: StefanBrainError) -> tuple[Any, ...]:
    return error.request_id, error.method, error.path, error.attempts


def broken(begun: bytes) -> Iterator[bytes]:
    yield begun
    raise httpx.ReadError("reset")


def test_an_answer_with_an_error(network: Networks) -> None:
    error = raised(lambda: network(failure("run_not_found", 404, x_request_id="req_9")).client.runs.get(RUN_ID))
    assert facts(error) == ("req_9", "GET", f"{V1}/runs/{RUN_ID}", 1)
    assert str(error).startswith("No. (404 run_not_found, request req_9)")


def test_a_status_stands_once_in_the_text(network: Networks) -> None:
    error = raised(lambda: network(answer(418)).client.runs.get(RUN_ID))
    assert re.findall("418", str(error)) == ["418"]


def test_a_field_that_cannot_be_read_is_named_with_the_real_path(network: Networks) -> None:
    net = network(answer(503), answer(200, {"run_id": 5}, x_request_id="req_9"))
    error = raised(lambda: net.client.runs.get(RUN_ID))
    assert facts(error) == ("req_9", "GET", f"{V1}/runs/{RUN_ID}", 2)
    assert f"http://service.test{V1}/runs/{RUN_ID} answered a field" in error.message


def test_a_tool_and_a_job_that_failed_after_a_repeat(network: Networks) -> None:
    result = {"tool": "t", "is_error": True, "error": {"code": "c", "message": "No."}}
    net = network(answer(503), answer(200, result, x_request_id="req_9"))
    error = raised(lambda: net.client.tools.invoke("t", {}, idempotency_key="k"), ToolResultError)
    assert facts(error) == ("req_9", "POST", f"{V1}/tools/t/invoke", 2)
    net = network(answer(503), answer(200, {"job_id": "j", "status": "failed"}, x_request_id="req_9"))
    error = raised(lambda: net.client.jobs.wait("j", chat="c"), JobFailedError)
    assert facts(error) == ("req_9", "GET", f"{V1}/jobs/j", 2)


def test_a_wait_that_took_too_long(network: Networks) -> None:
    net = network(answer(200, {"job_id": "j", "chat": "c", "status": "running"}, x_request_id="req_9"))
    error = raised(lambda: net.client.jobs.wait("j", chat="c", timeout=0), JobTimeoutError)
    assert facts(error) == ("req_9", "GET", f"{V1}/jobs/j", 1)
    assert error.status is None


@pytest.mark.parametrize("cut", [5, None])
def test_a_stream_that_broke(network: Networks, cut: int | None) -> None:
    """In the middle of its events, or before the first: what is raised last is the connection's."""
    begun = frames(events(3))[:cut]
    net = network(answer(200, run()), httpx.Response(200, content=broken(begun[:200]), headers=SSE))
    stream = net.client.runs.attach(RUN_ID, max_retries=0)
    error = raised(lambda: [*stream], APIConnectionError)
    assert facts(error) == ("req_9", "GET", f"{V1}/runs/{RUN_ID}/events", 1)


@pytest.mark.parametrize("wrong", [b"id: 1\ndata: {\n\n", b"id: 1\ndata: [1]\n\n"])
def test_an_event_that_cannot_be_read(network: Networks, wrong: bytes) -> None:
    net = network(answer(200, run()), httpx.Response(200, content=iter([wrong]), headers=SSE))
    error = raised(lambda: next(net.client.runs.attach(RUN_ID)))
    assert (*facts(error)[:3], error.status) == ("req_9", "GET", f"{V1}/runs/{RUN_ID}/events", 200)


def test_a_last_record_that_cannot_be_read(network: Networks) -> None:
    end = {"id": 1, "type": "run.ended", "payload": {"run": {"run_id": 5}}}
    frame = b"id: 1\ndata: " + json.dumps(end).encode() + b"\n\n"
    net = network(answer(200, run()), httpx.Response(200, content=iter([frame]), headers=SSE))
    error = raised(lambda: next(net.client.runs.attach(RUN_ID)))
    assert facts(error) == ("req_9", "GET", f"{V1}/runs/{RUN_ID}/events", 1)


def test_no_stream_at_all(network: Networks) -> None:
    net = network(answer(200, run()), answer(200, {}, x_request_id="req_9"))
    error = raised(lambda: next(net.client.runs.attach(RUN_ID)))
    assert facts(error)[:3] == ("req_9", "GET", f"{V1}/runs/{RUN_ID}/events")


def test_a_download_that_broke_or_is_another(network: Networks) -> None:
    answers = httpx.Response(200, content=broken(b"x"), headers={"x-request-id": "req_9"})
    error = raised(lambda: network(answers).client.files.download("a", chat="c", max_retries=0))
    assert facts(error) == ("req_9", "GET", f"{V1}/files/download", 1)
    other = httpx.Response(200, content=iter([b"x"]), headers={"x-request-id": "req_9"})
    file = WorkspaceFile(id="0" * 64, path="a")
    error = raised(lambda: network(other).client.files.download(file, chat="c", max_retries=0))
    assert facts(error) == ("req_9", "GET", f"{V1}/files/download", 1)
    assert "SHA-256" in str(error)


def test_what_was_refused_here_names_the_request_that_was_not_sent(network: Networks) -> None:
    error = raised(lambda: network().client.tools.invoke("t", {"a": {1}}))
    assert facts(error) == (None, "POST", f"{V1}/tools/t/invoke", 1)
