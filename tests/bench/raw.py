"""One request over a socket of its own, for the body as it came."""

from __future__ import annotations

import http.client
import socket
from urllib.parse import urlsplit


def fetch(base_url: str, request: bytes) -> bytes:
    """The body of the answer. Raises `AssertionError` unless it is a 200 or 202."""
    address = urlsplit(base_url)
    with socket.create_connection((address.hostname, address.port)) as connection:
        connection.sendall(request)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        body = answer.read()
    assert answer.status in (200, 202), (answer.status, body)
    return body
