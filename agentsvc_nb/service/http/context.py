"""What the handlers work with, and the context of one request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http.sse import Streams
from agentsvc_nb.service.ports import Clock, Database, Tx
from agentsvc_nb.service.records.accounts import AccountRecord, SessionRecord
from agentsvc_nb.service.records.keys import KeyRecord
from agentsvc_nb.service.runner.jobs import JobRunner
from agentsvc_nb.service.runner.runs import RunRunner
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.service.store.blobs import LocalBlobs
from agentsvc_nb.service.usecases import accounts, money
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.port import Tool
from agentsvc_nb.wire.keys import CreatedKey

log = logging.getLogger(__name__)

CHECK_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Credential:
    """What a request was let in with."""

    kind: Literal["key", "session"]
    secret: str = field(repr=False)


class Access:
    """Looks at credentials again, as at the beginning of a request."""

    def __init__(self, keys: KnownKeys, database: Database, clock: Clock) -> None:
        self._keys, self._database, self._clock = keys, database, clock

    def refusal(self, credential: Credential) -> ApiError | None:
        """What ends a request with this credential now."""
        now = self._clock.now()
        try:
            if credential.kind == "key":
                money.check_account(self._keys.find(credential.secret)[1], now, held=True)
            elif self._database.read_single(lambda tx: accounts.find_session(tx, credential.secret, now)) is None:
                return ApiError("unauthorized", "The session has ended: sign in again.")
        except ApiError as error:
            return error
        except Exception:  # the database is busy, or closed: the next look tells
            log.warning("a credential could not be looked at", exc_info=True)
        return None

    def check(self, request: Request) -> None:
        """Raise what ends the request now."""
        credential = credential_of(request.scope)
        if credential is not None and (error := self.refusal(credential)):
            raise error


def remember_credential(request: Request, credential: Credential) -> None:
    """The request was let in with this."""
    request.scope["state"]["credential"] = credential


def credential_of(scope: Scope) -> Credential | None:
    found: Credential | None = scope["state"].get("credential")
    return found


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
            found = self._found[secret] = self._database.read(lambda tx: accounts.find_key(tx, secret))
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


T = TypeVar("T")


@dataclass(frozen=True)
class Services:
    """The service behind the routes."""

    instance: str
    settings: Settings
    storage: Storage
    keys: KnownKeys
    access: Access
    streams: Streams
    blobs: LocalBlobs
    tools: Mapping[str, Tool]
    runs: RunRunner
    jobs: JobRunner
    sign_in_token: str = field(default="", repr=False)
    fresh_keys: dict[str, CreatedKey] = field(default_factory=dict, repr=False)
    """By a session's digest, the key that its form made and the page after it has not shown yet: here and nowhere
    else."""


@dataclass(frozen=True)
class RequestContext:
    """A request that passed authentication. `received_at` in ms; without key and session the route is open."""

    request: Request
    services: Services
    received_at: int
    known_key: KeyRecord | None = None
    known_session: SessionRecord | None = None

    @property
    def account(self) -> str:
        """Whose key or session it is."""
        known = self.known_key or self.known_session
        assert known is not None, "the route is open"
        return known.account

    @property
    def key(self) -> KeyRecord:
        assert self.known_key is not None, "the route takes no key"
        return self.known_key

    @property
    def now(self) -> int:
        return self.services.storage.clock.now()

    def path(self, name: str) -> str:
        value: str = self.request.path_params[name]
        return value

    def read(self, use: Callable[[Tx], T], seconds: float | None = None) -> T:
        return self.services.storage.db.read(use, seconds)

    def read_single(self, use: Callable[[Tx], T]) -> T:
        return self.services.storage.db.read_single(use)

    async def write(self, use: Callable[[Tx], T], *, long: bool = False) -> T:
        """Raises what refuses the request by now: its body may have taken minutes."""
        if self.now - self.received_at > CHECK_SECONDS * 1000:
            self.services.access.check(self.request)
        return await self.services.storage.db.write(use, long=long)


Handler = Callable[[RequestContext], Awaitable[Response]]
