"""What the processes on one PostgreSQL database tell each other: names of what changed, by NOTIFY and LISTEN. Each is a
hint: who misses it, as behind a pooler that swallows LISTEN, finds out by looking (docs/decisions/0057-leases.md)."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import psycopg

log = logging.getLogger(__name__)
_CHANNEL: Final = "agentsvc"
PAYLOAD_BYTES: Final = 7_000
"""What one notification holds; PostgreSQL's limit is 8,000."""
LISTEN_SECONDS: Final = 0.5
"""How long a listening thread may take to see that it is to end."""
AGAIN_SECONDS: Final = 1.0


class PostgresChannel:
    """`ports.Channel` on two connections: one listens in a thread of its own, one notifies."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._given = given
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._sending: psycopg.Connection[Any] | None = None

    def listen(self, sender: str, heard: Callable[[Sequence[str]], None]) -> None:
        self._thread = threading.Thread(
            target=self._listen, args=(sender, heard), name="postgres-listener", daemon=True
        )
        self._thread.start()

    def send(self, sender: str, names: Sequence[str]) -> None:
        try:
            if self._sending is None or self._sending.closed:
                self._sending = self._connected()
            payloads = _payloads(sender, names)
            notify = ", ".join(["pg_notify(%s, %s)"] * len(payloads))
            values = [text for payload in payloads for text in (_CHANNEL, payload)]
            self._sending.execute(f"SELECT {notify}".encode(), values)
        except psycopg.Error as error:  # a hint is lost, and nothing else
            log.info("others could not be told what changed: %s", " ".join(str(error).split()))
            self._drop_sending()

    def close(self) -> None:
        self._closed.set()
        if self._thread is not None:
            self._thread.join()
        self._drop_sending()

    def _drop_sending(self) -> None:
        if self._sending is not None:
            self._sending.close()
            self._sending = None

    def _connected(self) -> psycopg.Connection[Any]:
        return psycopg.connect(autocommit=True, prepare_threshold=None, **self._given)

    def _listen(self, sender: str, heard: Callable[[Sequence[str]], None]) -> None:
        while not self._closed.is_set():
            with contextlib.suppress(psycopg.Error), self._connected() as connection:
                connection.execute(f"LISTEN {_CHANNEL}".encode())
                heard([])  # what was missed while nobody listened
                while not self._closed.is_set():
                    for notice in connection.notifies(timeout=LISTEN_SECONDS):
                        told_by, _, names = notice.payload.partition(" ")
                        if told_by != sender:
                            heard(names.split(" "))
            self._closed.wait(AGAIN_SECONDS)


def _payloads(sender: str, names: Sequence[str]) -> list[str]:
    """The names in as many notifications as it takes, each begun by the sender.

    >>> _payloads("a", ["run_1", "run_2"])
    ['a run_1 run_2']
    """
    found = [sender]
    for name in names:
        if len(found[-1]) + len(name) >= PAYLOAD_BYTES:
            found.append(sender)
        found[-1] += f" {name}"
    return found
