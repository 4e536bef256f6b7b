"""`research_shortform`: short videos taken apart, and ideas for new ones."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from agentsvc_nb.wire.toolset.shapes import Filled, ToolInput, ToolOutput


class ResearchShortformInput(ToolInput):
    topic: Annotated[Filled, StringConstraints(max_length=2_000)] = Field(description="What the videos are about.")
    media_ids: list[str] = Field(
        default_factory=list, max_length=10, description="Stored videos with transcripts, to learn from."
    )
    count: int = Field(default=3, ge=1, le=10, description="How many ideas, at most.")


class VideoFacts(ToolOutput):
    """What can be counted in a video with a transcript."""

    media_id: str
    duration_s: float | None
    words: int
    words_per_minute: float | None
    hook: str = Field(description="What is said in the first three seconds.")
    hook_s: float | None = Field(description="When the first words are said.")
    longest_pause_s: float | None
    ends_with: str = Field(description="The last thing said.")


class VideoIdea(ToolOutput):
    title: str
    hook: str
    scenes: list[str]
    call_to_action: str


class ShortformResearch(ToolOutput):
    videos: list[VideoFacts]
    ideas: list[VideoIdea] | None = Field(default=None, description="By a language model; null without one.")
