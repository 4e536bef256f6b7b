"""A deadline ends a call whatever the service does: says nothing, or goes on to say something that ends nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentsvc_nb import APIConnectionError, JobTimeoutError, StefanBrainError
from tests.unit.client.conftest import RUN_ID, run
from tests.unit.client.cutting import events, frames
from tests.unit.independent.faces import FACES
from tests.unit.independent.mock import Fault, Mock, Reply, Seen, Wire, answer

DEADLINE_SECONDS = 0.3
STALL_SECONDS = 5.0
"""The service gives up after this time, and a call that missed its deadline fails otherwise."""
JOB = {"job_id": "job_1", "chat": "chat_1", "status": "succeeded"}
ACCEPTED = {"type": "tool_job", "family": "echo", "job_id": "job_1", "chat": "chat_1"}


def drip(wire: Wire, piece: bytes) -> None:
    ends = time.monotonic() + STALL_SECONDS
    while time.monotonic() < ends:
        wire.rest(0.05)
        wire.send(piece)


def silence(wire: Wire, seen: Seen, good: Reply) -> None:
    wire.rest(STALL_SECONDS)


def endless_head(wire: Wire, seen: Seen, good: Reply) -> None:
    wire.send(b"HTTP/1.1 200 OK\r\nX-A: b")
    drip(wire, b"b")


def endless_body(wire: Wire, seen: Seen, good: Reply) -> None:
    streams = "event-stream" in (seen.header("accept") or "")
    kind = "text/event-stream" if streams else "application/json"
    wire.send(Reply(200, b"", {"Content-Type": kind}).head() + (frames(events(2)[:1]) if streams else b'{"run_id":'))
    drip(wire, b": ping\n\n" if streams else b" ")


STALLS = {"silence": silence, "an endless head": endless_head, "an endless body": endless_body}


def stalling(where: str, how: str) -> Mock:
    """Make a service that answers well, but stalls at requests with `where` in their first line."""

    def answers(seen: Seen) -> Reply | Fault:
        first = f"{seen.method} {seen.path}"
        if where in first:
            return Fault(how, STALLS[how])
        if seen.method == "POST" and ("/jobs" in first or "/invoke" in first):
            return answer(ACCEPTED, 202)
        return answer(JOB if "/jobs/" in first else run("running"))

    return Mock(answers)


Operation = Callable[[Any, float], Any]
CASES: dict[str, tuple[str, Operation, type[StefanBrainError]]] = {
    "a read": ("/runs/", lambda c, most: c.runs.get(RUN_ID, deadline=most), APIConnectionError),
    "a download": ("/files", lambda c, most: c.files.download("a", chat="c", deadline=most), APIConnectionError),
    "a stream": ("/events", lambda c, most: c.runs.attach(RUN_ID, deadline=most), JobTimeoutError),
    "start_and_stream": ("/events", lambda c, most: c.runs.start_and_stream("x", timeout=most), JobTimeoutError),
    "its start": ("POST", lambda c, most: c.runs.start_and_stream("x", timeout=most), JobTimeoutError),
    "runs.wait, its look": ("/runs/", lambda c, most: c.runs.wait(RUN_ID, timeout=most), JobTimeoutError),
    "runs.wait": ("/events", lambda c, most: c.runs.wait(RUN_ID, timeout=most), JobTimeoutError),
    "ask": ("/invoke", lambda c, most: c.ask("x", timeout=most), JobTimeoutError),
    "ask, its job": ("/jobs/", lambda c, most: c.ask("x", timeout=most), JobTimeoutError),
    "ask, its result": ("/result", lambda c, most: c.ask("x", timeout=most), JobTimeoutError),
    "jobs.wait": ("/jobs/", lambda c, most: c.jobs.wait("job_1", chat="c", timeout=most), JobTimeoutError),
    "jobs.submit_and_wait": (
        "/result", lambda c, most: c.jobs.submit_and_wait("echo", {}, timeout=most), JobTimeoutError
    ),
}  # fmt: skip


def failing(mock: Mock, face: str, call: Callable[[Any], Any], kind: type[StefanBrainError], **options: Any) -> None:
    """Make a call that must fail at its deadline."""
    began = time.monotonic()
    with pytest.raises(kind) as caught:
        FACES[face](mock.origin, call, **options)
    assert time.monotonic() - began < STALL_SECONDS - 1
    error: Any = caught.value
    assert error.late or kind is JobTimeoutError
    assert getattr(error, "job_id", None) in (None, "job_1", RUN_ID)


@pytest.mark.parametrize("face", ["blocking", "async"])
@pytest.mark.parametrize("how", STALLS)
@pytest.mark.parametrize("case", CASES)
def test_it_ends_a_call_to_a_service_that_stalls(face: str, case: str, how: str) -> None:
    where, operation, kind = CASES[case]
    with stalling(where, how) as mock:
        failing(mock, face, lambda client: operation(client, DEADLINE_SECONDS), kind)


@pytest.mark.parametrize("face", ["blocking", "async"])
@pytest.mark.parametrize("given", ["bytes", "path"])
def test_it_ends_an_upload_that_nobody_takes(face: str, given: str, tmp_path: Path) -> None:
    content = bytes(30_000_000)
    (tmp_path / "a.bin").write_bytes(content)
    file = content if given == "bytes" else tmp_path / "a.bin"
    with Mock(lambda seen: answer({}), [Fault("unread", silence_at_the_head, early=True)]) as mock:
        call = lambda client: client.files.upload(("a", file), deadline=DEADLINE_SECONDS)  # noqa: E731
        failing(mock, face, call, APIConnectionError)
        assert len(mock.seen) == 1


def silence_at_the_head(wire: Wire, seen: Seen, good: Reply) -> None:
    """Take no more of a request than the connection holds."""
    wire.mock.stopping.wait(STALL_SECONDS)


@pytest.mark.parametrize("face", ["blocking", "async"])
@pytest.mark.parametrize("how", ["silence", "an endless body"])
def test_a_client_of_ones_own_keeps_it_too(face: str, how: str) -> None:
    with stalling("/events", how) as mock:
        given: Any = httpx.Client() if face == "blocking" else httpx.AsyncClient()

        def wait(client: Any) -> Any:
            return client.runs.wait(RUN_ID, timeout=DEADLINE_SECONDS)

        async def wait_and_close(client: Any) -> None:
            try:
                await wait(client)
            finally:
                await given.aclose()

        with pytest.raises(JobTimeoutError):
            FACES[face](mock.origin, wait if face == "blocking" else wait_and_close, http_client=given)
        if face == "blocking":
            given.close()
