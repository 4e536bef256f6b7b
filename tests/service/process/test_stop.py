"""What the service answers when it ends, and to what is no HTTP."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from functools import partial
from urllib.parse import urlsplit

import pytest

from agentsvc_nb.testing import RunningService, running_service
from tests.support.waiting import PATIENCE_SECONDS, until

UPLOAD = (
    "POST /api/developers/v1/files HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
    "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000000\r\n\r\n"
    '--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\nhalf of it'
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


@pytest.mark.parametrize(
    "request_text",
    [
        "nonsense\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        *[
            f"POST /api/developers/v1/runs HTTP/1.1\r\nHost: localhost\r\nx-api-key: KEY\r\n{rest}"
            for rest in (
                "Content-Length: x\r\n\r\n",
                "Content-Length: -1\r\n\r\n",
                "Content-Length: 2\r\nContent-Length: 3\r\n\r\n",
                "Content-Length: 99999999999999999999999\r\n\r\n",
                "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nnonsense\r\n",
            )
        ],
    ],
)
def test_what_is_no_http_is_400_and_the_end_of_the_connection(service: RunningService, request_text: str) -> None:
    """The server answers by itself, since there is no request for the application: a text, and no envelope."""
    with connected(service.base_url) as connection:
        connection.sendall(request_text.replace("KEY", service.api_key).encode())
        received = b"".join(iter(partial(connection.recv, 65_536), b""))
    assert received.startswith(b"HTTP/1.1 400 ")
    assert received.endswith(b"\r\n\r\nInvalid HTTP request received.")
