"""Stored ad media and their transcripts (contract.md §6)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agentsvc_nb.wire.envelope import Model

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
