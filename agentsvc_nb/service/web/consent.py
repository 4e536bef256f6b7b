"""The page on which a user allows a connector to use the service by MCP, or refuses it (docs/mcp.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from agentsvc_nb.service.accounts import oauth
from agentsvc_nb.service.accounts.oauth import Consent, OAuthError
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import access, bodies
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.mcp.oauth import clients, redirects, requests
from agentsvc_nb.service.mcp.oauth.clients import Client, Unusable
from agentsvc_nb.service.mcp.oauth.endpoints import own_origin
from agentsvc_nb.service.mcp.oauth.requests import ASKED, Asked, Parameters
from agentsvc_nb.service.web import content_policy, failure, render
from agentsvc_nb.wire.limits import KEY_BUDGET_CENTS_MAX

_DAY: Final = 24 * 3600
PERIODS: Final = {"hour": (3600, "an hour"), "day": (_DAY, "a day"), "month": (30 * _DAY, "30 days"),
                  "quarter": (90 * _DAY, "90 days")}  # fmt: skip
"""For how long a user may allow it: seconds, and in words."""
_USUAL: Final = "month"
_ELSEWHERE: Final = frozenset({"cross-site", "same-site"})
_AGAIN: Final = "again"
_BUDGET_DIGITS: Final = len(str(KEY_BUDGET_CENTS_MAX))
"""Python itself refuses to read numbers of thousands of them."""


async def show(context: RequestContext) -> Response:
    """Ask the user, or send the connector's own mistake back to it."""
    return await _page(context, Parameters(context.request.query_params.multi_items()))


async def decide(context: RequestContext) -> Response:
    """Send the connector a code, or that the user refused."""
    pairs = await bodies.read_form(context.request)
    given, form = Parameters(pairs), dict(pairs)
    client, uri = await _addressee(context, given)
    try:
        asked = _asked(context, given, client, uri)
        if form.get("verdict") != "allow":
            raise OAuthError("access_denied", "The user refused.")
    except OAuthError as error:
        return _back(context, given, uri, _error(error))
    budget = _budget(form.get("budget", "").strip())
    if isinstance(budget, str):
        return await _page(context, given, budget, form)
    consent = Consent(
        client_id=client.id,
        redirect_uri=uri,
        challenge=asked.challenge,
        resource=asked.resource,
        scopes=tuple(scope for scope in asked.scopes if scope == "mcp" or form.get(f"scope_{scope}") == "yes"),
        budget_cents=budget,
        seconds=PERIODS.get(form.get("period", ""), PERIODS[_USUAL])[0],
    )
    code = await oauth.issue_code(context.use_case, context.account, consent)
    return _back(context, given, uri, {"code": code})


def refuse(request: Request, error: ApiError) -> Response:
    """The page of an error. Who is not signed in comes back here afterwards."""
    if error.row.code != "unauthorized" or request.method != "GET":
        return failure(error)
    query = request.url.query
    if request.headers.get("sec-fetch-site") in _ELSEWHERE and _AGAIN not in request.query_params:
        # The cookie is not sent with a link of another site's page; with one of this page it is.
        return render("again.html", address=f"{request.url.path}?{query}&{_AGAIN}=1")
    response = render("sign_in.html", error.row.status, error=error, wrong=False, back=True)
    return response if access.remember(request, response) else failure(error)


async def _page(
    context: RequestContext, given: Parameters, problem: str = "", form: Mapping[str, str] | None = None
) -> Response:
    client, uri = await _addressee(context, given)
    try:
        asked = _asked(context, given, client, uri)
    except OAuthError as error:
        return _back(context, given, uri, _error(error))
    response = render("consent.html", 400 if problem else 200, **_shown(asked, given, problem, form or {}))
    response.headers["Content-Security-Policy"] = content_policy(redirects.place(uri))
    return response


def _shown(asked: Asked, given: Parameters, problem: str, form: Mapping[str, str]) -> dict[str, object]:
    return {
        "client": asked.client,
        "goes_to": redirects.host(asked.redirect_uri),
        "loopback": redirects.is_loopback(asked.redirect_uri),
        "approves": "runs" in asked.scopes,
        "approving": "scope_runs" in form,
        "given": given.pairs(ASKED),
        "periods": [(name, words, name == form.get("period", _USUAL)) for name, (_, words) in PERIODS.items()],
        "budget": form.get("budget", ""),
        "budget_max": KEY_BUDGET_CENTS_MAX,
        "problem": problem,
    }


async def _addressee(context: RequestContext, given: Parameters) -> tuple[Client, str]:
    """Who asks, and where the answer goes. Raises `ApiError`: before both are known, nothing is sent anywhere."""
    found = clients.documents(context.services.settings.fetch_allow)
    try:
        given.one("state")
        client = await found.find(given.required("client_id"))
        return client, requests.redirect_uri(given, client)
    except (OAuthError, Unusable) as error:
        raise ApiError("invalid_query", f"This program can't be let in: {error}") from None


def _asked(context: RequestContext, given: Parameters, client: Client, uri: str) -> Asked:
    """The request, looked at. Raises the `OAuthError` with which the connector is answered."""
    origin = own_origin(context.request, context.services)
    return requests.asked(given, client, uri, context.services.names, origin)


def _error(error: OAuthError) -> dict[str, str]:
    return {"error": error.code, "error_description": error.message}


def _back(context: RequestContext, given: Parameters, uri: str, answer: Mapping[str, str]) -> Response:
    """Send the browser back to the connector, with its `state` and who answers (RFC 9207)."""
    said: Iterable[tuple[str, str]] = [*answer.items(), *given.pairs(["state"])]
    target = redirects.with_answer(uri, {**dict(said), "iss": own_origin(context.request, context.services)})
    return RedirectResponse(target, 303, {"Content-Security-Policy": content_policy(redirects.place(uri))})


def _budget(text: str) -> int | str | None:
    """The budget in cents, None for none, or what is wrong with it."""
    if not text:
        return None
    if text.isascii() and text.isdecimal() and len(text) <= _BUDGET_DIGITS and int(text) <= KEY_BUDGET_CENTS_MAX:
        return int(text)
    return f"The budget is a whole number of cents, {KEY_BUDGET_CENTS_MAX:,} at most."
