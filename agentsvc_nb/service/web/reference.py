"""The page of the API for people, from the same document that programs read."""

from __future__ import annotations

import asyncio
import functools

from starlette.responses import HTMLResponse, Response

from agentsvc_nb.service.http.backend import Call
from agentsvc_nb.service.web.rendering import render


async def show(call: Call) -> Response:
    return HTMLResponse(await asyncio.to_thread(_page))


@functools.cache
def _page() -> bytes:
    """Built once, in a thread: it takes longer than a read, and is the same for everybody."""
    from agentsvc_nb.service.http.openapi import document, reference

    described = document.document()
    chapters, shapes = reference.chapters(described), reference.shapes(described)
    return bytes(render("reference.html", info=described["info"], chapters=chapters, shapes=shapes).body)
