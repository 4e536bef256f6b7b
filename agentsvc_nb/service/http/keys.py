"""Keys and terms over HTTP, for a signed-in browser (spec.md "POST /api/developers/keys"; contract §7)."""

from __future__ import annotations

from starlette.responses import Response

from agentsvc_nb.service.actions import keys as actions
from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.answers import answer
from agentsvc_nb.service.http.backend import Call
from agentsvc_nb.service.records import keys
from agentsvc_nb.wire import terms
from agentsvc_nb.wire.keys import CreatedKey, DeletedKey, KeyList, NewKey
from agentsvc_nb.wire.terms import DeveloperTerms


async def current_terms(call: Call) -> Response:
    return answer(DeveloperTerms(version=terms.VERSION, url=f"{call.backend.storage.origin}/app/terms"))


async def create(call: Call) -> Response:
    given = new_key(await bodies.read_object(call.request))
    return answer(await made(call, given), 201)


async def list_(call: Call) -> Response:
    found = call.read(lambda tx: keys.all(tx, call.account))
    return answer(KeyList(data=[key.public() for key in found if key.revoked_at is None]))


async def delete(call: Call) -> Response:
    id, now = call.path("id"), call.now
    await call.write(lambda tx: actions.delete(tx, call.account, id, now))
    return answer(DeletedKey(id=id))


def new_key(document: bodies.Document) -> NewKey:
    """The body checked: the terms first, then what the key should be."""
    needed = {"requiredDeveloperTermsVersion": terms.VERSION}
    if document.get("developerTermsAccepted") is not True:
        raise Fail("developer_terms_not_accepted", top=needed)
    if document.get("developerTermsVersion") != terms.VERSION:
        raise Fail("developer_terms_version_mismatch", top=needed)
    scopes = document.get("scopes", [])
    if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
        raise Fail("invalid_scope", "`scopes` must be a list of names.")
    actions.check_scopes(scopes)
    return bodies.checked(NewKey, document, "invalid_json")


async def made(call: Call, given: NewKey) -> CreatedKey:
    """A new key as it was asked for, with its secret."""
    clock, scopes = call.backend.storage.clock, tuple(dict.fromkeys(given.scopes or ()))
    record, secret = await call.write(
        lambda tx: actions.create(tx, clock, name=given.name, scopes=scopes, budget_cents=given.monthly_budget_cents)
    )
    return CreatedKey(**record.public().model_dump(), key=secret)
