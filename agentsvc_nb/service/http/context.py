"""`Services`, the objects that all handlers share, and `RequestContext`, the context of one request."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from agentsvc_nb.agents.port import Agent
from agentsvc_nb.documents.schemas import SchemaValidator
from agentsvc_nb.service.accounts.account_records import KeyRecord, SessionRecord
from agentsvc_nb.service.http.access import CHECK_SECONDS, CredentialChecker, KeyCache
from agentsvc_nb.service.http.names import OwnNames
from agentsvc_nb.service.http.responses import Streams
from agentsvc_nb.service.ports import Blobs
from agentsvc_nb.service.runner.jobs import JobRunner
from agentsvc_nb.service.runner.maintenance import DatabaseCheck
from agentsvc_nb.service.runner.runs import RunRunner
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.port import Tool
from agentsvc_nb.wire.resources import CreatedKey

LARGE_BODIES: Final = 4
"""The maximum number of large bodies in memory at a time."""


@dataclass(frozen=True)
class Services:
    """The objects that handlers and pages share. There is one instance for the whole service."""

    instance: str
    names: OwnNames
    use_case: UseCaseContext
    """The use case context without an access check before writes. Handlers use `RequestContext.use_case`."""
    storage: Storage
    keys: KeyCache
    access: CredentialChecker
    schemas: SchemaValidator
    streams: Streams
    blobs: Blobs
    tools: Mapping[str, Tool]
    run_tools: Mapping[str, Tool]
    """The tools that runs can call: those of `tools`, and tools for the chat's files."""
    taken_names: frozenset[str]
    """Names that a client tool must not have."""
    runs: RunRunner
    jobs: JobRunner
    models: Mapping[str, Agent]
    """The agents of the offered models, by id."""
    database_check: DatabaseCheck | None
    """The check of the database for damage, or None for PostgreSQL."""
    large_bodies: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(LARGE_BODIES))
    """Acquire this before you receive a large body, so that waiting requests take no memory."""
    body_checks: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    """Acquire this before a thread reads or checks a large body: several such threads would starve the event loop."""
    sign_in_token: str = field(default="", repr=False)
    fresh_keys: dict[str, CreatedKey] = field(default_factory=dict, repr=False)
    """New keys that the settings page has not shown yet, by session digest. Their secrets are stored nowhere else."""

    @property
    def settings(self) -> Settings:
        return self.use_case.settings


@dataclass(frozen=True)
class RequestContext:
    """A request that passed its route's checks, with a key or session if required. `received_at` is in ms."""

    request: Request
    services: Services
    received_at: int
    known_key: KeyRecord | None = None
    known_session: SessionRecord | None = None

    @property
    def account(self) -> str:
        """The account of the request's key or session."""
        known = self.known_key or self.known_session
        assert known is not None, "the route is open"
        return known.account

    @property
    def key(self) -> KeyRecord:
        assert self.known_key is not None, "the route takes no key"
        return self.known_key

    @property
    def use_case(self) -> UseCaseContext:
        """The use case context of this request. It refuses writes once the request's credential is no longer valid."""
        return self.services.use_case.with_check(self._check)

    @property
    def origin(self) -> str:
        """The service's public base URL."""
        return self.services.use_case.origin

    @property
    def now(self) -> int:
        return self.services.use_case.now

    def path(self, name: str) -> str:
        value: str = self.request.path_params[name]
        return value

    async def _check(self) -> None:
        """Raise `ApiError` if the credential became invalid. In a request's first half second, check nothing."""
        if self.now - self.received_at > CHECK_SECONDS * 1000:
            await self.services.access.check(self.request)


Handler = Callable[[RequestContext], Awaitable[Response]]
