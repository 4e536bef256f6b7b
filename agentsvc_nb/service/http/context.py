"""What the handlers work with, and the context of one request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response

from agentsvc_nb.service.http.access import CHECK_SECONDS, Access
from agentsvc_nb.service.http.sse import Streams
from agentsvc_nb.service.records.accounts import SessionRecord
from agentsvc_nb.service.records.keys import KeyRecord
from agentsvc_nb.service.runner.jobs import JobRunner
from agentsvc_nb.service.runner.runs import RunRunner
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.service.store.blobs import LocalBlobs
from agentsvc_nb.service.usecases.accounts import KeyDirectory
from agentsvc_nb.service.usecases.context import UseCaseContext
from agentsvc_nb.service.usecases.money import RateLimiter
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.port import Tool
from agentsvc_nb.wire.keys import CreatedKey


@dataclass(frozen=True)
class Services:
    """The service behind the routes."""

    instance: str
    use_case: UseCaseContext
    """That of the service itself; a request has its own (`RequestContext.use_case`)."""
    storage: Storage
    keys: KeyDirectory
    rates: RateLimiter
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

    @property
    def settings(self) -> Settings:
        return self.use_case.settings


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
    def use_case(self) -> UseCaseContext:
        """What the use cases of this request work with. They write nothing once the request would be refused."""
        return self.services.use_case.checked(self._check)

    @property
    def origin(self) -> str:
        """The address that people use."""
        return self.services.use_case.origin

    @property
    def now(self) -> int:
        return self.services.use_case.now

    def path(self, name: str) -> str:
        value: str = self.request.path_params[name]
        return value

    async def _check(self) -> None:
        """Raises what refuses the request by now: its body may have taken minutes."""
        if self.now - self.received_at > CHECK_SECONDS * 1000:
            await self.services.access.check(self.request)


Handler = Callable[[RequestContext], Awaitable[Response]]
