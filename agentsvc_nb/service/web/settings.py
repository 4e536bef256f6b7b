"""The page of developer settings, with keys and their usage; and the page of feedback."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, get_args

from starlette.responses import RedirectResponse, Response

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.records.usage import UsageRecord
from agentsvc_nb.service.usecases import accounts, feedback
from agentsvc_nb.service.web.rendering import render
from agentsvc_nb.wire.limits import FEEDBACK_PAGE_MAX, FEEDBACK_SUMMARY_CHARS, KEY_NAME_CHARS
from agentsvc_nb.wire.resources import TERMS_VERSION, Category, CreatedKey, Impact, NewFeedback

_KINDS = {"tokens": "tokens", "picture": "pictures", "web_search": "web searches"}


@dataclass(frozen=True, slots=True)
class UsageLine:
    """The usage of one key in one UTC month; `what` lists the quantities in words, `key` is the key's name."""

    month: str
    key: str
    what: str
    microcents: int


def lines(records: Iterable[UsageRecord], names: Mapping[str, str]) -> list[UsageLine]:
    """The usage lines, in the order of the records, grouped by month and key; `names` maps key ids to names."""
    found = []
    for (month, key_id), group in groupby(records, key=lambda record: (record.month, record.key_id)):
        parts = list(group)
        what = ", ".join(f"{part.quantity:,} {_KINDS.get(part.kind, part.kind)}" for part in parts)
        microcents = sum(part.microcents for part in parts)
        found.append(UsageLine(month, names.get(key_id, key_id), what, microcents))
    return found


async def show(context: RequestContext) -> Response:
    """The settings page; the first time after a key was made, it shows the key's secret."""
    seen = context.request.method == "GET"  # a HEAD must not use up the only time that the key is shown
    return await _page(context, made=context.services.fresh_keys.pop(_session(context), None) if seen else None)


async def create(context: RequestContext) -> Response:
    """Create a key and redirect to the page that shows it, so that reloading creates no other; or show the error."""
    form = await bodies.read_form_fields(context.request)
    document = {
        "name": form.get("name", ""),
        "developerTermsAccepted": form.get("accepted") == "yes",
        "developerTermsVersion": form.get("version", ""),
    }
    try:
        made = await accounts.issue_key(context.use_case, bodies.new_key(document))
    except ApiError as error:
        return await _page(context, error=error, name=document["name"])
    context.services.fresh_keys[_session(context)] = made
    return RedirectResponse("/app/settings", 303)


async def confirm(context: RequestContext) -> Response:
    key = await accounts.get_key(context.use_case, context.account, context.path("id"))
    return render("delete_key.html", key=key)


async def delete(context: RequestContext) -> Response:
    await accounts.delete_key(context.use_case, context.account, context.path("id"))
    return RedirectResponse("/app/settings", 303)


def _session(context: RequestContext) -> str:
    assert context.known_session is not None, "the page is not open"
    return context.known_session.digest


async def _page(
    context: RequestContext, *, made: CreatedKey | None = None, error: ApiError | None = None, name: object = ""
) -> Response:
    known = await accounts.list_keys(context.use_case, context.account)
    names = {key.id: key.name if key.revoked_at is None else f"{key.name} (deleted)" for key in known}
    billed = await accounts.list_usage(context.use_case, context.account)
    return render(
        "settings.html",
        error.row.status if error else 200,
        keys=[key for key in known if key.revoked_at is None],
        usage=lines(billed, names),
        made=made,
        error=error,
        name=name,
        name_chars=KEY_NAME_CHARS,
        version=TERMS_VERSION,
    )


async def show_feedback(context: RequestContext) -> Response:
    return await _feedback_page(context, {})


async def send_feedback(context: RequestContext) -> Response:
    form: dict[str, Any] = await bodies.read_form_fields(context.request)
    try:
        given = bodies.check(NewFeedback, form, "invalid_feedback")
        await feedback.send(context.use_case, context.account, given)
    except ApiError as error:
        return await _feedback_page(context, form, error)
    return RedirectResponse("/app/feedback", 303)


async def _feedback_page(context: RequestContext, form: dict[str, Any], error: ApiError | None = None) -> Response:
    return render(
        "feedback.html",
        error.row.status if error else 200,
        reports=await feedback.page(context.use_case, context.account, None, FEEDBACK_PAGE_MAX),
        error=error,
        form=form,
        categories=get_args(Category),
        impacts=get_args(Impact),
        summary_chars=FEEDBACK_SUMMARY_CHARS,
    )
