"""Define `get_meta_ad`, a tool that gets ads from the Meta Ad Library's API, and their media from snapshot pages."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import re
from html import unescape
from typing import Annotated, Any, ClassVar, Final, Literal
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from agentsvc_nb.settings import variable
from agentsvc_nb.tools.port import BaseTool, Filled, Outcome, ToolContext, WorkFailure
from agentsvc_nb.tools.support.fetching import Fetcher, is_web_address, resolve_link
from agentsvc_nb.tools.support.upstream import Upstream
from agentsvc_nb.wire.limits import MB

ADS_MAX: Final = 25
Country = Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")]
PageId = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,30}$")]


class GetMetaAdInput(BaseModel):
    search_terms: Annotated[Filled, StringConstraints(max_length=100)] | None = Field(
        default=None, description="Words that occur in the ads. Give these or `page_ids`."
    )
    page_ids: list[PageId] = Field(
        default_factory=list, max_length=10, description="The ids of the pages that run the ads."
    )
    countries: list[Country] = Field(
        min_length=1,
        max_length=50,
        description="The countries where the ads were shown, such as `DE`.",
        examples=[["DE"]],
    )
    active: Literal["ACTIVE", "INACTIVE", "ALL"] = Field(default="ACTIVE", description="Whether the ads still run.")
    ad_type: Literal["ALL", "POLITICAL_AND_ISSUE_ADS"] = Field(
        default="ALL", description="`ALL` returns only ads that were shown in the EU or the UK within a year."
    )
    count: int = Field(default=5, ge=1, le=ADS_MAX, description="The maximum number of ads.")
    media: bool = Field(default=True, description="Whether to store pictures and videos of the ads as ad media.")


_TEXT_CHARS: Final = 5_000
Text = Annotated[str, AfterValidator(lambda text: text[:_TEXT_CHARS])]


class MetaAd(BaseModel):
    """An ad of the library. The validation aliases are the names of the fields in the library's response."""

    model_config = ConfigDict(populate_by_name=True, coerce_numbers_to_str=True)

    id: Text
    page_id: Text = ""
    page_name: Text = ""
    bodies: list[Text] = Field(default=[], validation_alias="ad_creative_bodies")
    titles: list[Text] = Field(default=[], validation_alias="ad_creative_link_titles")
    descriptions: list[Text] = Field(default=[], validation_alias="ad_creative_link_descriptions")
    captions: list[Text] = Field(default=[], validation_alias="ad_creative_link_captions")
    languages: list[Text] = Field(default=[])
    platforms: list[Text] = Field(default=[], validation_alias="publisher_platforms")
    started: Text | None = Field(default=None, validation_alias="ad_delivery_start_time")
    stopped: Text | None = Field(default=None, validation_alias="ad_delivery_stop_time")
    snapshot_url: Text = Field(
        default="",
        validation_alias="ad_snapshot_url",
        description="The address of the ad as people see it, without the access token.",
    )
    media_ids: list[str] = Field(default=[], description="The ids of the stored media.")


class LibraryAnswer(BaseModel):
    data: list[MetaAd] = []
    paging: dict[str, Any] = {}


class MetaAds(BaseModel):
    ads: list[MetaAd]
    more: bool = Field(description="Whether the library has more ads.")
    without_media: list[str] = Field(description="The ids of ads for which no pictures or videos were found.")


_KEYS: Final = ("video_hd_url", "video_sd_url", "original_image_url", "resized_image_url", "video_preview_image_url")
"""The keys of media addresses in the JSON of a snapshot page, best quality first. Each key may occur several times."""
_IN_DATA = re.compile(rf'"({"|".join(_KEYS)})"\s*:\s*("(?:[^"\\]|\\.)*+")')
_IN_TAGS = re.compile(
    r"""<(?:video|source|img)\b[^<>]{0,2000}?\bsrc\s*=\s*["']?([^"'\s>]+)|"""
    r"""<meta\b[^<>]{0,500}?property=["']og:(?:image|video)["'][^<>]{0,500}?content=["']([^"'>]+)""",
    re.I,
)


def find_media(page: str, base: str) -> list[str]:
    """Return the addresses of the videos and pictures in a snapshot page. They come from the JSON in the page, or from
    its tags if the JSON has none."""
    found = []
    for match in sorted(_IN_DATA.finditer(page), key=lambda match: _KEYS.index(match[1])):
        with contextlib.suppress(ValueError):
            found.append(str(json.loads(match[2], strict=False)))
    if not any(found):
        found = [unescape(match[1] or match[2]) for match in _IN_TAGS.finditer(page)]
    return [url for url in dict.fromkeys(resolve_link(base, one) for one in found if one) if is_web_address(url)]


def remove_token(url: str) -> str:
    """Return a URL without the ad library's access token, or "" if it is not a web address.

    >>> remove_token("https://www.facebook.com/ads/archive/render_ad/?id=7&access_token=EAAB")
    'https://www.facebook.com/ads/archive/render_ad/?id=7'
    """
    if not is_web_address(url):
        return ""
    parts = urlsplit(url)
    query = [(name, value) for name, value in parse_qsl(parts.query) if name != "access_token"]
    return urlunsplit(parts._replace(query=urlencode(query)))


PAGE_BYTES: Final = 5 * MB
MEDIA_BYTES: Final = 100 * MB
MEDIA_SECONDS: Final = 60.0
MEDIA_PER_AD: Final = 4
FIELDS: Final = [
    str(field.validation_alias or name) for name, field in MetaAd.model_fields.items() if name != "media_ids"
]


class GetMetaAd(BaseTool):
    """Asks the ad library. Fetches only addresses that come from the library's responses."""

    name: ClassVar[str] = "get_meta_ad"
    description: ClassVar[str] = "Finds ads in the Meta Ad Library, by words or pages, and stores their media."
    group: ClassVar[str] = "ads"
    asynchronous: ClassVar[bool] = True
    idempotent: ClassVar[bool] = True
    settings_used: ClassVar[tuple[str, ...]] = ("meta_token", "meta_url", "fetch_allow")
    requirements: ClassVar[str] = (
        "Needs a token of an account that confirmed its identity. Media come from the ads' public snapshot "
        "pages. `without_media` lists the ads for which none were found."
    )
    Input: ClassVar[type[BaseModel]] = GetMetaAdInput
    Output: ClassVar[type[BaseModel] | None] = MetaAds

    def available(self) -> bool:
        return self.services.settings.meta_token is not None

    async def run(self, given: GetMetaAdInput, context: ToolContext) -> Outcome:
        settings = self.services.settings
        if settings.meta_token is None:
            said = f"The Meta Ad Library needs a token of a confirmed account. Set {variable('meta_token')}."
            raise WorkFailure("not_configured", said)
        if not given.search_terms and not given.page_ids:
            raise WorkFailure("invalid_tool_input", "search_terms: give words to search for, or give page_ids.")
        await context.progress(0, None, "asking the library")
        key = {"Authorization": f"Bearer {settings.meta_token}"}
        library, fetcher = Upstream("The Meta Ad Library", settings.meta_url, key), Fetcher(settings.fetch_allow)
        answer = await library.ask(LibraryAnswer, "GET", "/ads_archive", params=_query(given))
        ads = answer.data[: given.count]
        for number, ad in enumerate(ads, 1):
            await context.progress(number - 1, len(ads), f"ad {number} of {len(ads)}")
            ad.media_ids = await _media(fetcher, ad.snapshot_url, context) if given.media and ad.snapshot_url else []
            ad.snapshot_url = remove_token(ad.snapshot_url)
        more = len(answer.data) > given.count or bool(answer.paging.get("next"))
        data = MetaAds(ads=ads, more=more, without_media=[ad.id for ad in ads if given.media and not ad.media_ids])
        await context.progress(len(ads), len(ads), "done")
        lines = [f"{ad.page_name or ad.page_id}: {[*ad.titles, *ad.bodies, '(no text)'][0][:200]}" for ad in ads]
        text = "\n".join(lines) or "The library has no matching ads."
        return Outcome(content=[{"type": "text", "text": text}], data=data.model_dump())


async def _media(fetcher: Fetcher, snapshot: str, context: ToolContext) -> list[str]:
    """Fetch and store the media of a snapshot page, and return their ids. Media that can't be fetched are left out."""
    kept, shown = [], remove_token(snapshot)
    try:
        page = await fetcher.get(snapshot, max_bytes=PAGE_BYTES)
        named = await asyncio.to_thread(lambda: find_media(page.decode(), page.url))
    except WorkFailure:
        return []
    for url in named[:MEDIA_PER_AD]:
        try:
            found = await fetcher.get(url, max_bytes=MEDIA_BYTES, seconds=MEDIA_SECONDS)
        except WorkFailure:
            continue
        name = hashlib.sha256(found.body).hexdigest()[:16]
        if found.status == 200 and (media := await context.keep_media(name, found.body, "meta_ad_library", shown)):
            kept.append(media)
    return list(dict.fromkeys(kept))


def _query(given: GetMetaAdInput) -> dict[str, str | int]:
    query = {
        "fields": ",".join(FIELDS),
        "search_terms": given.search_terms,
        "search_page_ids": json.dumps(given.page_ids) if given.page_ids else None,
        "ad_reached_countries": json.dumps(given.countries),
        "ad_active_status": given.active,
        "ad_type": given.ad_type,
        "limit": given.count,
    }
    return {name: value for name, value in query.items() if value is not None}
