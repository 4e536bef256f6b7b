"""The API's handlers for ad media with their transcripts, and for landing pages with their labels."""

from __future__ import annotations

from starlette.responses import Response

from agentsvc_nb.service.chats import chats
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.responses import answer
from agentsvc_nb.service.jobs import routes as job_routes
from agentsvc_nb.service.jobs.jobs import JobSubmission
from agentsvc_nb.service.media import media
from agentsvc_nb.service.media.media_records import MediaRecord
from agentsvc_nb.tools.media_transcript import MediaTranscript
from agentsvc_nb.wire.resources import LabelList, NewLabels


async def labels_list(context: RequestContext) -> Response:
    return answer(LabelList(labels=list(media.LABELS.values())))


async def labels_get(context: RequestContext) -> Response:
    record = await media.get_page(context.use_case, context.key.account, context.path("page_id"))
    return answer(record.public())


async def labels_write(context: RequestContext) -> Response:
    given = await bodies.validate_body(context, NewLabels, await bodies.read_object(context), "invalid_label")
    record = await media.write_labels(context.use_case, context.key.account, context.path("page_id"), given)
    return answer(record.public())


async def media_get(context: RequestContext) -> Response:
    return answer((await _named_media(context)).public())


async def media_transcribe(context: RequestContext) -> Response:
    """Return 200 with the stored transcript. If there is none, submit a job that creates it."""
    record = await _named_media(context)
    if stored := record.public_transcript():
        return answer(stored)
    tool, given = MediaTranscript, {"media_id": record.id}
    return await job_routes.accept(
        context, JobSubmission(tool.name, tool.family, given, chats.ChatSelector(), context.received_at)
    )


async def _named_media(context: RequestContext) -> MediaRecord:
    return await media.get(context.use_case, context.key.account, context.path("media_id"))
