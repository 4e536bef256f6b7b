"""Landing pages over HTTP (contract §6)."""

from __future__ import annotations

from starlette.responses import Response

from agentsvc_nb.service.actions import landing_pages as actions
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.answers import answer
from agentsvc_nb.service.http.backend import Call
from agentsvc_nb.service.rules.labels import LABELS
from agentsvc_nb.wire.landing_pages import LabelList, NewLabels


async def labels(call: Call) -> Response:
    return answer(LabelList(labels=list(LABELS.values())))


async def get(call: Call) -> Response:
    account, page = call.key.account, call.path("page_id")
    return answer(call.read(lambda tx: actions.get(tx, account, page)).public())


async def write(call: Call) -> Response:
    given = bodies.checked(NewLabels, await bodies.read_object(call.request), "invalid_label")
    account, page = call.key.account, call.path("page_id")
    return answer((await call.write(lambda tx: actions.write(tx, account, page, given))).public())
