"""What the service answers to what is no HTTP."""

from __future__ import annotations

import json
import socket
from functools import partial
from urllib.parse import urlsplit

import pytest

from agentsvc_nb.testing import RunningService
from tests.support.waiting import PATIENCE_SECONDS


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


@pytest.mark.parametrize(
    "request_text",
    [
        "nonsense\r\n\r\n",
        *[
            f"POST /api/developers/v1/runs HTTP/1.1\r\nHost: localhost\r\nx-api-key: KEY\r\n{rest}"
            for rest in (
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
