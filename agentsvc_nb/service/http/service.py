"""What the service says of itself."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

import agentsvc_nb
from agentsvc_nb.service.http.answers import JSON, answer_json
from agentsvc_nb.service.http.backend import Call


async def health(call: Call) -> Response:
    """Which instance answers: asked before any key is sent to an embedded service (contract §8)."""
    return answer_json(
        {
            "object": "health",
            "status": "ok",
            "instance": call.backend.instance,
            "version": agentsvc_nb.__version__,
        }
    )


async def openapi(call: Call) -> Response:
    """The description of this API; built at the first request, in a thread, because that takes longer than a read."""
    return Response(await asyncio.to_thread(_document), media_type=JSON)


def _document() -> bytes:
    from agentsvc_nb.service.http.openapi import document

    return document.text()
