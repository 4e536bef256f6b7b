"""Handle `GET /readyz` (docs/deploy.md): tell proxies, without a key, whether to send requests to this process."""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agentsvc_nb.service.disk import disk_fault
from agentsvc_nb.service.http.context import Services
from agentsvc_nb.service.runs import observing

PATH: Final = "/readyz"
SECONDS: Final = 2.0
"""A process is not ready if its database does not respond within this time."""
REUSE_MS: Final = 5_000
"""How long the result of a test write is reused. Anybody can send requests, and each test write uses the disk."""
ROOM_BYTES: Final = 64 * 1024
log = logging.getLogger(__name__)


class Readiness:
    """Checks that the service is not stopping, and that a test write to its database and its disk succeeds."""

    def __init__(self) -> None:
        self._trial: asyncio.Future[str | None] | None = None
        self._began = 0

    def route(self) -> Route:
        return Route(PATH, self._respond)

    async def _respond(self, request: Request) -> Response:
        services: Services = request.app.state.service.services
        ending = services.use_case.signals.stopping
        fault = "The service is stopping." if ending else await self._fault(services)
        said = {"ready": fault is None, "reason": fault}
        return JSONResponse(said, 200 if fault is None else 503, headers={"Cache-Control": "no-store"})

    async def _fault(self, services: Services) -> str | None:
        """Return why requests should go to another process, or None if this process is ready."""
        now, trial = services.use_case.now, self._trial
        if trial is None or (trial.done() and not 0 <= now - self._began < REUSE_MS):
            # Don't start a second test write while one hangs, because each occupies a thread.
            trial = self._trial = asyncio.ensure_future(_test_write(services))
            self._began = now
        done, _ = await asyncio.wait([trial], timeout=SECONDS)
        return trial.result() if done else "The database does not answer."


async def _test_write(services: Services) -> str | None:
    """Test a write to the database and the disk. Return None, or why it failed, in words that anybody may see."""
    if services.database_check is not None and services.database_check.fault is not None:
        return "The database is damaged."
    try:
        await observing.touch(services.use_case)
        await asyncio.to_thread(_write_file, services.settings.data)
    except Exception as error:
        log.info("not ready", exc_info=True)
        fault = disk_fault(error)
        return f"The service can't write: {fault}." if fault else "The database does not answer."
    return None


def _write_file(folder: Path) -> None:
    """Write a nameless temporary file, because a test write to the database may succeed even on a full disk."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(ROOM_BYTES))
        file.flush()
        os.fsync(file.fileno())
