"""`media_transcript`; what it gives is `wire.media.Transcript`."""

from __future__ import annotations

from pydantic import Field

from agentsvc_nb.wire.toolset.shapes import ToolInput


class MediaTranscriptInput(ToolInput):
    media_id: str = Field(description="The id of the media: `media_...`.")
