"""Pages that need no session: sign-in, the terms, the API reference, static files; and sign-out."""

from __future__ import annotations

import asyncio
import functools
from pathlib import Path
from typing import Final

from starlette.responses import HTMLResponse, RedirectResponse, Response

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import sessions
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.usecases import accounts
from agentsvc_nb.service.web.rendering import render
from agentsvc_nb.wire import resources as wire_terms

_STATIC: Final = Path(__file__).parent / "static"
_FILES: Final = {"app.css": "text/css", "follow.js": "text/javascript"}


async def sign_in(context: RequestContext) -> Response:
    """Open a session for the token of the sign-in link; without a valid token, the page that says how to get the
    link."""
    given = context.request.query_params.get("token", "")
    if not accounts.is_token(given, context.services.sign_in_token):
        return render("sign_in.html", 401 if given else 200, wrong=bool(given))
    secret = await accounts.open_session(context.use_case)
    await _forget_keys(context)
    response = RedirectResponse("/app", 303)
    sessions.give(context.request, response, secret)
    return response


async def sign_out(context: RequestContext) -> Response:
    session = context.known_session
    assert session is not None, "the page is not open"
    await accounts.close_session(context.use_case, session)
    await _forget_keys(context)
    response = RedirectResponse("/app/sign-in", 303)
    sessions.take_back(context.request, response)
    return response


async def terms(context: RequestContext) -> Response:
    return render("terms.html", version=wire_terms.TERMS_VERSION, text=wire_terms.TERMS_TEXT)


async def static(context: RequestContext) -> Response:
    name = context.path("name")
    if name not in _FILES:
        raise ApiError("not_found")
    return Response((_STATIC / name).read_bytes(), media_type=_FILES[name])


async def missing(context: RequestContext) -> Response:
    raise ApiError("not_found", "There is no such page.")


async def home(context: RequestContext) -> Response:
    return RedirectResponse("/app", 303)


async def _forget_keys(context: RequestContext) -> None:
    """Drop the new keys of sessions that have ended: nobody can load the page that would show them."""
    fresh = context.services.fresh_keys
    there = await accounts.open_sessions(context.use_case, list(fresh))
    for digest in fresh.keys() - there:
        del fresh[digest]


async def show(context: RequestContext) -> Response:
    return HTMLResponse(await asyncio.to_thread(_page))


@functools.cache
def _page() -> bytes:
    """The reference page, built once; slower than a read, so called in a thread."""
    from agentsvc_nb.service.http.openapi import document, reference

    described = document.document()
    chapters, shapes = reference.chapters(described), reference.shapes(described)
    return bytes(render("reference.html", info=described["info"], chapters=chapters, shapes=shapes).body)
