"""Who answers at the other end of a connection: asked before anything else goes over it (docs/api/embedded.md).

Written without the HTTP library, for two reasons: what is asked needs one answer of one shape, on a connection that is
then used on; and `embedded` asks before any client is there.
"""

from __future__ import annotations

import json
import socket
import time
from dataclasses import dataclass, field
from typing import Any, Final

from agentsvc_nb.wire import proof

ANSWER_BYTES: Final = 16 * 1024
READ_BYTES: Final = 4 * 1024
_HEAD_END: Final = b"\r\n\r\n"


class Unproved(Exception):
    """It gives no proof; the message says what it does instead."""


@dataclass
class Secret:
    """The key that a service has to hold. It changes when the key of the folder is replaced."""

    key: str = field(repr=False)


class Health:
    """One question, its answer as it comes in, and what the answer proves."""

    def __init__(self, host: str, port: int) -> None:
        """`host` as it stands in an address: where the connection was meant to go."""
        self.nonce = proof.new_nonce()
        self.instance = ""
        self._proof: object = None
        self._heard = b""
        named = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        lines = (f"GET {proof.PATH}?nonce={self.nonce} HTTP/1.1", f"host: {named}", "accept: */*")
        self.request = "\r\n".join((*lines, "connection: keep-alive", "user-agent: agentsvc-nb", "", "")).encode()

    def hear(self, data: bytes) -> bool:
        """More of the answer, empty at the end of the connection; True once it is whole. Raises `Unproved`."""
        self._heard += data
        head, found, body = self._heard.partition(_HEAD_END)
        if found and len(body) >= (length := _length(head)):
            if len(body) > length:
                raise Unproved("it says more than it was asked")
            self._read(body)
            return True
        if not data:
            raise Unproved("it closed the connection")
        if len(self._heard) > ANSWER_BYTES:
            raise Unproved("its answer has no end")
        return False

    def _read(self, body: bytes) -> None:
        try:
            answer: Any = json.loads(body)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or not proof.is_instance(answer.get("instance")):
            raise Unproved("it does not say who it is")
        self.instance, self._proof = answer["instance"], answer.get("proof")

    def check(self, key: str, peer: tuple[Any, ...]) -> None:
        """Raises `Unproved` unless the answer came from who holds `key` and listens at `peer`, the other end of the
        connection as this one sees it."""
        if not isinstance(self._proof, str):
            raise Unproved("it gives none")
        expected = proof.proof(key, self.nonce, self.instance, proof.address(str(peer[0]), int(peer[1])))
        if not key or not proof.same(expected, self._proof):
            raise Unproved("the one it gives is wrong")


def _length(head: bytes) -> int:
    """How long the body is. Raises `Unproved` for an answer after which the connection can't be used."""
    status, *lines = head.decode("latin-1").split("\r\n")
    if status.split(" ")[:2] != ["HTTP/1.1", "200"]:
        raise Unproved("it does not answer as the service does")
    headers = {
        name.strip().lower(): value.strip().lower() for name, _, value in (line.partition(":") for line in lines)
    }
    if headers.get("connection") == "close":
        raise Unproved("it is ending")
    length = headers.get("content-length", "")
    if "transfer-encoding" in headers or not (length.isascii() and length.isdigit() and len(length) < 6):
        raise Unproved("it does not answer as the service does")
    return int(length)


@dataclass(frozen=True)
class Met:
    """Who answered, on a connection that is closed again."""

    health: Health
    peer: tuple[Any, ...]

    def check(self, key: str) -> None:
        """Raises `Unproved`."""
        self.health.check(key, self.peer)


def meet(host: str, port: int, seconds: float) -> Met:
    """Ask who answers there, for up to `seconds`. Raises `OSError`, and `Unproved` for what is no answer."""
    ends = time.monotonic() + seconds
    health = Health(host, port)
    with socket.create_connection((host, port), seconds) as connection:
        peer = connection.getpeername()
        connection.settimeout(max(ends - time.monotonic(), 0.001))
        connection.sendall(health.request)
        while not health.hear(connection.recv(READ_BYTES)):
            left = ends - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"{host}:{port} did not say in time who it is")
            connection.settimeout(left)
    return Met(health, peer)
