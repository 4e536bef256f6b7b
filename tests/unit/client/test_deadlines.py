"""A deadline ends a call whatever the service does: says nothing, or goes on to say something that ends nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import APIConnectionError, JobTimeoutError
from tests.unit.client.conftest import FACES, RUN_ID, run
from tests.unit.client.cutting import Exchange, Server, events, frames

SECONDS = 0.1
"""Of real time: only a real socket shows what a silent peer does to a wait."""
JOB = {"type": "tool_job", "family": "echo", "job_id": "job_1", "chat": "chat_1", "status": "succeeded"}


def silence(exchange: Exchange) -> None:
    exchange.stall()


def endless_head(exchange: Exchange) -> None:
    exchange.wfile.write(b"HTTP/1.1 200 OK\r\nX-A: b")
    exchange.stall(b"b")


def endless_body(exchange: Exchange) -> None:
    streams = "event-stream" in exchange.headers.get("accept", "")
    exchange.begin("text/event-stream" if streams else "application/json")
    exchange.wfile.write(frames(events(2)[:1]) if streams else b'{"run_id":')
    exchange.stall(b": ping\n\n" if streams else b" ")


def stalling(where: str, how: Callable[[Exchange], None]) -> Server:
    """Make a service that answers well, but stalls at requests with `where` in their first line."""

    def answers(exchange: Exchange) -> None:
        if where in f"{exchange.command} {exchange.path}":
            how(exchange)
        else:
            exchange.json(JOB if "/jobs" in exchange.path or "/invoke" in exchange.path else run("running"))

    return Server(answers)


Operation = Callable[[Any, float], Any]
READ: Operation = lambda c, most: c.runs.get(RUN_ID, deadline=most)  # noqa: E731
FOLLOW: Operation = lambda c, most: c.runs.attach(RUN_ID, deadline=most)  # noqa: E731
WAIT: Operation = lambda c, most: c.runs.wait(RUN_ID, timeout=most)  # noqa: E731
CASES: list[tuple[str, Callable[[Exchange], None], Operation]] = [
    ("/runs/", silence, READ),
    ("/runs/", endless_head, READ),
    ("/runs/", endless_body, READ),
    ("/events", silence, FOLLOW),
    ("/events", endless_body, FOLLOW),
    ("/files", endless_body, lambda c, most: c.files.download("a", chat="c", deadline=most)),
    ("/events", endless_body, WAIT),
]
BLOCKING: list[tuple[str, Callable[[Exchange], None], Operation]] = [
    ("POST", silence, lambda c, most: c.runs.start_and_stream("x", timeout=most)),
    ("/invoke", silence, lambda c, most: c.ask("x", timeout=most)),
]


@pytest.mark.parametrize(
    ("face", "where", "how", "operation"),
    [*((face, *case) for face in FACES for case in CASES), *(("blocking", *case) for case in BLOCKING)],
)
def test_it_ends_a_call_to_a_service_that_stalls(
    face: str, where: str, how: Callable[[Exchange], None], operation: Operation
) -> None:
    with stalling(where, how) as server:
        with pytest.raises((APIConnectionError, JobTimeoutError)) as caught:
            FACES[face](server.origin, lambda client: operation(client, SECONDS))
        server.left()
    error: Any = caught.value
    assert isinstance(error, JobTimeoutError) or error.late


@pytest.mark.parametrize("face", FACES)
def test_it_ends_an_upload_that_nobody_takes(face: str, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(30_000_000))

    def take_nothing(exchange: Exchange) -> None:
        exchange.close_connection = True
        exchange.server.stopping.wait(10)

    with Server(take_nothing) as server:
        with pytest.raises(APIConnectionError) as caught:
            FACES[face](server.origin, lambda client: client.files.upload(tmp_path / "a.bin", deadline=SECONDS))
        assert caught.value.late
        assert len(server.seen) == 1
