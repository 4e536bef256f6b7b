"""`GET /readyz`, for proxies and orchestrators (docs/operations.md): whether to send requests here. It needs no key and
tells nothing else."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from agentsvc_nb.service.http.context import Services
from agentsvc_nb.service.usecases import observing

PATH: Final = "/readyz"
SECONDS: Final = 2.0
"""A database that does not answer for so long answers no request in time either."""
log = logging.getLogger(__name__)


def routes() -> list[BaseRoute]:
    return [Route(PATH, _respond)]


async def _respond(request: Request) -> Response:
    services: Services = request.app.state.service.services
    fault = await _fault(services)
    said = {"ready": fault is None, "reason": fault}
    return JSONResponse(said, 200 if fault is None else 503, headers={"Cache-Control": "no-store"})


async def _fault(services: Services) -> str | None:
    """Why requests should go elsewhere; None if they need not."""
    if services.use_case.signals.stopping:
        return "It is ending."
    try:
        async with asyncio.timeout(SECONDS):
            await observing.touch(services.use_case)
    except Exception:
        log.info("not ready: the database does not answer", exc_info=True)
        return "Its database does not answer."
    return None
