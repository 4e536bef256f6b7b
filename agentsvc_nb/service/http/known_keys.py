"""Keys and their accounts as they were looked up since the last commit of anybody.

Whether there was one is asked once in a turn of the event loop: what is answered in a turn was received before it.
"""

from __future__ import annotations

import asyncio

from agentsvc_nb.service.actions import keys
from agentsvc_nb.service.ports.storage import Database
from agentsvc_nb.service.records.accounts import AccountRecord
from agentsvc_nb.service.records.keys import KeyRecord


class KnownKeys:
    """`actions.keys.find` for each request: what it found counts until something is written, by whatever process, so
    that a key made, suspended or revoked beside the running server counts at once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._version = -1
        self._asked = False
        self._found: dict[str, tuple[KeyRecord, AccountRecord]] = {}

    def find(self, secret: str) -> tuple[KeyRecord, AccountRecord]:
        """The key with this secret, and its account. Raises as `actions.keys.find`, and keeps no refusal."""
        if not self._asked:
            self._ask()
        found = self._found.get(secret)
        if found is None:
            found = self._found[secret] = self._database.read(lambda tx: keys.find(tx, secret))
        return found

    def _ask(self) -> None:
        version = self._database.version()  # before the look-up: what is written in between is then looked up again
        if version != self._version:
            self._version = version
            self._found.clear()
        self._asked = True
        asyncio.get_running_loop().call_soon(self._next_turn)

    def _next_turn(self) -> None:
        self._asked = False
