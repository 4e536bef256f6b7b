"""Whether a request may go on: the key or session that it came with, looked at again while the request is open.

Most requests are answered in a moment. A stream, a held start, a download or an upload takes minutes, and meanwhile the
key may be revoked by a command beside the running server: `Edge` asks every half second, and ends what would be refused
now. What the request has started goes on: runs are the account's.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Final, Literal

from starlette.requests import Request
from starlette.types import Scope

from agentsvc_nb.service.actions import rates, sessions
from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.http.known_keys import KnownKeys
from agentsvc_nb.service.ports.storage import Clock, Database

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Credential:
    """What a request was let in with."""

    kind: Literal["key", "session"]
    secret: str = field(repr=False)


class Access:
    """Looks at credentials again, as at the beginning of a request."""

    def __init__(self, keys: KnownKeys, database: Database, clock: Clock) -> None:
        self._keys, self._database, self._clock = keys, database, clock

    def refusal(self, credential: Credential) -> Fail | None:
        """What ends a request with this credential now."""
        now = self._clock.now()
        try:
            if credential.kind == "key":
                rates.check_account(self._keys.find(credential.secret)[1], now, held=True)
            elif self._database.look(lambda tx: sessions.find(tx, credential.secret, now)) is None:
                return Fail("unauthorized", "The session has ended: sign in again.")
        except Fail as fail:
            return fail
        except Exception:  # the database is busy, or closed: the next look tells
            log.warning("a credential could not be looked at", exc_info=True)
        return None

    def check(self, request: Request) -> None:
        """Raise what ends the request now."""
        credential = of(request.scope)
        if credential is not None and (fail := self.refusal(credential)):
            raise fail


def note(request: Request, credential: Credential) -> None:
    """The request was let in with this."""
    request.scope["state"]["credential"] = credential


def of(scope: Scope) -> Credential | None:
    found: Credential | None = scope["state"].get("credential")
    return found
