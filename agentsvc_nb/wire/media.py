"""Stored ad media with their transcripts, and landing pages with their labels."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agentsvc_nb.wire.failures import Model, Request
from agentsvc_nb.wire.limits import INTEGER_MAX

MediaKind = Literal["video", "audio", "image"]


class Segment(Model):
    """What is said from `start_s` to `end_s`, in seconds from the beginning."""

    start_s: float
    end_s: float
    text: str = ""


class Transcript(Model):
    """What is said in a media file. `language` is a tag such as `de`, where it is known."""

    object: str = "transcript"
    media_id: str
    language: str | None = None
    text: str = ""
    segments: list[Segment] = Field(default_factory=list)


class AdMedia(Model):
    """A video, sound or picture of an ad. `duration_s` is None where it is not known, and for pictures."""

    object: str = "ad_media"
    id: str
    kind: MediaKind | str = ""
    source: str = ""
    url: str | None = None
    duration_s: float | None = None
    transcript: Transcript | None = None


class Label(Model):
    """A label that landing pages may carry, with every value that it may have."""

    name: str
    description: str = ""
    values: list[str] = Field(default_factory=list)


class LabelList(Model):
    object: str = "list"
    labels: list[Label] = Field(default_factory=list)


class LandingPage(Model):
    """A landing page. `version` counts the writes of its labels, from 1."""

    object: str = "landing_page"
    id: str
    url: str = ""
    labels: dict[str, str] = Field(default_factory=dict)
    version: int = 1


class NewLabels(Request):
    """The body of `PUT /landing-pages/{page_id}/labels`: all labels that the page has from now on."""

    labels: dict[str, str] = Field(
        description="Value by label name; a label that is left out is taken away.", examples=[{"goal": "buy"}]
    )
    expected_version: int = Field(ge=1, le=INTEGER_MAX, description="The `version` that was read.", examples=[1])
