"""Landing pages and their labels (contract.md §6)."""

from __future__ import annotations

from typing import Unpack

from agentsvc_nb.client.request.call import Call
from agentsvc_nb.client.request.core import Core
from agentsvc_nb.client.request.options import Options
from agentsvc_nb.client.results.models import Listing
from agentsvc_nb.wire.landing_pages import Label, LabelList, LandingPage


async def list_(core: Core, **options: Unpack[Options]) -> Listing[Label]:
    """The labels that there are, each with the values that it may have. Raises `StefanBrainError`.

    >>> client.labels.list().to_frame()  # doctest: +SKIP
    """
    return Listing((await core.scoped(options).ask(LabelList, Call("labels.list"))).labels, Label)


async def get(core: Core, page_id: str, **options: Unpack[Options]) -> LandingPage:
    """A landing page with its labels. Raises `StefanBrainError` (`landing_page_not_found`).

    >>> client.labels.get("page_1").labels  # doctest: +SKIP
    {'tone': 'playful'}
    """
    return await core.scoped(options).ask(LandingPage, Call("labels.get", {"page_id": page_id}))


async def write(
    core: Core, page_id: str, labels: dict[str, str], expected_version: int, **options: Unpack[Options]
) -> LandingPage:
    """Replace the labels of a page; one that is left out is taken away. Never sent twice.

    `expected_version` is the `version` that was read. Raises `StefanBrainError`: `invalid_label`, or
    `version_conflict` when somebody else wrote since.

    >>> page = client.labels.get("page_1")  # doctest: +SKIP
    >>> client.labels.write("page_1", {**page.labels, "tone": "playful"}, page.version)  # doctest: +SKIP
    """
    body = {"labels": labels, "expected_version": expected_version}
    return await core.scoped(options).ask(LandingPage, Call("labels.write", {"page_id": page_id}, body=body))
