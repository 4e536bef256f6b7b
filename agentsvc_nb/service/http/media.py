"""Ad media and their transcripts over HTTP (contract §6)."""

from __future__ import annotations

from starlette.responses import Response

from agentsvc_nb.service.actions import media as actions
from agentsvc_nb.service.actions.chats import Where
from agentsvc_nb.service.actions.jobs import Submit
from agentsvc_nb.service.http import tools
from agentsvc_nb.service.http.answers import answer
from agentsvc_nb.service.http.backend import Call
from agentsvc_nb.service.records.media import MediaRecord
from agentsvc_nb.service.work.tools.media_transcript import MediaTranscript


async def get(call: Call) -> Response:
    return answer(_record(call).public())


async def transcribe(call: Call) -> Response:
    """200 with the stored transcript, else a job that makes one."""
    record = _record(call)
    if stored := record.public_transcript():
        return answer(stored)
    tool, given = MediaTranscript, {"media_id": record.id}
    return await tools.accept(call, Submit(tool.name, tool.family, given, Where(), call.received_at))


def _record(call: Call) -> MediaRecord:
    account, media_id = call.key.account, call.path("media_id")
    return call.read(lambda tx: actions.get(tx, account, media_id))
