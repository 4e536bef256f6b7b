"""Signing in and out, and what everybody may see: the terms and the pages' own files (contract §7)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from starlette.responses import RedirectResponse, Response

from agentsvc_nb.service.actions import sessions
from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.http import sessions as cookies
from agentsvc_nb.service.http.backend import Call
from agentsvc_nb.service.records import sessions as records
from agentsvc_nb.service.web.rendering import render
from agentsvc_nb.wire import terms as wire_terms

_STATIC: Final = Path(__file__).parent / "static"
_FILES: Final = {"app.css": "text/css", "follow.js": "text/javascript"}


async def sign_in(call: Call) -> Response:
    """The link: a session for its token, and how to get the link for everything else."""
    given = call.request.query_params.get("token", "")
    if not sessions.is_token(given, call.backend.sign_in_token):
        return render("sign_in.html", 401 if given else 200, wrong=bool(given))
    now = call.now
    secret = await call.write(lambda tx: sessions.open_(tx, now))
    _forget_keys(call)
    response = RedirectResponse("/app", 303)
    cookies.give(call.request, response, secret)
    return response


async def sign_out(call: Call) -> Response:
    session = call.known_session
    assert session is not None, "the page is not open"
    await call.write(lambda tx: records.remove(tx, session.digest))
    _forget_keys(call)
    response = RedirectResponse("/app/sign-in", 303)
    cookies.take_back(call.request, response)
    return response


async def terms(call: Call) -> Response:
    return render("terms.html", version=wire_terms.VERSION, text=wire_terms.TEXT)


async def static(call: Call) -> Response:
    name = call.path("name")
    if name not in _FILES:
        raise Fail("not_found")
    return Response((_STATIC / name).read_bytes(), media_type=_FILES[name])


async def missing(call: Call) -> Response:
    raise Fail("not_found", "There is no such page.")


async def home(call: Call) -> Response:
    return RedirectResponse("/app", 303)


def _forget_keys(call: Call) -> None:
    """Secrets that were made for sessions that are over: nobody can load their page any more."""
    fresh, now = call.backend.fresh_keys, call.now
    there = call.read(lambda tx: {digest for digest in fresh if records.get(tx, digest, now)})
    for digest in fresh.keys() - there:
        del fresh[digest]
