"""What the service says of itself."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

import agentsvc_nb
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.http import parameters
from agentsvc_nb.service.http.answers import JSON, answer_json
from agentsvc_nb.service.http.backend import Call
from agentsvc_nb.wire import proof


async def health(call: Call) -> Response:
    """Which instance answers, and its proof: asked before anything is sent to an embedded service (contract §8)."""
    said = {
        "object": "health",
        "status": "ok",
        "instance": call.backend.instance,
        "version": agentsvc_nb.__version__,
    }
    nonce = parameters.nonce(call)
    if nonce is not None and (proved := _proof(call, nonce)):
        said["proof"] = proved
    return answer_json(said)


def _proof(call: Call, nonce: str) -> str | None:
    """None where there is no key. The key is read each time, as who asks reads it: it may have been replaced."""
    server = call.request.scope.get("server") or ("", 0)  # the socket's own name, whatever `Host` says
    try:
        key = DataFolder(call.backend.settings.data).own_key()
        own = proof.address(server[0], server[1])
    except (OSError, ValueError):
        return None
    return proof.proof(key, nonce, call.backend.instance, own)


async def openapi(call: Call) -> Response:
    """The description of this API; built at the first request, in a thread, because that takes longer than a read."""
    return Response(await asyncio.to_thread(_document), media_type=JSON)


def _document() -> bytes:
    from agentsvc_nb.service.http.openapi import document

    return document.text()
