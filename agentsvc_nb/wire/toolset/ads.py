"""`get_meta_ad`: ads of the Meta Ad Library."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from agentsvc_nb.wire.toolset.shapes import Filled, ToolInput, ToolOutput

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
