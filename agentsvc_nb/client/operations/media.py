"""Stored ad media with their transcripts, and landing pages with their labels."""

from __future__ import annotations

from typing import Unpack

from agentsvc_nb.client.models import Listing
from agentsvc_nb.client.request.options import Options
from agentsvc_nb.client.request.request import ACCEPTED, ApiRequest, Core
from agentsvc_nb.wire.media import AdMedia, Label, LabelList, LandingPage, Transcript
from agentsvc_nb.wire.tools import JobAccepted


async def get(core: Core, media_id: str, **options: Unpack[Options]) -> AdMedia:
    """A stored video, sound or picture. Raises `StefanBrainError` (`media_not_found`).

    >>> client.media.get("media_1").kind  # doctest: +SKIP
    'video'
    """
    return await core.scoped(options).ask(AdMedia, ApiRequest("media.get", {"media_id": media_id}))


async def transcribe(core: Core, media_id: str, **options: Unpack[Options]) -> Transcript | JobAccepted:
    """The stored transcript, or else the acceptance of the job that makes one; never sent twice.

    Raises `StefanBrainError` (`media_not_found`).

    >>> client.media.transcribe("media_1")  # doctest: +SKIP
    """
    request = ApiRequest("media.transcribe", {"media_id": media_id})
    response = await core.scoped(options).send(request)
    if response.status == ACCEPTED:
        return core.read(JobAccepted, request, response)
    return core.read(Transcript, request, response)


async def list_labels(core: Core, **options: Unpack[Options]) -> Listing[Label]:
    """The labels that there are, each with the values that it may have. Raises `StefanBrainError`.

    >>> client.labels.list().to_frame()  # doctest: +SKIP
    """
    return Listing((await core.scoped(options).ask(LabelList, ApiRequest("labels.list"))).labels, Label)


async def get_page(core: Core, page_id: str, **options: Unpack[Options]) -> LandingPage:
    """A landing page with its labels. Raises `StefanBrainError` (`landing_page_not_found`).

    >>> client.labels.get("page_1").labels  # doctest: +SKIP
    {'tone': 'playful'}
    """
    return await core.scoped(options).ask(LandingPage, ApiRequest("labels.get", {"page_id": page_id}))


async def write_labels(
    core: Core, page_id: str, labels: dict[str, str], expected_version: int, **options: Unpack[Options]
) -> LandingPage:
    """Replace the labels of a page; one that is left out is taken away. Never sent twice.

    `expected_version` is the `version` that was read. Raises `StefanBrainError`: `invalid_label`, or
    `version_conflict` when somebody else wrote since.

    >>> page = client.labels.get("page_1")  # doctest: +SKIP
    >>> client.labels.write("page_1", {**page.labels, "tone": "playful"}, page.version)  # doctest: +SKIP
    """
    body = {"labels": labels, "expected_version": expected_version}
    return await core.scoped(options).ask(LandingPage, ApiRequest("labels.write", {"page_id": page_id}, body=body))
