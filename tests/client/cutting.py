"""A real TCP server that cuts its event streams at random bytes: clean ends and resets, before and within events."""

from __future__ import annotations

import json
import random
import re
import socket
import struct
import threading
from typing import Any, Self

from tests.client.conftest import RUN_ID, run

TEXTS = ("plain", "ünïcödé", "line\nbreak", "data: id: 9", "\u2028", "x" * 300)


def events(count: int) -> list[dict[str, Any]]:
    """A run of `count` events; the last is `run.ended`."""
    spoken = [(number, "text.delta", {"text": TEXTS[number % len(TEXTS)]}) for number in range(1, count)]
    ended = (count, "run.ended", {"run": run("completed", output="done")})
    return [{"id": n, "type": kind, "created_at": "", "payload": payload} for n, kind, payload in (*spoken, ended)]


def frames(given: list[dict[str, Any]]) -> bytes:
    lines = (f"id: {event['id']}\nevent: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in given)
    return "".join(lines).encode()


class CuttingServer:
    """Serves one ended run of `count` events; the first `cuts` streams are cut, `silent` leaves streams open.

    Each stream ends after `each` events.
    """

    def __init__(self, count: int, cuts: int = 0, seed: int = 0, silent: bool = False, each: int | None = None) -> None:
        self.events, self.cuts, self.silent, self.each = events(count), cuts, silent, each
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.open = self._in_vain = 0
        self._cut_at = -1
        self.changed = threading.Condition()
        self._dice = random.Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept)]

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *ended: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)
        assert not any(thread.is_alive() for thread in self._threads), "a connection was left open"

    def wait_for_open(self, count: int) -> None:
        """Wait until `count` connections are open."""
        with self.changed:
            assert self.changed.wait_for(lambda: self.open == count, 10), f"{self.open} connections are open"

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        self._count(1)
        try:
            with connection:
                self._answer(connection, _head(connection))
        except OSError:
            pass  # the client hung up: many tests are about that
        finally:
            self._count(-1)

    def _count(self, step: int) -> None:
        with self.changed:
            self.open += step
            self.changed.notify_all()

    def _answer(self, connection: socket.socket, head: str) -> None:
        target = head.split(" ")[1]
        fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if line)
        with self.changed:
            self.seen.append((target, fields))
            self.changed.notify_all()
        if fields.get("accept") == "text/event-stream":
            self._stream(connection, int(fields.get("last-event-id", 0)))
        elif "/events" in target:
            after = int((re.search(r"after=(\d+)", target) or ["", "0"])[1])
            left = self.events[after:][:100]
            page = {"data": left, "next_after": after + len(left), "has_more": False, "status": "completed"}
            _send_json(connection, page)
        else:
            _send_json(connection, run("running" if self.silent else "completed"))

    def _stream(self, connection: socket.socket, after: int) -> None:
        left = (self.events[after:] if not self.silent else self.events[after:-1])[: self.each]
        body = b"retry: 0\n\n" + frames(left)
        whole = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + body
        if self.cuts:
            self.cuts -= 1
            self._cut(connection, whole, after)
            return
        connection.sendall(whole)
        if self.silent:
            connection.recv(1)  # until the client hangs up

    def _cut(self, connection: socket.socket, whole: bytes, after: int) -> None:
        """Send up to a random byte, then end or reset; after three cuts in vain one that lets an event through."""
        self._in_vain = self._in_vain + 1 if after == self._cut_at else 0
        self._cut_at = after
        merciful = self._in_vain > 2
        connection.sendall(whole[: self._dice.randrange(800 if merciful else 0, 1_500)])
        if not merciful and self._dice.random() < 0.5:  # what the client has not read yet is lost with a reset
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _head(connection: socket.socket) -> str:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += (more := connection.recv(4_096))
        if not more:
            raise ConnectionError("the client left")
    return head.decode()


def _send_json(connection: socket.socket, body: dict[str, Any]) -> None:
    data = json.dumps(body).encode()
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
    )
    connection.sendall(head.encode() + data)


__all__ = ["RUN_ID", "CuttingServer", "events", "frames"]
