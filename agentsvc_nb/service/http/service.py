"""What the service says of itself."""

from __future__ import annotations

from starlette.responses import Response

import agentsvc_nb
from agentsvc_nb.service.http.answers import answer_json
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
