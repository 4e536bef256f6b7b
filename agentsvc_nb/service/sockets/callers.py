"""Whose connections are: known from what their requests showed before (docs/decisions/0051)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

KNOWN_MAX: Final = 4_096
_SHOWS_A_KEY: Final = (b"x-api-key", b"authorization", b"cookie")
_SHOWN: Final = re.compile(rb"\r\n(?:" + rb"|".join(_SHOWS_A_KEY) + rb")[ \t]*:[ \t]*([^\r\n]*?)[ \t]*\r\n", re.I)


Owner = tuple[str, str]
"""An account, and the caller of it, which is the id of a key or a session."""


class Callers:
    """The owners of credentials that were shown lately, and of open connections by their descriptor. All others count
    as one account, whose name is empty, and their addresses as its callers."""

    def __init__(self) -> None:
        self._known: dict[int, Owner] = {}
        self.owners: dict[int, Owner] = {}

    def of_head(self, head: bytes, peer: str) -> Owner:
        """The owner of the beginning of a request."""
        shown = _SHOWN.search(head)
        return (self._known.get(hash(shown[1])) if shown else None) or ("", peer)

    def learn(self, headers: Iterable[tuple[bytes, bytes]], descriptor: int, owner: Owner) -> None:
        """Remember whose the credential in these headers is, and the connection that it was shown on."""
        self.owners[descriptor] = owner
        for name, value in headers:
            if name in _SHOWS_A_KEY:
                shown = hash(value)
                if shown not in self._known and len(self._known) >= KNOWN_MAX:
                    del self._known[next(iter(self._known))]
                self._known[shown] = owner
                return
