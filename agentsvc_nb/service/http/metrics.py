"""`GET /metrics` for Prometheus (docs/monitoring.md). Without the operator's token, it looks like an unknown path."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from agentsvc_nb.service.http.context import Services
from agentsvc_nb.service.http.routing import Endpoint, unknown_path
from agentsvc_nb.service.runs import observing
from agentsvc_nb.service.telemetry.metrics import Labels, Metric, Metrics
from agentsvc_nb.settings import Settings

Gauges = Mapping[Metric, Mapping[Labels, float]]
Render = Callable[[Metrics, Gauges], bytes]

PATH: Final = "/metrics"
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

RUNS: Final = Metric("agentsvc_runs", "gauge", "Active runs by status.", ("status",))
JOBS: Final = Metric("agentsvc_jobs", "gauge", "Active jobs of tools by status.", ("status",))
QUEUE_DEPTH: Final = Metric("agentsvc_queue_depth", "gauge", "Runs and jobs that wait for a worker.", ("work",))
QUEUE_OLDEST: Final = Metric(
    "agentsvc_queue_oldest_seconds",
    "gauge",
    "How long the oldest waiting run or job has waited. 0 if none waits.",
    ("work",),
)
APPROVALS: Final = Metric("agentsvc_approvals_waiting", "gauge", "Tool calls that wait for a person's approval.")
WORKERS: Final = Metric("agentsvc_workers", "gauge", "Processes that execute runs. If 0, accepted runs and jobs wait.")
FOLLOWERS: Final = Metric("agentsvc_stream_followers", "gauge", "Open event streams.")
DATABASE: Final = Metric("agentsvc_database_bytes", "gauge", "Size of the database.")
DISK_SIZE: Final = Metric("agentsvc_disk_size_bytes", "gauge", "Size of the data folder's disk.")
DISK_FREE: Final = Metric("agentsvc_disk_free_bytes", "gauge", "Free space on that disk for the service.")
GAUGES: Final = (
    RUNS,
    JOBS,
    QUEUE_DEPTH,
    QUEUE_OLDEST,
    APPROVALS,
    WORKERS,
    FOLLOWERS,
    DATABASE,
    DISK_SIZE,
    DISK_FREE,
)
"""Metrics whose values the service reads at each request for `/metrics`."""


def routes(settings: Settings) -> list[BaseRoute]:
    """Return a list with the route `/metrics`, or an empty list if the settings have no token for it."""
    if not settings.metrics_token:
        return []
    # Import the library only in a service that has the route.
    from agentsvc_nb.service.telemetry.prometheus import render

    return [Route(PATH, MetricsEndpoint(settings.metrics_token, render))]


class MetricsEndpoint:
    """The ASGI endpoint of `/metrics`, which requires the token."""

    def __init__(self, token: str, render: Render) -> None:
        self._token = token.encode()
        self._render = render
        self._endpoint = Endpoint({"GET": self._respond})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        opens = kind.lower() == "bearer" and secrets.compare_digest(given.strip().encode("latin-1"), self._token)
        if not opens or request.method not in ("GET", "HEAD"):
            return await unknown_path(scope, receive, send)
        await self._endpoint(scope, receive, send)

    async def _respond(self, _: Request, services: Services) -> Response:
        text = self._render(services.use_case.metrics, await _read_gauges(services))
        return Response(text, media_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"})


async def _read_gauges(services: Services) -> Gauges:
    now, found = services.use_case.now, await observing.measure_load(services.use_case)
    waiting = {"run": found.runs, "job": found.jobs}
    disk = shutil.disk_usage(services.settings.data)
    return {
        RUNS: {(status,): count for status, count in found.runs.by_status.items()},
        JOBS: {(status,): count for status, count in found.jobs.by_status.items()},
        QUEUE_DEPTH: {(work,): active.by_status["queued"] for work, active in waiting.items()},
        QUEUE_OLDEST: {
            (work,): 0 if active.queued_since is None else max(0, now - active.queued_since) / 1000
            for work, active in waiting.items()
        },
        APPROVALS: {(): found.approvals},
        WORKERS: {(): found.workers},
        FOLLOWERS: {(): services.streams.followers},
        DATABASE: {(): found.database_bytes},
        DISK_SIZE: {(): disk.total},
        DISK_FREE: {(): disk.free},
    }
