"""Feedback over HTTP (contract §6)."""

from __future__ import annotations

from typing import get_args

from starlette.responses import Response

from agentsvc_nb.service.actions import feedback as actions
from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.http import bodies, parameters
from agentsvc_nb.service.http.answers import answer
from agentsvc_nb.service.http.backend import Call
from agentsvc_nb.service.records import feedback
from agentsvc_nb.wire.feedback import FeedbackList, FeedbackReceipt, NewFeedback, Status
from agentsvc_nb.wire.limits import FEEDBACK_PAGE_DEFAULT, FEEDBACK_PAGE_MAX
from agentsvc_nb.wire.routes import ROUTES


async def send(call: Call) -> Response:
    given = bodies.checked(NewFeedback, await bodies.read_object(call.request), "invalid_feedback")
    account, now = call.key.account, call.now
    record = await call.write(lambda tx: actions.send(tx, account, given, now))
    where = ROUTES["feedback.get"].url(id=record.id)
    guidance = f"Thank you. The team's reply will stand in the report: GET {where}."
    return answer(FeedbackReceipt(id=record.id, guidance=guidance), 201)


async def list_(call: Call) -> Response:
    status = call.request.query_params.get("status")
    allowed = get_args(Status)
    if status is not None and status not in allowed:
        raise Fail("invalid_query", f"`status` must be one of {', '.join(allowed)}.", param="status")
    limit = parameters.integer(call, "limit", FEEDBACK_PAGE_DEFAULT, 1, FEEDBACK_PAGE_MAX)
    found = call.read(lambda tx: feedback.page(tx, call.key.account, status, limit))
    return answer(FeedbackList(data=[record.public() for record in found]))


async def get(call: Call) -> Response:
    account, report = call.key.account, call.path("id")
    return answer(call.read(lambda tx: actions.get(tx, account, report)).public())
