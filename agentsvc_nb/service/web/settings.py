"""The developer settings: keys made, listed and deleted, and what each used (spec.md "Authentication")."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from agentsvc_nb.service.actions import keys as actions
from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.http import keys as http_keys
from agentsvc_nb.service.http.backend import Call
from agentsvc_nb.service.records import keys, usage
from agentsvc_nb.service.web import forms
from agentsvc_nb.service.web import usage as lines
from agentsvc_nb.service.web.rendering import render
from agentsvc_nb.wire import terms
from agentsvc_nb.wire.keys import CreatedKey
from agentsvc_nb.wire.limits import KEY_NAME_CHARS


async def show(call: Call) -> Response:
    """The page, with the key on it that was just made, this once."""
    seen = call.request.method == "GET"  # of HEAD nobody sees the page
    return _page(call, made=call.backend.fresh_keys.pop(_session(call), None) if seen else None)


async def create(call: Call) -> Response:
    """Make a key and go to the page that shows it, which makes none when it is loaded again; or say what is wrong."""
    form = await forms.read(call.request)
    document = {
        "name": form.get("name", ""),
        "developerTermsAccepted": form.get("accepted") == "yes",
        "developerTermsVersion": form.get("version", ""),
    }
    try:
        call.backend.fresh_keys[_session(call)] = await http_keys.made(call, http_keys.new_key(document))
    except Fail as fail:
        return _page(call, fail=fail, name=document["name"])
    return RedirectResponse("/app/settings", 303)


async def confirm(call: Call) -> Response:
    id = call.path("id")
    return render("delete_key.html", key=call.read(lambda tx: actions.get(tx, call.account, id)))


async def delete(call: Call) -> Response:
    id, now = call.path("id"), call.now
    await call.write(lambda tx: actions.delete(tx, call.account, id, now))
    return RedirectResponse("/app/settings", 303)


def _session(call: Call) -> str:
    assert call.known_session is not None, "the page is not open"
    return call.known_session.digest


def _page(call: Call, *, made: CreatedKey | None = None, fail: Fail | None = None, name: object = "") -> Response:
    known = call.read(lambda tx: keys.all(tx, call.account))
    names = {key.id: key.name if key.revoked_at is None else f"{key.name} (deleted)" for key in known}
    billed = call.read(lambda tx: usage.by_key_and_month(tx, call.account))
    return render(
        "settings.html",
        fail.row.status if fail else 200,
        keys=[key for key in known if key.revoked_at is None],
        usage=lines.lines(billed, names),
        made=made,
        fail=fail,
        name=name,
        name_chars=KEY_NAME_CHARS,
        version=terms.VERSION,
    )
