"""The pictures that an ask names by address: fetched as strangers' addresses are, and attached to its run."""

from __future__ import annotations

import asyncio
from typing import Final
from urllib.parse import unquote, urlsplit

from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.http.backend import Call
from agentsvc_nb.service.ports.agents import AgentFailure
from agentsvc_nb.service.records.files import Content
from agentsvc_nb.service.rules import media_types, signatures
from agentsvc_nb.service.work.fetching import Fetched, Fetcher
from agentsvc_nb.wire.limits import MB

PICTURE_BYTES: Final = 20 * MB
PICTURE_SECONDS: Final = 10.0


async def fetch(call: Call, urls: list[str]) -> tuple[list[Content], list[str]]:
    """The pictures that could be had, and a sentence for each that could not. Raises `invalid_tool_input` for an
    address that is refused: one that is not public, unless the operator allows it."""
    fetcher = Fetcher(call.backend.settings.fetch_allow)
    found = await asyncio.gather(*(_one(fetcher, number, url) for number, url in enumerate(urls)))
    kept = [await call.backend.storage.store(_name(one.url), one.body) for one in found if isinstance(one, Fetched)]
    return kept, [one for one in found if isinstance(one, str)]


async def _one(fetcher: Fetcher, number: int, url: str) -> Fetched | str:
    try:
        found = await fetcher.get(url, max_bytes=PICTURE_BYTES, seconds=PICTURE_SECONDS, accept="image/*")
    except AgentFailure as failure:
        if failure.code == "address_refused":
            field = f"image_urls.{number}"
            raise Fail("invalid_tool_input", f"{field}: {failure.message}", field=field) from None
        return failure.message
    media_type = signatures.media_type(found.body[: signatures.HEAD_BYTES]) or ""
    if found.status != 200 or not media_type.startswith("image/"):
        return f"{url[:200]!r} is no picture: the server answered {found.status} with {media_type or 'something else'}."
    return found


def _name(url: str) -> str:
    return media_types.safe_name(unquote(urlsplit(url).path.rpartition("/")[2]) or "picture")
