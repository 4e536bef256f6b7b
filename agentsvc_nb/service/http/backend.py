"""What the handlers work with, and one call of one route."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from agentsvc_nb.service.engines.blobs import LocalBlobs
from agentsvc_nb.service.http.access import LOOK_SECONDS, Access
from agentsvc_nb.service.http.known_keys import KnownKeys
from agentsvc_nb.service.http.sse import Streams
from agentsvc_nb.service.ports.storage import Tx
from agentsvc_nb.service.ports.tools import Tool
from agentsvc_nb.service.records.keys import KeyRecord
from agentsvc_nb.service.records.sessions import SessionRecord
from agentsvc_nb.service.settings import Settings
from agentsvc_nb.service.work.jobs import JobRunner
from agentsvc_nb.service.work.runs import RunRunner
from agentsvc_nb.service.work.storage import Storage
from agentsvc_nb.wire.keys import CreatedKey

T = TypeVar("T")


@dataclass(frozen=True)
class Backend:
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
class Call:
    """A request that passed authentication. `received_at` in ms; without key and session the route is open."""

    request: Request
    backend: Backend
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
        return self.backend.storage.clock.now()

    def path(self, name: str) -> str:
        value: str = self.request.path_params[name]
        return value

    def read(self, use: Callable[[Tx], T], seconds: float | None = None) -> T:
        return self.backend.storage.db.read(use, seconds)

    def look(self, use: Callable[[Tx], T]) -> T:
        return self.backend.storage.db.look(use)

    async def write(self, use: Callable[[Tx], T], *, long: bool = False) -> T:
        """Raises what refuses the request by now: its body may have taken minutes."""
        if self.now - self.received_at > LOOK_SECONDS * 1000:
            self.backend.access.check(self.request)
        return await self.backend.storage.db.write(use, long=long)


Handler = Callable[[Call], Awaitable[Response]]
