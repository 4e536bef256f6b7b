"""The API's handlers for keys, terms and feedback."""

from __future__ import annotations

from typing import get_args

from starlette.responses import Response

from agentsvc_nb.service.accounts import accounts, feedback
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.responses import answer
from agentsvc_nb.service.terms import TERMS_VERSION
from agentsvc_nb.wire.limits import FEEDBACK_PAGE_DEFAULT, FEEDBACK_PAGE_MAX
from agentsvc_nb.wire.resources import (
    DeletedKey,
    DeveloperTerms,
    FeedbackList,
    FeedbackReceipt,
    KeyList,
    NewFeedback,
    Status,
)
from agentsvc_nb.wire.routes import ROUTES


async def terms_get(context: RequestContext) -> Response:
    return answer(DeveloperTerms(version=TERMS_VERSION, url=f"{context.origin}/app/terms"))


async def usage_today(context: RequestContext) -> Response:
    return answer(await accounts.usage_of_today(context.use_case, context.account))


async def keys_create(context: RequestContext) -> Response:
    given = bodies.new_key(await bodies.read_object(context))
    return answer(await accounts.issue_key(context.use_case, given), 201)


async def keys_list(context: RequestContext) -> Response:
    found = await accounts.list_keys(context.use_case, context.account)
    there = [key for key in found if key.revoked_at is None]
    return answer(KeyList(data=[key.public() for key in there]))


async def keys_delete(context: RequestContext) -> Response:
    id = context.path("id")
    await accounts.delete_key(context.use_case, context.account, id)
    return answer(DeletedKey(id=id))


async def feedback_send(context: RequestContext) -> Response:
    given = await bodies.validate_body(context, NewFeedback, await bodies.read_object(context), "invalid_feedback")
    record = await feedback.send(context.use_case, context.key.account, given)
    where = ROUTES["feedback.get"].url(id=record.id)
    guidance = f"Thank you. You will find the reply in the report: GET {where}."
    return answer(FeedbackReceipt(id=record.id, guidance=guidance), 201)


async def feedback_list(context: RequestContext) -> Response:
    status = bodies.choice(context, "status", get_args(Status))
    limit = bodies.integer(context, "limit", FEEDBACK_PAGE_DEFAULT, 1, FEEDBACK_PAGE_MAX)
    found = await feedback.page(context.use_case, context.key.account, status, limit)
    return answer(FeedbackList(data=[record.public() for record in found]))


async def feedback_get(context: RequestContext) -> Response:
    record = await feedback.get(context.use_case, context.key.account, context.path("id"))
    return answer(record.public())
