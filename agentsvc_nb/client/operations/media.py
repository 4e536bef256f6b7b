"""Stored ad media and their transcripts (contract.md §6)."""

from __future__ import annotations

from typing import Unpack

from agentsvc_nb.client.request.call import Call
from agentsvc_nb.client.request.core import ACCEPTED, Core
from agentsvc_nb.client.request.options import Options
from agentsvc_nb.wire.media import AdMedia, Transcript
from agentsvc_nb.wire.tools import JobAccepted


async def get(core: Core, media_id: str, **options: Unpack[Options]) -> AdMedia:
    """A stored video, sound or picture. Raises `StefanBrainError` (`media_not_found`).

    >>> client.media.get("media_1").kind  # doctest: +SKIP
    'video'
    """
    return await core.scoped(options).ask(AdMedia, Call("media.get", {"media_id": media_id}))


async def transcribe(core: Core, media_id: str, **options: Unpack[Options]) -> Transcript | JobAccepted:
    """The stored transcript, or else the acceptance of the job that makes one; never sent twice.

    Raises `StefanBrainError` (`media_not_found`).

    >>> client.media.transcribe("media_1")  # doctest: +SKIP
    """
    call = Call("media.transcribe", {"media_id": media_id})
    answer = await core.scoped(options).send(call)
    if answer.status == ACCEPTED:
        return core.read(JobAccepted, call, answer)
    return core.read(Transcript, call, answer)
