"""An attacker's server on a port that an embedded service had; it records everything that it receives.

`repeats`, `forges`, `replays`, `relays` and `silent` are its ways to respond to a request for the proof.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.wire import proof
from tests.support.waiting import until

Says = Callable[[bytes], bytes | None]
"""Maps a request to the response; None sends nothing and keeps the connection open."""

SECRETS: Final = (b"svc_sk_", b"bearer", b"authorization", b"x-api-key", b"post ", b"a secret question")


class Stranger:
    """A server on `port` (0: any free port) until `close`."""

    def __init__(self, says: Says, port: int = 0) -> None:
        self.says, self.received = says, b""
        self._closed = threading.Event()
        listening = until(lambda: _listening(port), lambda made: made is not None)
        assert listening is not None
        self._socket = listening
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def leaks(self, key: str) -> list[bytes]:
        """The secrets (among them `key`) that it received."""
        heard = self.received.lower()
        return [secret for secret in (*SECRETS, key.encode().lower()) if secret in heard]

    @property
    def visits(self) -> int:
        """How many requests for the proof it received."""
        return self.received.count(b"GET /healthz")

    def close(self) -> None:
        self._closed.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # else the thread in `accept` would keep it listening
        self._socket.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while request := connection.recv(65_536):
                self.received += request
                said = self.says(request)
                if said is None:
                    self._closed.wait()
                else:
                    connection.sendall(said)


def _listening(port: int) -> socket.socket | None:
    with contextlib.suppress(OSError):  # a connection of the port's previous owner may still be closing
        return socket.create_server(("127.0.0.1", port))
    return None


def document(said: dict[str, object], status: str = "200 OK") -> bytes:
    body = json.dumps(said).encode()
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), len(body), body)


REFUSAL: Final = document(
    {"error": {"code": "unauthorized", "type": "authentication_error", "message": "No."}}, "401 U"
)


def repeats(instance: str, **more: object) -> Says:
    """Responds with the service's public instance id, which anyone can read, and the fields of `more`."""
    said = document({"object": "health", "status": "ok", "instance": instance, "version": "1", **more})
    return lambda request: said if b"/healthz" in request else REFUSAL


def forges(instance: str) -> Says:
    """Responds with a proof for the right nonce and address, but made with another key."""

    def say(request: bytes) -> bytes:
        head = request.decode()
        nonce, host = head.partition("nonce=")[2].split()[0], head.lower().partition("host: ")[2].split()[0]
        proved = proof.proof("svc_sk_of-the-stranger", nonce, instance, host)
        return repeats(instance, proof=proved)(request) or b""

    return say


def replays(real: int) -> Says:
    """Responds with a recorded response of the real service at the port `real`, made for another nonce."""
    heard = ask("127.0.0.1", real, f"GET /healthz?nonce={'n' * 43} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
    return lambda request: heard if b"/healthz" in request else REFUSAL


def relays(real: int) -> Says:
    """Forwards the request unchanged to the real service, which listens on the port `real`."""
    return lambda request: ask("127.0.0.1", real, request) if b"/healthz" in request else REFUSAL


def silent(_: bytes) -> None:
    """Never responds, and keeps the connection open."""
    return None


def ask(host: str, port: int, request: bytes) -> bytes:
    """Send `request` and return the whole response, which must have a `Content-Length`."""
    heard = b""
    with socket.create_connection((host, port), 30) as connection:
        connection.sendall(request)
        while True:
            head, found, body = heard.partition(b"\r\n\r\n")
            if found and len(body) >= int(head.lower().partition(b"content-length:")[2].split()[0]):
                return heard
            heard += connection.recv(65_536)


def key_of(data: Path) -> str:
    return DataFolder(data).own_key()


def port_of(base_url: str) -> int:
    return int(base_url.rpartition(":")[2])
