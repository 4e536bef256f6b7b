"""Assemble the application of the service: database, blob store, workers, routes and pages (docs/architecture.md)."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.types import ASGIApp

from agentsvc_nb import clock
from agentsvc_nb.agents import choose, offer
from agentsvc_nb.agents.port import Agent
from agentsvc_nb.documents.engine.process import TableProcess
from agentsvc_nb.documents.schemas import SchemaValidator
from agentsvc_nb.model_names import model_id
from agentsvc_nb.service.accounts import accounts
from agentsvc_nb.service.files import files
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.http import metrics, readiness
from agentsvc_nb.service.http.access import CredentialChecker, KeyCache
from agentsvc_nb.service.http.context import Services
from agentsvc_nb.service.http.lifecycle import RequestLifecycleMiddleware
from agentsvc_nb.service.http.names import OwnNames
from agentsvc_nb.service.http.responses import Streams
from agentsvc_nb.service.http.routing import healthz_routes, routes, unknown_path
from agentsvc_nb.service.mcp.server import routing as mcp
from agentsvc_nb.service.mcp.servers import OwnServers
from agentsvc_nb.service.mcp.tools import ToolServers
from agentsvc_nb.service.ports import Blobs, Clock, DatabaseEngine
from agentsvc_nb.service.runner.jobs import JobRunner
from agentsvc_nb.service.runner.maintenance import BlobCheck, DatabaseCheck, Retention
from agentsvc_nb.service.runner.runs import RunRunner
from agentsvc_nb.service.runner.shared import SharedProcess, SharedWorkers
from agentsvc_nb.service.runner.signals import LocalSignals, LocalWorkers
from agentsvc_nb.service.runner.storage import BackgroundReader, ServiceClock, Storage
from agentsvc_nb.service.runs.process_records import ProcessRecord
from agentsvc_nb.service.store import create_blobs, create_database, describe_blob_place
from agentsvc_nb.service.store.blobs import LocalBlobs
from agentsvc_nb.service.telemetry import choose_tracing
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.service.web.routing import pages
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.catalog import add_workspace_tools, taken_names, tools
from agentsvc_nb.tools.port import Complete, Meter, WorkFailure
from agentsvc_nb.wire.models import build_all

if TYPE_CHECKING:
    from agentsvc_nb.service.mcp.server.methods import McpServer

DRAIN_SECONDS: Final = 4.0
"""How long a stopping process that shares its database waits for its runs before other processes take them over."""
Role = Literal["service", "replica", "worker"]
"""The role of a process, if several processes share a database.

A replica serves requests, a worker executes runs and jobs, and a service does both. A process with a database of its
own is always a service.
"""
THREADS: Final = (os.cpu_count() or 1) + 4


@dataclass(frozen=True)
class Engines:
    """The implementations of the ports that tests can replace: database, blob store and clock (`service.ports`)."""

    database: DatabaseEngine
    blobs: Blobs
    clock: Clock


class ServiceState:
    """Starts and stops the database, the workers and the regular checks, and measures how long the service was idle.

    `app.state.service` is the only instance of an application.
    """

    lifecycle: RequestLifecycleMiddleware

    def __init__(
        self,
        services: Services,
        database: DatabaseEngine,
        checks: Sequence[Retention | DatabaseCheck | BlobCheck],
        sharing: SharedProcess | None,
    ) -> None:
        self.services = services
        self._sharing = sharing
        self._stopped_at = math.inf
        self._database = database
        self._checks = checks
        self._checking: list[asyncio.Task[None]] = []

    @property
    def refusal(self) -> str | None:
        """The reason why this process can't continue, as a sentence, or None while it can continue."""
        return None if self._sharing is None else self._sharing.refusal

    def idle_seconds(self) -> float:
        """Return the seconds since the last request ended, or 0 while a run, job, request or stream is active."""
        busy = self.services.runs.supervisor.busy or self.services.jobs.supervisor.busy or self.lifecycle.open > 0
        return 0.0 if busy else clock.monotonic() - self.lifecycle.last_seen

    def stop(self) -> None:
        """End open streams and waiting requests, so that the server need not wait for them when it stops."""
        self._stopped_at = min(self._stopped_at, clock.monotonic())
        self.services.use_case.signals.stop()

    async def start(self) -> None:
        """Open the database, and continue the runs and jobs that an earlier process did not finish.

        If processes share the database, continue only the runs and jobs that no living process executes. The caller
        must hold the data folder's lock.
        """
        services = self.services
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, "worker"))
        self._database.open()
        await files.index_older_files(services.use_case)
        services.blobs.prepare()
        services.storage.tables.start()
        if self._sharing is not None:
            await self._sharing.start()
        else:
            waiting = await services.runs.recover()
            await services.jobs.recover()  # after the runs, whose end ends their jobs, and before runs wake
            for run_id in waiting:
                services.runs.wake(run_id)
            await services.storage.readings.wake()
        self._checking = [asyncio.create_task(check.run_forever(), name=type(check).__name__) for check in self._checks]

    async def close(self) -> None:
        """Interrupt all runs and jobs, and close the database.

        The next start, or another process that shares the database, continues the runs and jobs.
        """
        services = self.services
        self.stop()
        for task in self._checking:
            task.cancel()
        await asyncio.gather(*self._checking, return_exceptions=True)
        if self._sharing is not None:
            await self._sharing.drain(max(0.0, self._stopped_at + DRAIN_SECONDS - clock.monotonic()))
        await services.storage.readings.close()  # from now on, no run waits until a document has been read
        # Set this before the runs stop: a run that is left for recovery must leave its jobs as well, not cancel them.
        services.jobs.supervisor.stopping = True
        await services.runs.supervisor.stop()
        await services.jobs.supervisor.stop()
        await self.lifecycle.wait_until_empty()
        await services.jobs.end_calls()
        if self._sharing is not None:
            await self._sharing.close()
        services.schemas.close()
        await asyncio.to_thread(services.storage.tables.close)
        await asyncio.to_thread(services.use_case.searches.shutdown)
        await asyncio.to_thread(services.use_case.tracing.close)
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
    """Return the ASGI application.

    Args:
        settings: the settings of the service.
        instance: the id of this process, which `/healthz` returns.
        origin: the public base URL.
        names: the hosts and origins that the service accepts in requests. Without `names`, it accepts any host, and
            `origin` is its only origin.
        sign_in_token: the token that opens a browser session. Without it, nobody can sign in.
        agent: replaces the agent of the configured model.
        others: replace the agents of the other offered models.
        engines: replaces the configured database, blob store and clock.
        role: the role of this process in a shared database.
        embedded: also use the MCP servers that the user added.
        load_mcp: creates the service's own MCP server. It is called at the first MCP request.

    Raises:
        ValueError: no agent exists for a model.
        BlobsUnavailable: the configured blob store can't be used.
    """
    build_all()  # build the models of `wire/` now rather than during the first requests
    folder = DataFolder(settings.data, settings.database)
    agent = agent or choose(settings.model, settings)
    engines = engines or Engines(create_database(folder), create_blobs(settings), ServiceClock())
    database, blobs = engines.database, engines.blobs
    if others is None:
        others = {model_id(model): offer(model, settings) for model in settings.models[1:]}
    models = {settings.offered[0]: agent, **others}
    names = names or OwnNames(None, frozenset([origin]))

    signals, queue = LocalSignals(), database.queue()
    workers = LocalWorkers() if queue is None else SharedWorkers(works=role != "replica")
    use_case = UseCaseContext(
        database,
        database.index,
        engines.clock,
        settings,
        origin,
        signals,
        workers,
        process=None if queue is None else instance,
        tracing=choose_tracing(settings.trace_content),
    )
    sharing = None
    if queue is not None and isinstance(workers, SharedWorkers):
        signed = accounts.digest(sign_in_token) if sign_in_token else ""
        models_here = "\n".join(settings.run_models)
        process = ProcessRecord(instance, int(role != "replica"), models_here, describe_blob_place(settings), signed)
        sharing = SharedProcess(database, queue, use_case, signals, workers, process)

    schemas = SchemaValidator()
    storage = Storage(use_case, blobs, BackgroundReader(use_case, blobs), TableProcess(folder.tables))
    catalog = tools(settings, _complete(models))
    own_tools = add_workspace_tools(catalog, settings)
    servers = ToolServers(settings, OwnServers(folder) if embedded else None)
    workers.readings = storage.readings
    workers.jobs = JobRunner(storage, catalog)
    workers.runs = RunRunner(storage, models, own_tools, workers.jobs, schemas, servers.for_run)

    keys = KeyCache(database, settings.shared_secret)
    database_check = None if settings.database else DatabaseCheck(folder.database)
    checks: list[Retention | DatabaseCheck | BlobCheck] = [Retention(storage, folder.hold_blobs)]
    if database_check is not None:
        checks.append(database_check)
    if isinstance(blobs, LocalBlobs):  # an S3 server checks its own disks, and reading a bucket costs money
        checks.append(BlobCheck(blobs))
    services = Services(
        instance=instance,
        names=names,
        use_case=use_case,
        storage=storage,
        keys=keys,
        access=CredentialChecker(keys, use_case),
        schemas=schemas,
        streams=Streams(use_case),
        blobs=blobs,
        tools=catalog,
        run_tools=own_tools,
        taken_names=taken_names(own_tools),
        runs=workers.runs,
        jobs=workers.jobs,
        models=models,
        database_check=database_check,
        sign_in_token=sign_in_token,
    )
    state = ServiceState(services, database, checks, sharing)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await state.start()
        try:
            yield
        finally:
            await state.close()

    def lifecycle(app: ASGIApp) -> RequestLifecycleMiddleware:
        state.lifecycle = RequestLifecycleMiddleware(app, settings.gateway_seconds, services.access, names, use_case)
        return state.lifecycle

    answered = [readiness.Readiness().route(), *metrics.routes(settings)]
    if role == "worker":
        answered += healthz_routes()
    else:  # Starlette tries routes in order: put the most frequent ones first
        answered = [*routes(), *mcp.routes(load_mcp), *answered, *pages()]
    app = Starlette(routes=answered, middleware=[Middleware(lifecycle)], lifespan=lifespan)
    app.router.redirect_slashes, app.router.default = False, unknown_path
    app.state.service = state
    return app


def _complete(models: Mapping[str, Agent]) -> Complete | None:
    """Return a function that sends a tool's prompt to the model of the tool's run, or None if no model can answer."""
    answering = {id: agent.complete for id, agent in models.items() if hasattr(agent, "complete")}

    async def complete(prompt: str, schema: Mapping[str, Any], meter: Meter) -> dict[str, Any]:
        if meter.model not in answering:
            why = f"This tool needs a language model, but the run uses {meter.model}. Choose another model for the run."
            raise WorkFailure("not_configured", why)
        found: dict[str, Any] = await answering[meter.model](prompt, schema, meter)
        return found

    return complete if answering else None
