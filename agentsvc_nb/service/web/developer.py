"""The handlers for developer pages: sign-in, keys with usage, feedback, terms, the API reference, and static files."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final, get_args

from starlette.responses import FileResponse, RedirectResponse, Response

from agentsvc_nb.service.accounts import accounts, feedback
from agentsvc_nb.service.accounts.usage_records import UsageRecord
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import access, bodies
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.runs import processes
from agentsvc_nb.service.terms import TERMS_TEXT, TERMS_VERSION
from agentsvc_nb.service.web import CONTENT_POLICY, render
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.limits import FEEDBACK_PAGE_MAX, FEEDBACK_SUMMARY_CHARS, KEY_NAME_CHARS
from agentsvc_nb.wire.resources import Category, CreatedKey, Impact, NewFeedback
from agentsvc_nb.wire.routes import ROUTES

_STATIC: Final = Path(__file__).parent / "static"
_FILES: Final = frozenset({"base.css", "app.css", "follow.js", "reference.js", "icon.svg"})
_ANSWERS: Final = _STATIC.parents[2] / "labextension" / "static" / "answer.css"
"""The style sheet of answers, which notebooks use as well."""
# On Windows, these file extensions may map to other media types. Browsers would then refuse a script.
_MEDIA_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_VIEWER: Final = {"swagger-ui.css": "swagger_style.css", "swagger-ui.js": "swagger_bundle.js"}
"""The names of Swagger UI's files in the package `offapi`, by their names in URLs."""


async def sign_in(context: RequestContext) -> Response:
    """Open a session for the token of the sign-in link. Without a valid token, show how to get the link."""
    given = context.request.query_params.get("token", "")
    known = accounts.is_token(given, context.services.sign_in_token)
    if not known and not (given and await processes.is_sign_in(context.use_case, given)):
        return render("sign_in.html", 401 if given else 200, wrong=bool(given))
    secret = await accounts.open_session(context.use_case)
    await _forget_keys(context)
    chat = context.request.query_params.get("chat")
    asked = f"/app/chats/{chat}" if ids.is_chat(chat) else None
    response = RedirectResponse(asked or "/app", 303)
    access.set_session_cookie(context.request, response, secret)
    return response


async def sign_out(context: RequestContext) -> Response:
    session = context.known_session
    assert session is not None, "the page is not open"
    await accounts.close_session(context.use_case, session)
    await _forget_keys(context)
    response = RedirectResponse("/app/sign-in", 303)
    access.delete_session_cookie(context.request, response)
    return response


async def _forget_keys(context: RequestContext) -> None:
    """Drop the new keys of sessions that have ended, because nobody can open the page that would show them."""
    fresh = context.services.fresh_keys
    there = await accounts.find_open_sessions(context.use_case, list(fresh))
    for digest in fresh.keys() - there:
        del fresh[digest]


async def show_settings(context: RequestContext) -> Response:
    """Show the settings page. The first time after a key was created, it shows the key's secret."""
    seen = context.request.method == "GET"  # a HEAD must not use up the only time that the key is shown
    return await _settings_page(
        context, made=context.services.fresh_keys.pop(_session(context), None) if seen else None
    )


async def create_key(context: RequestContext) -> Response:
    """Create a key. Then redirect to the settings page, so that a reload does not create a second key.

    For an invalid form, show the error on that page.
    """
    form = await bodies.read_form_fields(context.request)
    document = {
        "name": form.get("name", ""),
        "developerTermsAccepted": form.get("accepted") == "yes",
        "developerTermsVersion": form.get("version", ""),
    }
    try:
        made = await accounts.issue_key(context.use_case, bodies.new_key(document))
    except ApiError as error:
        return await _settings_page(context, error=error, name=document["name"])
    # Keep the secret only for the next page of this session: it is shown once and stored nowhere.
    context.services.fresh_keys[_session(context)] = made
    return RedirectResponse("/app/settings", 303)


async def confirm_deletion(context: RequestContext) -> Response:
    key = await accounts.get_key(context.use_case, context.account, context.path("id"))
    return render("delete_key.html", key=key)


async def delete_key(context: RequestContext) -> Response:
    await accounts.delete_key(context.use_case, context.account, context.path("id"))
    return RedirectResponse("/app/settings", 303)


def _session(context: RequestContext) -> str:
    assert context.known_session is not None, "the page is not open"
    return context.known_session.digest


async def _settings_page(
    context: RequestContext, *, made: CreatedKey | None = None, error: ApiError | None = None, name: object = ""
) -> Response:
    known = await accounts.list_keys(context.use_case, context.account)
    names = {key.id: key.name if key.revoked_at is None else f"{key.name} (deleted)" for key in known}
    billed = await accounts.list_usage(context.use_case, context.account)
    return render(
        "settings.html",
        error.row.status if error else 200,
        keys=[key for key in known if key.revoked_at is None],
        usage=_usage_lines(billed, names),
        today=await accounts.usage_of_today(context.use_case, context.account),
        made=made,
        error=error,
        name=name,
        name_chars=KEY_NAME_CHARS,
        version=TERMS_VERSION,
    )


_KINDS = {"tokens": "tokens", "picture": "pictures", "web_search": "web searches"}


@dataclass(frozen=True, slots=True)
class _UsageLine:
    """A key's usage in one UTC month."""

    month: str
    key: str
    """The name of the key."""
    what: str
    """The quantities in words, such as `1,500 tokens, 3 pictures`."""
    microcents: int


def _usage_lines(records: Iterable[UsageRecord], names: Mapping[str, str]) -> list[_UsageLine]:
    """Return one usage line per month and key, in the order of the records. `names` maps key ids to names."""
    found = []
    for (month, key_id), group in groupby(records, key=lambda record: (record.month, record.key_id)):
        parts = list(group)
        what = ", ".join(f"{part.quantity:,} {_KINDS.get(part.kind, part.kind)}" for part in parts)
        microcents = sum(part.microcents for part in parts)
        found.append(_UsageLine(month, names.get(key_id, key_id), what, microcents))
    return found


async def show_feedback(context: RequestContext) -> Response:
    return await _feedback_page(context, {})


async def send_feedback(context: RequestContext) -> Response:
    form: dict[str, Any] = await bodies.read_form_fields(context.request)
    try:
        given = bodies.validate(NewFeedback, form, "invalid_feedback")
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


async def terms(context: RequestContext) -> Response:
    return render("terms.html", version=TERMS_VERSION, text=TERMS_TEXT)


async def show_reference(context: RequestContext) -> Response:
    response = render("reference.html", document=ROUTES["service.openapi"].path)
    # Swagger UI's style sheet contains its icons as data.
    policy = CONTENT_POLICY.replace("img-src 'self'", "img-src 'self' data:")
    response.headers["Content-Security-Policy"] = policy
    return response


async def static(context: RequestContext) -> Response:
    name = context.path("name")
    if name in _VIEWER:
        path, headers = _viewer_file(_VIEWER[name]), {"Cache-Control": "private, max-age=3600"}
    elif name in _FILES:
        path, headers = _STATIC / name, {}
    elif name == _ANSWERS.name:
        path, headers = _ANSWERS, {}
    else:
        raise ApiError("not_found")
    return FileResponse(path, headers=headers, media_type=_MEDIA_TYPES[path.suffix])


def _viewer_file(name: str) -> Path:
    """Return the path of a Swagger UI file in the package `offapi`, whose import would load 9 MB of viewers."""
    package = importlib.util.find_spec("offapi")
    assert package is not None, "a package of the base install"
    assert package.origin is not None
    return Path(package.origin).parent / name


async def home(context: RequestContext) -> Response:
    return RedirectResponse("/app", 303)


async def missing(context: RequestContext) -> Response:
    raise ApiError("not_found", "This page does not exist.")
