"""The page of feedback: send a report, and read the team's replies (spec.md "Feedback report")."""

from __future__ import annotations

from typing import Any, get_args

from starlette.responses import RedirectResponse, Response

from agentsvc_nb.service.actions import feedback as actions
from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.backend import Call
from agentsvc_nb.service.records import feedback
from agentsvc_nb.service.web import forms
from agentsvc_nb.service.web.rendering import render
from agentsvc_nb.wire.feedback import Category, Impact, NewFeedback
from agentsvc_nb.wire.limits import FEEDBACK_PAGE_MAX, FEEDBACK_SUMMARY_CHARS


async def show(call: Call) -> Response:
    return _page(call, {})


async def send(call: Call) -> Response:
    form: dict[str, Any] = await forms.read(call.request)
    now = call.now
    try:
        given = bodies.checked(NewFeedback, form, "invalid_feedback")
        await call.write(lambda tx: actions.send(tx, call.account, given, now))
    except Fail as fail:
        return _page(call, form, fail)
    return RedirectResponse("/app/feedback", 303)


def _page(call: Call, form: dict[str, Any], fail: Fail | None = None) -> Response:
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
