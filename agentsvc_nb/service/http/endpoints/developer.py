"""Keys, terms and feedback over HTTP, and what the service says of itself."""

from __future__ import annotations

import asyncio
from typing import get_args

from starlette.responses import Response

import agentsvc_nb
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.answers import JSON, answer, answer_json
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.records import feedback, keys
from agentsvc_nb.service.usecases import accounts as accounts
from agentsvc_nb.service.usecases import feedback as reports
from agentsvc_nb.wire import proof
from agentsvc_nb.wire.feedback import FeedbackList, FeedbackReceipt, NewFeedback, Status
from agentsvc_nb.wire.keys import VERSION as TERMS_VERSION
from agentsvc_nb.wire.keys import CreatedKey, DeletedKey, DeveloperTerms, KeyList, NewKey
from agentsvc_nb.wire.limits import FEEDBACK_PAGE_DEFAULT, FEEDBACK_PAGE_MAX
from agentsvc_nb.wire.routes import ROUTES


async def current_terms(call: RequestContext) -> Response:
    return answer(DeveloperTerms(version=TERMS_VERSION, url=f"{call.backend.storage.origin}/app/terms"))


async def create_key(call: RequestContext) -> Response:
    given = new_key(await bodies.read_object(call.request))
    return answer(await made(call, given), 201)


async def list_keys(call: RequestContext) -> Response:
    found = call.read(lambda tx: keys.all(tx, call.account))
    return answer(KeyList(data=[key.public() for key in found if key.revoked_at is None]))


async def delete_key(call: RequestContext) -> Response:
    id, now = call.path("id"), call.now
    await call.write(lambda tx: accounts.delete_key(tx, call.account, id, now))
    return answer(DeletedKey(id=id))


def new_key(document: bodies.Document) -> NewKey:
    """The body checked: the terms first, then what the key should be."""
    needed = {"requiredDeveloperTermsVersion": TERMS_VERSION}
    if document.get("developerTermsAccepted") is not True:
        raise ApiError("developer_terms_not_accepted", top=needed)
    if document.get("developerTermsVersion") != TERMS_VERSION:
        raise ApiError("developer_terms_version_mismatch", top=needed)
    scopes = document.get("scopes", [])
    if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
        raise ApiError("invalid_scope", "`scopes` must be a list of names.")
    accounts.check_scopes(scopes)
    return bodies.checked(NewKey, document, "invalid_json")


async def made(call: RequestContext, given: NewKey) -> CreatedKey:
    """A new key as it was asked for, with its secret."""
    clock, scopes = call.backend.storage.clock, tuple(dict.fromkeys(given.scopes or ()))
    record, secret = await call.write(
        lambda tx: accounts.create_key(
            tx, clock, name=given.name, scopes=scopes, budget_cents=given.monthly_budget_cents
        )
    )
    return CreatedKey(**record.public().model_dump(), key=secret)


async def send_feedback(call: RequestContext) -> Response:
    given = bodies.checked(NewFeedback, await bodies.read_object(call.request), "invalid_feedback")
    account, now = call.key.account, call.now
    record = await call.write(lambda tx: reports.send(tx, account, given, now))
    where = ROUTES["feedback.get"].url(id=record.id)
    guidance = f"Thank you. The team's reply will stand in the report: GET {where}."
    return answer(FeedbackReceipt(id=record.id, guidance=guidance), 201)


async def list_feedback(call: RequestContext) -> Response:
    status = call.request.query_params.get("status")
    allowed = get_args(Status)
    if status is not None and status not in allowed:
        raise ApiError("invalid_query", f"`status` must be one of {', '.join(allowed)}.", param="status")
    limit = bodies.integer(call, "limit", FEEDBACK_PAGE_DEFAULT, 1, FEEDBACK_PAGE_MAX)
    found = call.read(lambda tx: feedback.page(tx, call.key.account, status, limit))
    return answer(FeedbackList(data=[record.public() for record in found]))


async def get_feedback(call: RequestContext) -> Response:
    account, report = call.key.account, call.path("id")
    return answer(call.read(lambda tx: reports.get(tx, account, report)).public())


async def health(call: RequestContext) -> Response:
    """Which instance answers, and its proof: asked before anything is sent to an embedded service
    (docs/api/embedded.md)."""
    said = {
        "object": "health",
        "status": "ok",
        "instance": call.backend.instance,
        "version": agentsvc_nb.__version__,
    }
    nonce = bodies.nonce(call)
    if nonce is not None and (proved := _proof(call, nonce)):
        said["proof"] = proved
    return answer_json(said)


def _proof(call: RequestContext, nonce: str) -> str | None:
    """None where there is no key. The key is read each time, as who asks reads it: it may have been replaced."""
    server = call.request.scope.get("server") or ("", 0)  # the socket's own name, whatever `Host` says
    try:
        key = DataFolder(call.backend.settings.data).own_key()
        own = proof.address(server[0], server[1])
    except (OSError, ValueError):
        return None
    return proof.proof(key, nonce, call.backend.instance, own)


async def openapi(call: RequestContext) -> Response:
    """The description of this API; built at the first request, in a thread, because that takes longer than a read."""
    return Response(await asyncio.to_thread(_document), media_type=JSON)


def _document() -> bytes:
    from agentsvc_nb.service.http.openapi import document

    return document.text()
