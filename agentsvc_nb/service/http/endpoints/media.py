"""Ad media with their transcripts, and landing pages with their labels, over HTTP."""

from __future__ import annotations

from starlette.responses import Response

from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.answers import answer
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.endpoints import tools
from agentsvc_nb.service.records.media import MediaRecord
from agentsvc_nb.service.usecases import media as actions
from agentsvc_nb.service.usecases.chats import Where
from agentsvc_nb.service.usecases.jobs import Submit
from agentsvc_nb.service.usecases.labels import LABELS
from agentsvc_nb.tools.media_transcript import MediaTranscript
from agentsvc_nb.wire.media import LabelList, NewLabels


async def labels(call: RequestContext) -> Response:
    return answer(LabelList(labels=list(LABELS.values())))


async def get_page(call: RequestContext) -> Response:
    account, page = call.key.account, call.path("page_id")
    return answer(call.read(lambda tx: actions.get_page(tx, account, page)).public())


async def write_labels(call: RequestContext) -> Response:
    given = bodies.checked(NewLabels, await bodies.read_object(call.request), "invalid_label")
    account, page = call.key.account, call.path("page_id")
    return answer((await call.write(lambda tx: actions.write_labels(tx, account, page, given))).public())


async def get(call: RequestContext) -> Response:
    return answer(_record(call).public())


async def transcribe(call: RequestContext) -> Response:
    """200 with the stored transcript, else a job that makes one."""
    record = _record(call)
    if stored := record.public_transcript():
        return answer(stored)
    tool, given = MediaTranscript, {"media_id": record.id}
    return await tools.accept(call, Submit(tool.name, tool.family, given, Where(), call.received_at))


def _record(call: RequestContext) -> MediaRecord:
    account, media_id = call.key.account, call.path("media_id")
    return call.read(lambda tx: actions.get(tx, account, media_id))
