"""What the end of the service, and what is no HTTP, are answered with: envelopes, like everything else."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
from functools import partial
from urllib.parse import urlsplit

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service
from tests.waiting import PATIENCE_SECONDS, until

UPLOAD = (
    "POST /api/developers/v1/files HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
    "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000000\r\n\r\n"
    '--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\nhalf of it'
)

STREAM = (
    "GET /api/developers/v1/runs/{run}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
    "Accept: text/event-stream\r\n\r\n"
)


def connected(base_url: str) -> socket.socket:
    address = urlsplit(base_url)
    return socket.create_connection((address.hostname or "", address.port or 0), timeout=PATIENCE_SECONDS)


def answer(connection: socket.socket) -> tuple[int, dict[str, str], dict[str, object]]:
    """Status, headers by lower-case name and JSON of an answer after which the connection is closed."""
    data = b""
    while received := connection.recv(65_536):
        data += received
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in rest)}
    return int(first.split()[1]), headers, json.loads(body)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_an_upload_that_the_end_interrupts_is_answered_503() -> None:
    """SIGTERM with half of an upload here: the service waits for the rest, then says that it ends."""
    with running_service() as running, connected(running.base_url) as connection:
        connection.sendall(UPLOAD.format(key=running.api_key).encode())
        until(lambda: any((running.data / "blobs" / "incoming").iterdir()))
        os.kill(running.pid, signal.SIGTERM)
        status, headers, body = answer(connection)
        log = until((running.data / "serve.log").read_text, lambda text: "status=503" in text)
        assert not any((running.data / "blobs" / "incoming").iterdir())
    error = body["error"]
    assert isinstance(error, dict)
    assert (status, error["code"], headers["connection"]) == (503, "brain_unavailable", "close")
    assert f"request={headers['x-request-id']}" in log
    assert "Traceback" not in log


def test_two_hundred_streams_get_their_last_chunk() -> None:
    """SIGTERM while runs write and are followed, by some clients that do not read meanwhile."""
    script = "say hello\nwait 0.01\n" * 2_000
    with running_service(run_capacity=8) as running, contextlib.ExitStack() as streams:
        with AgentService(running.api_key, running.base_url) as client:
            ids = [client.runs.start(script).run_id for _ in range(8)]
        connections = [streams.enter_context(connected(running.base_url)) for _ in range(200)]
        for number, connection in enumerate(connections):
            connection.sendall(STREAM.format(run=ids[number % len(ids)], key=running.api_key).encode())
        begun = [connection.recv(65_536) for connection in connections]
        os.kill(running.pid, signal.SIGTERM)
        rest = [b"".join(iter(partial(connection.recv, 65_536), b"")) for connection in connections]
    for first, more in zip(begun, rest, strict=True):
        assert first.startswith(b"HTTP/1.1 200")
        assert (first + more).endswith(b"\r\n0\r\n\r\n")


@pytest.mark.parametrize(
    "request_text",
    [
        "nonsense\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
    ],
)
def test_what_is_no_http_gets_the_envelope(service: RunningService, request_text: str) -> None:
    with connected(service.base_url) as connection:
        connection.sendall(request_text.encode())
        status, headers, body = answer(connection)
    error = body["error"]
    assert isinstance(error, dict)
    assert (status, error["code"], error["type"]) == (400, "invalid_query", "invalid_request_error")
    assert "HTTP/1.1" in str(error["message"])
    assert headers["content-type"] == "application/json"
    assert int(headers["content-length"]) == len(json.dumps(body, ensure_ascii=False, separators=(",", ":")))
    assert headers["x-request-id"].startswith("req_")


def test_a_body_that_breaks_off_into_nonsense_gets_the_envelope(service: RunningService) -> None:
    """A chunked body with a bad chunk: the request is being answered by then, and has no answer yet."""
    with connected(service.base_url) as connection:
        head = f"POST /api/developers/v1/runs HTTP/1.1\r\nHost: localhost\r\nx-api-key: {service.api_key}\r\n"
        connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nnonsense\r\n".encode())
        status, _, body = answer(connection)
    error = body["error"]
    assert isinstance(error, dict)
    assert (status, error["code"]) == (400, "invalid_query")
