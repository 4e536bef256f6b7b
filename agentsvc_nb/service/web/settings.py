"""The developer settings: keys and what each used; and the page of feedback."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, get_args

from starlette.responses import RedirectResponse, Response

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.endpoints import developer as http_keys
from agentsvc_nb.service.records import feedback, keys, usage
from agentsvc_nb.service.records.usage import UsageRecord
from agentsvc_nb.service.usecases import accounts as accounts
from agentsvc_nb.service.usecases import feedback as reports
from agentsvc_nb.service.web import page
from agentsvc_nb.service.web.rendering import render
from agentsvc_nb.wire.feedback import Category, Impact, NewFeedback
from agentsvc_nb.wire.keys import VERSION as TERMS_VERSION
from agentsvc_nb.wire.keys import CreatedKey
from agentsvc_nb.wire.limits import FEEDBACK_PAGE_MAX, FEEDBACK_SUMMARY_CHARS, KEY_NAME_CHARS

_KINDS = {"tokens": "tokens", "picture": "pictures", "web_search": "web searches"}


@dataclass(frozen=True, slots=True)
class UsageLine:
    """What one key used in one UTC month; `what` as words."""

    month: str
    key: str
    what: str
    microcents: int


def lines(records: Iterable[UsageRecord], names: Mapping[str, str]) -> list[UsageLine]:
    """The bill's lines, in the order of the records; `names` are the keys' by id."""
    found = []
    for (month, key_id), group in groupby(records, key=lambda record: (record.month, record.key_id)):
        parts = list(group)
        what = ", ".join(f"{part.quantity:,} {_KINDS.get(part.kind, part.kind)}" for part in parts)
        microcents = sum(part.microcents for part in parts)
        found.append(UsageLine(month, names.get(key_id, key_id), what, microcents))
    return found


async def show(call: RequestContext) -> Response:
    """The page, with the key on it that was just made, this once."""
    seen = call.request.method == "GET"  # of HEAD nobody sees the page
    return _page(call, made=call.backend.fresh_keys.pop(_session(call), None) if seen else None)


async def create(call: RequestContext) -> Response:
    """Make a key and go to the page that shows it, which makes none when it is loaded again; or say what is wrong."""
    form = await page.read(call.request)
    document = {
        "name": form.get("name", ""),
        "developerTermsAccepted": form.get("accepted") == "yes",
        "developerTermsVersion": form.get("version", ""),
    }
    try:
        call.backend.fresh_keys[_session(call)] = await http_keys.made(call, http_keys.new_key(document))
    except ApiError as fail:
        return _page(call, fail=fail, name=document["name"])
    return RedirectResponse("/app/settings", 303)


async def confirm(call: RequestContext) -> Response:
    id = call.path("id")
    return render("delete_key.html", key=call.read(lambda tx: accounts.get_key(tx, call.account, id)))


async def delete(call: RequestContext) -> Response:
    id, now = call.path("id"), call.now
    await call.write(lambda tx: accounts.delete_key(tx, call.account, id, now))
    return RedirectResponse("/app/settings", 303)


def _session(call: RequestContext) -> str:
    assert call.known_session is not None, "the page is not open"
    return call.known_session.digest


def _page(
    call: RequestContext, *, made: CreatedKey | None = None, fail: ApiError | None = None, name: object = ""
) -> Response:
    known = call.read(lambda tx: keys.all(tx, call.account))
    names = {key.id: key.name if key.revoked_at is None else f"{key.name} (deleted)" for key in known}
    billed = call.read(lambda tx: usage.by_key_and_month(tx, call.account))
    return render(
        "settings.html",
        fail.row.status if fail else 200,
        keys=[key for key in known if key.revoked_at is None],
        usage=lines(billed, names),
        made=made,
        fail=fail,
        name=name,
        name_chars=KEY_NAME_CHARS,
        version=TERMS_VERSION,
    )


async def show_feedback(call: RequestContext) -> Response:
    return _feedback_page(call, {})


async def send_feedback(call: RequestContext) -> Response:
    form: dict[str, Any] = await page.read(call.request)
    now = call.now
    try:
        given = bodies.checked(NewFeedback, form, "invalid_feedback")
        await call.write(lambda tx: reports.send(tx, call.account, given, now))
    except ApiError as fail:
        return _feedback_page(call, form, fail)
    return RedirectResponse("/app/feedback", 303)


def _feedback_page(call: RequestContext, form: dict[str, Any], fail: ApiError | None = None) -> Response:
    return render(
        "feedback.html",
        fail.row.status if fail else 200,
        reports=call.read(lambda tx: feedback.page(tx, call.account, None, FEEDBACK_PAGE_MAX)),
        fail=fail,
        form=form,
        categories=get_args(Category),
        impacts=get_args(Impact),
        summary_chars=FEEDBACK_SUMMARY_CHARS,
    )
