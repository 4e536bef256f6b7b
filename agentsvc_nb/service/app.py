"""The service assembled: engines, workers and routes (docs/architecture.md, "The service")."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Match
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from agentsvc_nb.agents import choose, offer
from agentsvc_nb.agents.port import Agent
from agentsvc_nb.documents.engine.process import TableProcess
from agentsvc_nb.documents.schemas import SchemaValidator
from agentsvc_nb.model_names import model_id
from agentsvc_nb.service.accounts import accounts
from agentsvc_nb.service.files import files
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.http import metrics, readiness
from agentsvc_nb.service.http.access import Access, KnownKeys
from agentsvc_nb.service.http.context import Services
from agentsvc_nb.service.http.lifecycle import RequestLifecycleMiddleware
from agentsvc_nb.service.http.names import OwnNames
from agentsvc_nb.service.http.responses import Streams
from agentsvc_nb.service.http.routing import health, routes, unknown_path
from agentsvc_nb.service.mcp.server import routing as mcp
from agentsvc_nb.service.mcp.servers import OwnServers
from agentsvc_nb.service.mcp.tools import ToolServers
from agentsvc_nb.service.ports import Blobs, Clock, DatabaseEngine
from agentsvc_nb.service.runner.jobs import JobRunner
from agentsvc_nb.service.runner.maintenance import BlobCheck, DatabaseCheck, Retention
from agentsvc_nb.service.runner.runs import RunRunner
from agentsvc_nb.service.runner.shared import SharedWorkers, Sharing
from agentsvc_nb.service.runner.signals import LocalSignals, LocalWorkers
from agentsvc_nb.service.runner.storage import Readings, Storage, SystemClock
from agentsvc_nb.service.runs.process_records import ProcessRecord
from agentsvc_nb.service.store import blobs_of, contents_place, database_of
from agentsvc_nb.service.store.blobs import LocalBlobs
from agentsvc_nb.service.telemetry import choose_tracing
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.service.web.routing import pages
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.catalog import taken_names, tools, within
from agentsvc_nb.tools.port import Complete, Meter, WorkFailure
from agentsvc_nb.wire.models import build_all

if TYPE_CHECKING:
    from agentsvc_nb.service.mcp.server.methods import McpServer

DRAIN_SECONDS: Final = 4.0
"""For so long after it was told to end, a process that shares its database lets runs end; then others have them."""
Role = Literal["service", "replica", "worker"]
"""Of processes that share a database: one answers requests and executes runs, or only either of it. One that has its
database to itself is a service."""
THREADS: Final = (os.cpu_count() or 1) + 4


@dataclass(frozen=True)
class Engines:
    """The engines of the service: database, blob store and clock; by default those of `named`."""

    database: DatabaseEngine
    blobs: Blobs
    clock: Clock

    @classmethod
    def named(cls, settings: Settings) -> Engines:
        """The database and the blob store that the settings name or the data folder's own, and the machine's clock.
        Raises what `blobs_of` raises."""
        folder = DataFolder(settings.data, settings.database)
        return cls(database_of(folder), blobs_of(settings), SystemClock())


class ServiceState:
    """The running service, in `app.state.service`: its start, stop and idle time, for the listener."""

    def __init__(
        self,
        services: Services,
        database: DatabaseEngine,
        retention: Retention,
        blob_check: BlobCheck | None,
        sharing: Sharing | None,
    ) -> None:
        self.services = services
        self._sharing = sharing
        self._stopped_at = math.inf
        self.lifecycle: RequestLifecycleMiddleware | None = None
        self._database = database
        self._retention = retention
        self._blob_check = blob_check
        self._keeping: list[asyncio.Task[None]] = []

    @property
    def busy(self) -> bool:
        """True if a run or job is active, or a request (such as a stream) is open."""
        return (
            self.services.runs.supervisor.busy
            or self.services.jobs.supervisor.busy
            or (self.lifecycle is not None and self.lifecycle.open > 0)
        )

    @property
    def refusal(self) -> str | None:
        """Why the service has to end, in a sentence; None while it may go on."""
        return None if self._sharing is None else self._sharing.refusal

    def idle_seconds(self) -> float:
        """Seconds since the last request ended; 0 while busy."""
        return 0.0 if self.busy or self.lifecycle is None else time.monotonic() - self.lifecycle.last_seen

    def stop(self) -> None:
        """End open streams and held requests, so that the server need not wait for them."""
        self._stopped_at = min(self._stopped_at, time.monotonic())
        self.services.use_case.signals.stop()

    async def start(self) -> None:
        """Open the database and recover the runs and jobs of an earlier server, or find those that no process has.
        Requires the data folder's lock."""
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, "worker"))
        self._database.open()
        await files.index_older_files(self.services.use_case)
        self.services.blobs.prepare()
        self.services.storage.tables.start()
        await (self._recover() if self._sharing is None else self._sharing.start())
        self._keeping = [
            asyncio.create_task(self._retention.keep_on(), name="retention"),
        ]
        if (check := self.services.database_check) is not None:
            self._keeping.append(asyncio.create_task(check.keep_on(), name="database check"))
        if self._blob_check is not None:
            self._keeping.append(asyncio.create_task(self._blob_check.keep_on(), name="blob check"))

    async def _recover(self) -> None:
        waiting = await self.services.runs.recover()
        await self.services.jobs.recover()  # after runs are recovered (a job ends with its run), before they are woken
        for run_id in waiting:
            self.services.runs.wake(run_id)
        await self.services.storage.readings.wake()

    async def close(self) -> None:
        """Interrupt all runs and jobs, which are left for recovery or to others, and close the database."""
        self.stop()
        for task in self._keeping:
            task.cancel()
        await asyncio.gather(*self._keeping, return_exceptions=True)
        if self._sharing is not None:
            await self._sharing.drain(max(0.0, self._stopped_at + DRAIN_SECONDS - time.monotonic()))
        await self.services.storage.readings.close()  # runs that wait for documents go on
        # Set before runs stop: a run that is left for recovery then leaves its jobs, too, instead of cancelling them.
        self.services.jobs.supervisor.stopping = True
        await self.services.runs.supervisor.stop()
        await self.services.jobs.supervisor.stop()
        if self.lifecycle is not None:
            await self.lifecycle.emptied()
        await self.services.jobs.end_calls()
        if self._sharing is not None:
            await self._sharing.close()
        self.services.schemas.close()
        await asyncio.to_thread(self.services.storage.tables.close)
        await asyncio.to_thread(self.services.use_case.searches.shutdown)
        await asyncio.to_thread(self.services.use_case.tracing.close)
        self._database.close()


def create_app(
    settings: Settings,
    *,
    instance: str,
    origin: str = "",
    names: OwnNames | None = None,
    sign_in_token: str = "",
    agent: Agent | None = None,
    others: Mapping[str, Agent] | None = None,
    engines: Engines | None = None,
    role: Role = "service",
    embedded: bool = False,
    load_mcp: Callable[[], McpServer] = mcp.load_server,
) -> Starlette:
    """The ASGI application.

    `instance` is the id that `/healthz` answers, `origin` the public address, `names` what the service is called
    (without them any host is answered, and the origin is the public address); `sign_in_token` opens a session on the
    pages (without one nobody can sign in). `agent` replaces the agent of the settings' model, `others` those of the
    other models that are offered, `engines` the engines that they name. An `embedded` service also has the servers of
    tools that its user added. `load_mcp` makes the MCP server at its first request. Raises `ValueError` for a model
    that has no agent.
    """
    build_all()  # now, rather than during the first requests
    agent, engines = agent or choose(settings.model, settings), engines or Engines.named(settings)
    if others is None:
        others = {model_id(model): offer(model, settings) for model in settings.models[1:]}
    models = {settings.offered[0]: agent, **others}
    names = names or OwnNames(None, frozenset([origin]))
    own = OwnServers(DataFolder(settings.data)) if embedded else None
    servers = ToolServers(settings, own)
    state = _assemble(settings, instance, origin, names, sign_in_token, models, engines, role, servers)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await state.start()
        try:
            yield
        finally:
            await state.close()

    def lifecycle(app: ASGIApp) -> RequestLifecycleMiddleware:
        state.lifecycle = RequestLifecycleMiddleware(
            app, settings.gateway_seconds, state.services.access, names, state.services.use_case
        )
        return state.lifecycle

    answered = [readiness.Readiness().route(), *metrics.routes(settings)]
    # MCP's one path carries all that its clients ask, and routes are tried in their order.
    answered += health() if role == "worker" else [*mcp.routes(load_mcp), *routes(), *pages()]
    app = _Application(routes=answered, middleware=[Middleware(lifecycle)], lifespan=lifespan)
    app.state.service = state
    return app


class _Application(Starlette):
    """Starlette without its middlewares for exceptions, since the endpoints answer every failure themselves. Its steps
    return the coroutine of the next one: each further coroutine would cost an open stream 250 bytes."""

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Coroutine[Any, Any, None]:
        scope["app"] = self
        if self.middleware_stack is None:
            self.middleware_stack = self.build_middleware_stack()
        return cast(Coroutine[Any, Any, None], self.middleware_stack(scope, receive, send))

    def build_middleware_stack(self) -> ASGIApp:
        stack: ASGIApp = self._dispatch
        for cls, args, kwargs in reversed(self.user_middleware):
            stack = cls(stack, *args, **kwargs)
        return stack

    def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http":
            return self.router.lifespan(scope, receive, send)
        # The first that matches, in the order of the table. It has all methods of its path, and answers a 405 itself.
        for route in self.router.routes:
            match, found = route.matches(scope)
            if match is Match.FULL:
                scope.update(found)
                scope["state"]["route"] = cast(StarletteRoute, route).path
                return cast(StarletteRoute, route).app(scope, receive, send)
        return unknown_path(scope, receive, send)


def _assemble(
    settings: Settings,
    instance: str,
    origin: str,
    names: OwnNames,
    sign_in_token: str,
    models: Mapping[str, Agent],
    engines: Engines,
    role: Role,
    servers: ToolServers,
) -> ServiceState:
    blobs = engines.blobs
    use_case, workers, sharing = _work(settings, instance, origin, engines, role != "replica", sign_in_token)
    database, schemas = engines.database, SchemaValidator()
    tables = TableProcess(DataFolder(settings.data).tables)
    storage = Storage(use_case, blobs, Readings(use_case, blobs), tables)
    workers.readings = storage.readings
    catalog = tools(settings, _complete(models))
    workers.jobs = JobRunner(storage, catalog)
    own = within(catalog, settings)
    workers.runs = RunRunner(storage, models, own, workers.jobs, schemas, servers)
    retention = Retention(storage, DataFolder(settings.data).hold_blobs)
    keys = KnownKeys(database, settings.shared_secret)
    services = Services(
        instance=instance,
        names=names,
        use_case=use_case,
        storage=storage,
        keys=keys,
        access=Access(keys, use_case),
        schemas=schemas,
        streams=Streams(use_case),
        blobs=blobs,
        tools=catalog,
        taken_names=taken_names(own),
        runs=workers.runs,
        jobs=workers.jobs,
        models=models,
        database_check=None if settings.database else DatabaseCheck(DataFolder(settings.data).database),
        sign_in_token=sign_in_token,
    )
    # A bucket's server looks after its disks itself, and hashing all of it here would be paid by the byte.
    check = BlobCheck(blobs) if isinstance(blobs, LocalBlobs) else None
    return ServiceState(services, database, retention, check, sharing)


def _complete(models: Mapping[str, Agent]) -> Complete | None:
    """Has the model of a run answer the questions of its tools, too: what a caller gives one model, no other is given.
    None when no model answers any."""
    answering = {id: agent.complete for id, agent in models.items() if hasattr(agent, "complete")}

    async def complete(prompt: str, schema: Mapping[str, Any], meter: Meter) -> dict[str, Any]:
        if meter.model not in answering:
            raise WorkFailure("not_configured", f"This takes a language model, and the run's is {meter.model}.")
        found: dict[str, Any] = await answering[meter.model](prompt, schema, meter)
        return found

    return complete if answering else None


def _work(
    settings: Settings, instance: str, origin: str, engines: Engines, works: bool, sign_in_token: str
) -> tuple[UseCaseContext, LocalWorkers, Sharing | None]:
    """The use case context with its signals and workers, of this process alone or of all that share the database. The
    workers' runners are to be set: they need the context, which needs the workers to wake."""
    database, tracing = engines.database, choose_tracing(settings.trace_content)

    def context(signals: LocalSignals, workers: LocalWorkers, process: str | None) -> UseCaseContext:
        given = (database, database.index, engines.clock, settings, origin, signals, workers)
        return UseCaseContext(*given, tracing=tracing, process=process)

    signals, queue = LocalSignals(), database.queue()
    if queue is None:
        alone = LocalWorkers()
        return context(signals, alone, None), alone, None
    workers = SharedWorkers(works)
    use_case = context(signals, workers, instance)
    signed = accounts.digest(sign_in_token) if sign_in_token else ""
    process = ProcessRecord(instance, int(works), "\n".join(settings.run_models), contents_place(settings), signed)
    return use_case, workers, Sharing(database, queue, use_case, signals, workers, process)
