"""Ad media with their transcripts, and landing pages with their labels, over HTTP."""

from __future__ import annotations

from starlette.responses import Response

from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.answers import answer
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.endpoints import tools
from agentsvc_nb.service.records.media import MediaRecord
from agentsvc_nb.service.usecases import media as media_usecases
from agentsvc_nb.service.usecases.chats import Where
from agentsvc_nb.service.usecases.jobs import Submit
from agentsvc_nb.service.usecases.media import LABELS
from agentsvc_nb.tools.media_transcript import MediaTranscript
from agentsvc_nb.wire.media import LabelList, NewLabels


async def labels_list(context: RequestContext) -> Response:
    return answer(LabelList(labels=list(LABELS.values())))


async def labels_get(context: RequestContext) -> Response:
    account, page = context.key.account, context.path("page_id")
    return answer(context.read(lambda tx: media_usecases.get_page(tx, account, page)).public())


async def labels_write(context: RequestContext) -> Response:
    given = bodies.checked(NewLabels, await bodies.read_object(context.request), "invalid_label")
    account, page = context.key.account, context.path("page_id")
    return answer((await context.write(lambda tx: media_usecases.write_labels(tx, account, page, given))).public())


async def media_get(context: RequestContext) -> Response:
    return answer(_record(context).public())


async def media_transcribe(context: RequestContext) -> Response:
    """200 with the stored transcript, else a job that makes one."""
    record = _record(context)
    if stored := record.public_transcript():
        return answer(stored)
    tool, given = MediaTranscript, {"media_id": record.id}
    return await tools.accept(context, Submit(tool.name, tool.family, given, Where(), context.received_at))


def _record(context: RequestContext) -> MediaRecord:
    account, media_id = context.key.account, context.path("media_id")
    return context.read(lambda tx: media_usecases.get(tx, account, media_id))
