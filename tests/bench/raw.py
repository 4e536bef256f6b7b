"""One request over a socket of its own, for the body as it came."""

from __future__ import annotations

import http.client
import socket

from tests.bench.load import address


def fetch(base_url: str, request: bytes) -> bytes:
    """The body of the answer. Raises `AssertionError` unless it is a 200 or 202."""
    with socket.create_connection(address(base_url)) as connection:
        connection.sendall(request)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        body = answer.read()
    assert answer.status in (200, 202), (answer.status, body)
    return body
