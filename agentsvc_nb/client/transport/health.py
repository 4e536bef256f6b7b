"""Check with a request to `/healthz` that the peer of a connection is the embedded service (docs/api/embedded.md).

The peer must prove that it knows the API key. Only then the client sends other requests on the connection. This module
does not use the HTTP library: the connection must stay open for these requests, and `agentsvc_nb.embedded` calls
`handshake` before a client exists.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import Any, Final

from agentsvc_nb import clock
from agentsvc_nb.wire import proof
from agentsvc_nb.wire.reading import read_json

ANSWER_BYTES: Final = 16 * 1024
READ_BYTES: Final = 4 * 1024
_HEAD_END: Final = b"\r\n\r\n"


class UnverifiedPeer(Exception):
    """The peer of a connection did not prove that it is the embedded service. The message says why."""


@dataclass
class Secret:
    """The key that the embedded service must prove to know. It is mutable, because the service may get a new key."""

    key: str = field(repr=False)


class Health:
    """A request to `/healthz` and its response. Send `request`, pass the response to `feed`, then call `check`."""

    def __init__(self, host: str, port: int) -> None:
        """Prepare the request. `host` and `port` are those of the base URL, and become the header `Host`."""
        self.nonce = proof.new_nonce()
        self.instance = ""
        self._proof: object = None
        self._received = b""
        named = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        lines = (f"GET {proof.PATH}?nonce={self.nonce} HTTP/1.1", f"host: {named}", "accept: */*")
        self.request = "\r\n".join((*lines, "connection: keep-alive", "user-agent: agentsvc-nb", "", "")).encode()

    def feed(self, data: bytes) -> bool:
        """Add the next bytes of the response, and return True if the response is complete.

        b"" means that the peer has closed the connection. Raises `UnverifiedPeer` if the response is incomplete or
        malformed.
        """
        self._received += data
        head, found, body = self._received.partition(_HEAD_END)
        if found and len(body) >= (length := _length(head)):
            if len(body) > length:
                raise UnverifiedPeer("it sent more than one response")
            self._read(body)
            return True
        if not data:
            raise UnverifiedPeer("it closed the connection")
        if len(self._received) > ANSWER_BYTES:
            raise UnverifiedPeer("its response is too long")
        return False

    def _read(self, body: bytes) -> None:
        try:
            answer: Any = read_json(body)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or not proof.is_instance(answer.get("instance")):
            raise UnverifiedPeer("it does not identify itself")
        self.instance, self._proof = answer["instance"], answer.get("proof")

    def check(self, key: str, peer: tuple[Any, ...]) -> None:
        """Raise `UnverifiedPeer` unless the response proves that the peer knows `key` and listens at `peer`.

        `peer` is the remote address (host, port) of the connection's socket.
        """
        if not isinstance(self._proof, str):
            raise UnverifiedPeer("it sent no proof")
        expected = proof.proof(key, self.nonce, self.instance, proof.address(str(peer[0]), int(peer[1])))
        if not key or not proof.is_same_proof(expected, self._proof):
            raise UnverifiedPeer("its proof is wrong")


def _length(head: bytes) -> int:
    """Return the length of the body in bytes. Raises `UnverifiedPeer` if the connection cannot be used again."""
    status, *lines = head.decode("latin-1").split("\r\n")
    if status.split(" ")[:2] != ["HTTP/1.1", "200"]:
        raise UnverifiedPeer("its response is not that of the service")
    headers = {
        name.strip().lower(): value.strip().lower() for name, _, value in (line.partition(":") for line in lines)
    }
    if headers.get("connection") == "close":
        raise UnverifiedPeer("it is shutting down")
    # The connection can carry another request only if the response has a plain `Content-Length`.
    length = headers.get("content-length", "")
    if "transfer-encoding" in headers or not (length.isascii() and length.isdigit() and len(length) < 6):
        raise UnverifiedPeer("its response is not that of the service")
    return int(length)


@dataclass(frozen=True)
class PeerIdentity:
    """The response of a peer to `/healthz`. The connection is already closed."""

    health: Health
    peer: tuple[Any, ...]

    def check(self, key: str) -> None:
        """Raise `UnverifiedPeer` unless the response proves that the peer knows `key`."""
        self.health.check(key, self.peer)


def handshake(host: str, port: int, seconds: float) -> PeerIdentity:
    """Ask the program at this address to identify itself within `seconds`, and return its response.

    The caller must verify the proof with `PeerIdentity.check`. Raises `OSError` if no program answers, and
    `UnverifiedPeer` if the response does not come from the service.
    """
    ends = clock.monotonic() + seconds
    health = Health(host, port)
    with socket.create_connection((host, port), seconds) as connection:
        peer = connection.getpeername()
        connection.settimeout(max(ends - clock.monotonic(), 0.001))
        connection.sendall(health.request)
        while not health.feed(connection.recv(READ_BYTES)):
            left = ends - clock.monotonic()
            if left <= 0:
                raise TimeoutError(f"{host}:{port} did not identify itself in time")
            connection.settimeout(left)
    return PeerIdentity(health, peer)
