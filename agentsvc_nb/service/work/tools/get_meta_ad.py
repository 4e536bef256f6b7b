"""`get_meta_ad`: ads of the Meta Ad Library by its API, their pictures and videos from the ads' snapshot pages."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any, ClassVar, Final

from pydantic import BaseModel

from agentsvc_nb.service.ports.agents import AgentFailure
from agentsvc_nb.service.ports.tools import Outcome, Task
from agentsvc_nb.service.rules import snapshots
from agentsvc_nb.service.settings import Settings, variable
from agentsvc_nb.service.work.fetching import Fetcher
from agentsvc_nb.service.work.upstream import Upstream
from agentsvc_nb.wire.limits import MB
from agentsvc_nb.wire.toolset.ads import GetMetaAdInput, MetaAd, MetaAds

PAGE_BYTES: Final = 5 * MB
MEDIA_BYTES: Final = 100 * MB
MEDIA_SECONDS: Final = 60.0
MEDIA_PER_AD: Final = 4
FIELDS: Final = (
    "id,page_id,page_name,ad_creative_bodies,ad_creative_link_titles,ad_creative_link_descriptions,"
    "ad_creative_link_captions,ad_delivery_start_time,ad_delivery_stop_time,ad_snapshot_url,languages,publisher_platforms"
)


class GetMetaAd:
    """Asks the library; fetches only what its answers name."""

    name: ClassVar[str] = "get_meta_ad"
    description: ClassVar[str] = "Finds ads in the Meta Ad Library, by words or pages, and stores their media."
    family: ClassVar[str] = "get_meta_ad"
    asynchronous: ClassVar[bool] = True
    idempotent: ClassVar[bool] = True
    effect: ClassVar[bool] = False

    Input: ClassVar[type[BaseModel]] = GetMetaAdInput
    Output: ClassVar[type[BaseModel] | None] = MetaAds

    def __init__(self, settings: Settings, fetcher: Fetcher) -> None:
        self._token, self._fetcher = settings.meta_token, fetcher
        headers = {"Authorization": f"Bearer {self._token}"}
        self._library = Upstream("The Meta Ad Library", settings.meta_url, headers)

    def available(self) -> bool:
        return self._token is not None

    async def run(self, given: GetMetaAdInput, task: Task) -> Outcome:
        if self._token is None:
            said = f"No token for the Meta Ad Library: set {variable('meta_token')} to one of a confirmed account."
            raise AgentFailure("not_configured", said)
        if not given.search_terms and not given.page_ids:
            raise AgentFailure("invalid_tool_input", "search_terms: give words to search for, or page_ids.")
        await task.progress(0, None, "asking the library")
        answer = await self._library.get("/ads_archive", **_query(given))
        found = snapshots.listed(answer, "data")[: given.count]
        ads = []
        for number, one in enumerate(found):
            await task.progress(number, len(found), f"ad {number + 1} of {len(found)}")
            ads.append(await self._ad(one, given.media, task))
        more = isinstance(answer, dict) and bool(snapshots.listed(answer, "data")[given.count :] or _next(answer))
        bare = [ad.id for ad in ads if given.media and not ad.media_ids]
        data = MetaAds(ads=ads, more=more, without_media=bare)
        await task.progress(len(found), len(found), "done")
        return Outcome(content=[{"type": "text", "text": _told(data)}], data=data.model_dump())

    async def _ad(self, one: dict[str, Any], media: bool, task: Task) -> MetaAd:
        snapshot = str(one.get("ad_snapshot_url") or "")
        kept = await self._media(snapshot, task) if media and snapshot else []
        return snapshots.ad(one, kept)

    async def _media(self, snapshot: str, task: Task) -> list[str]:
        """The ids of what the snapshot shows; what can't be had is left out."""
        kept = []
        shown = snapshots.without_token(snapshot)
        try:
            page = await self._fetcher.get(snapshot, max_bytes=PAGE_BYTES)
        except AgentFailure:
            return []
        named = await asyncio.to_thread(snapshots.media_addresses, page.text, page.url)
        for url in named[:MEDIA_PER_AD]:
            try:
                found = await self._fetcher.get(url, max_bytes=MEDIA_BYTES, seconds=MEDIA_SECONDS)
            except AgentFailure:
                continue
            name = hashlib.sha256(found.body).hexdigest()[:16]
            if found.status == 200 and (media := await task.keep_media(name, found.body, "meta_ad_library", shown)):
                kept.append(media)
        return list(dict.fromkeys(kept))


def _query(given: GetMetaAdInput) -> dict[str, str | int]:
    query: dict[str, str | int] = {
        "fields": FIELDS,
        "ad_reached_countries": _array(given.countries),
        "ad_active_status": given.active,
        "ad_type": given.ad_type,
        "limit": given.count,
    }
    if given.search_terms:
        query["search_terms"] = given.search_terms
    if given.page_ids:
        query["search_page_ids"] = _array(given.page_ids)
    return query


def _array(values: list[str]) -> str:
    return "[" + ",".join(f'"{value}"' for value in values) + "]"


def _next(answer: dict[str, Any]) -> bool:
    paging = answer.get("paging")
    return isinstance(paging, dict) and bool(paging.get("next"))


def _told(found: MetaAds) -> str:
    lines = [f"{ad.page_name or ad.page_id}: {(ad.titles or ad.bodies or ['(no text)'])[0][:200]}" for ad in found.ads]
    return "\n".join(lines) or "The library has no such ads."
