"""The API's handlers for the service's health and its OpenAPI document."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

import agentsvc_nb
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.responses import JSON, answer_json
from agentsvc_nb.wire import proof


async def service_health(context: RequestContext) -> Response:
    """Return the service's health. If the request has a nonce, add a proof that the service knows the data folder's
    key.

    Clients of an embedded service check the proof before they send anything else (docs/api/embedded.md).
    """
    said = {
        "object": "health",
        "status": "ok",
        "instance": context.services.instance,
        "version": agentsvc_nb.__version__,
    }
    nonce = bodies.nonce(context)
    if nonce is not None and (proved := _proof(context, nonce)):
        said["proof"] = proved
    return answer_json(said)


def _proof(context: RequestContext, nonce: str) -> str | None:
    """Return the proof for a nonce, or None without a key file. Read the file each time: the key may change."""
    # Use the socket's address, because the client chooses the header `Host`.
    server = context.request.scope.get("server") or ("", 0)
    try:
        key = DataFolder(context.services.settings.data).own_key()
        own = proof.address(server[0], server[1])
    except (OSError, ValueError):
        return None
    return proof.proof(key, nonce, context.services.instance, own)


async def service_openapi(context: RequestContext) -> Response:
    """Return the OpenAPI document. Build it at the first request, in a thread, because building takes long."""
    return Response(await asyncio.to_thread(_document), media_type=JSON)


def _document() -> bytes:
    from agentsvc_nb.service.http import openapi

    return openapi.text()
