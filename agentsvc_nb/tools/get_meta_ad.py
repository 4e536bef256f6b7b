"""`get_meta_ad`: ads of the Meta Ad Library by its API, their pictures and videos from the ads' snapshot pages."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from html import unescape
from typing import Annotated, Any, ClassVar, Final, Literal
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from pydantic import BaseModel, Field, StringConstraints

from agentsvc_nb.settings import variable
from agentsvc_nb.tools.port import (
    BaseTool,
    Filled,
    Outcome,
    ToolContext,
    ToolInput,
    ToolOutput,
    ToolServices,
    WorkFailure,
)
from agentsvc_nb.tools.support.fetching import Fetcher, is_web_address, resolve_link
from agentsvc_nb.tools.support.upstream import Upstream
from agentsvc_nb.wire.limits import MB

ADS_MAX: Final = 25
Country = Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")]
PageId = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,30}$")]


class GetMetaAdInput(ToolInput):
    search_terms: Annotated[Filled, StringConstraints(max_length=100)] | None = Field(
        default=None, description="Words of the ads; this or `page_ids`."
    )
    page_ids: list[PageId] = Field(default_factory=list, max_length=10, description="Pages that run the ads.")
    countries: list[Country] = Field(
        min_length=1, max_length=50, description="Where the ads were shown, as `DE`.", examples=[["DE"]]
    )
    active: Literal["ACTIVE", "INACTIVE", "ALL"] = Field(default="ACTIVE", description="Ads that run, or ran.")
    ad_type: Literal["ALL", "POLITICAL_AND_ISSUE_ADS"] = Field(
        default="ALL", description="`ALL` has ads that were shown in the EU or the UK within a year."
    )
    count: int = Field(default=5, ge=1, le=ADS_MAX, description="How many ads, at most.")
    media: bool = Field(default=True, description="Whether pictures and videos of the ads are stored as ad media.")


class MetaAd(ToolOutput):
    id: str
    page_id: str
    page_name: str
    bodies: list[str]
    titles: list[str]
    descriptions: list[str]
    captions: list[str]
    languages: list[str]
    platforms: list[str]
    started: str | None
    stopped: str | None
    snapshot_url: str = Field(description="The ad as people see it, without the token.")
    media_ids: list[str] = Field(description="Stored ad media.")


class MetaAds(ToolOutput):
    ads: list[MetaAd]
    more: bool = Field(description="Whether the library has more of them.")
    without_media: list[str] = Field(description="Ads whose pictures or videos were asked for and not found.")


_KEYS: Final = ("video_hd_url", "video_sd_url", "original_image_url", "resized_image_url", "video_preview_image_url")
"""Keys of media in the JSON of a snapshot page, the best quality first; each may occur several times."""
_IN_DATA = {key: re.compile(rf'"{key}"\s*:\s*("(?:[^"\\]|\\.)*+")') for key in _KEYS}
_IN_TAGS = re.compile(
    r"""<(?:video|source|img)\b[^<>]{0,2000}?\bsrc\s*=\s*["']?([^"'\s>]+)|"""
    r"""<meta\b[^<>]{0,500}?property=["']og:(?:image|video)["'][^<>]{0,500}?content=["']([^"'>]+)""",
    re.I,
)
_TEXT_CHARS: Final = 5_000


def media_addresses(page: str, base: str) -> list[str]:
    """The addresses of videos and pictures in a snapshot page: from its JSON, else from its tags."""
    found = [_unquoted(match[1]) for key in _KEYS for match in _IN_DATA[key].finditer(page)]
    if not any(found):
        found = [unescape(match[1] or match[2]) for match in _IN_TAGS.finditer(page)]
    return [url for url in dict.fromkeys(resolve_link(base, one) for one in found if one) if is_web_address(url)]


def _unquoted(text: str) -> str:
    """A JSON string of the page, decoded; empty when it is malformed."""
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        return ""


def without_token(url: str) -> str:
    """The address without the access token that the ad library puts into it.

    >>> without_token("https://www.facebook.com/ads/archive/render_ad/?id=7&access_token=EAAB")
    'https://www.facebook.com/ads/archive/render_ad/?id=7'
    """
    parts = urlsplit(url)
    query = [(name, value) for name, value in parse_qsl(parts.query) if name != "access_token"]
    return urlunsplit(parts._replace(query=urlencode(query)))


def ad(one: dict[str, Any], media: list[str]) -> MetaAd:
    """An ad from an entry of the library's answer; `media` are the ids of its stored media."""
    return MetaAd(
        id=_text(one.get("id")),
        page_id=_text(one.get("page_id")),
        page_name=_text(one.get("page_name")),
        bodies=_texts(one.get("ad_creative_bodies")),
        titles=_texts(one.get("ad_creative_link_titles")),
        descriptions=_texts(one.get("ad_creative_link_descriptions")),
        captions=_texts(one.get("ad_creative_link_captions")),
        languages=_texts(one.get("languages")),
        platforms=_texts(one.get("publisher_platforms")),
        started=_text(one.get("ad_delivery_start_time")) or None,
        stopped=_text(one.get("ad_delivery_stop_time")) or None,
        snapshot_url=without_token(_text(one.get("ad_snapshot_url"))),
        media_ids=media,
    )


def listed(answer: Any, name: str) -> list[dict[str, Any]]:
    found = answer.get(name) if isinstance(answer, dict) else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _text(value: Any) -> str:
    return str(value)[:_TEXT_CHARS] if isinstance(value, str | int) else ""


def _texts(value: Any) -> list[str]:
    return [_text(one) for one in value if _text(one)] if isinstance(value, list) else []


PAGE_BYTES: Final = 5 * MB
MEDIA_BYTES: Final = 100 * MB
MEDIA_SECONDS: Final = 60.0
MEDIA_PER_AD: Final = 4
FIELDS: Final = (
    "id,page_id,page_name,ad_creative_bodies,ad_creative_link_titles,ad_creative_link_descriptions,"
    "ad_creative_link_captions,ad_delivery_start_time,ad_delivery_stop_time,ad_snapshot_url,languages,publisher_platforms"
)


class GetMetaAd(BaseTool):
    """Asks the library; fetches only what its answers name."""

    name: ClassVar[str] = "get_meta_ad"
    description: ClassVar[str] = "Finds ads in the Meta Ad Library, by words or pages, and stores their media."
    group: ClassVar[str] = "ads"
    asynchronous: ClassVar[bool] = True
    idempotent: ClassVar[bool] = True

    settings_used: ClassVar[tuple[str, ...]] = ("meta_token", "meta_url", "fetch_allow")
    requirements: ClassVar[str] = (
        "Needs a token of an account that confirmed its identity. Media are taken from the ads' public snapshot "
        "pages; an ad without any is named in `without_media`."
    )

    Input: ClassVar[type[BaseModel]] = GetMetaAdInput
    Output: ClassVar[type[BaseModel] | None] = MetaAds

    def __init__(self, services: ToolServices) -> None:
        super().__init__(services)
        settings = services.settings
        self._token = settings.meta_token
        self._fetcher = Fetcher(settings.fetch_allow)
        headers = {"Authorization": f"Bearer {self._token}"}
        self._library = Upstream("The Meta Ad Library", settings.meta_url, headers)

    def available(self) -> bool:
        return self._token is not None

    async def run(self, given: GetMetaAdInput, context: ToolContext) -> Outcome:
        if self._token is None:
            said = f"No token for the Meta Ad Library: set {variable('meta_token')} to one of a confirmed account."
            raise WorkFailure("not_configured", said)
        if not given.search_terms and not given.page_ids:
            raise WorkFailure("invalid_tool_input", "search_terms: give words to search for, or page_ids.")
        await context.progress(0, None, "asking the library")
        answer = await self._library.get("/ads_archive", **_query(given))
        found = listed(answer, "data")[: given.count]
        ads = []
        for number, one in enumerate(found):
            await context.progress(number, len(found), f"ad {number + 1} of {len(found)}")
            ads.append(await self._ad(one, given.media, context))
        more = isinstance(answer, dict) and bool(listed(answer, "data")[given.count :] or _next(answer))
        bare = [ad.id for ad in ads if given.media and not ad.media_ids]
        data = MetaAds(ads=ads, more=more, without_media=bare)
        await context.progress(len(found), len(found), "done")
        return Outcome(content=[{"type": "text", "text": _told(data)}], data=data.model_dump())

    async def _ad(self, one: dict[str, Any], media: bool, context: ToolContext) -> MetaAd:
        snapshot = str(one.get("ad_snapshot_url") or "")
        kept = await self._media(snapshot, context) if media and snapshot else []
        return ad(one, kept)

    async def _media(self, snapshot: str, context: ToolContext) -> list[str]:
        """Store the media of a snapshot page. Returns their ids; media that can't be fetched are left out."""
        kept = []
        shown = without_token(snapshot)
        try:
            page = await self._fetcher.get(snapshot, max_bytes=PAGE_BYTES)
        except WorkFailure:
            return []
        named = await asyncio.to_thread(lambda: media_addresses(page.decode(), page.url))
        for url in named[:MEDIA_PER_AD]:
            try:
                found = await self._fetcher.get(url, max_bytes=MEDIA_BYTES, seconds=MEDIA_SECONDS)
            except WorkFailure:
                continue
            name = hashlib.sha256(found.body).hexdigest()[:16]
            if found.status == 200 and (media := await context.keep_media(name, found.body, "meta_ad_library", shown)):
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
