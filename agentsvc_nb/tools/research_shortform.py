"""Define `research_shortform`, which computes facts from stored videos' transcripts, and asks a model for new ideas."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Final

from pydantic import BaseModel, Field, StringConstraints

from agentsvc_nb.tools.port import BaseTool, Filled, Outcome, ToolContext, WorkFailure, ask


class ResearchShortformInput(BaseModel):
    topic: Annotated[Filled, StringConstraints(max_length=2_000)] = Field(description="The topic of the videos.")
    media_ids: list[str] = Field(
        default_factory=list, max_length=10, description="The ids of stored videos with transcripts, to learn from."
    )
    count: int = Field(default=3, ge=1, le=10, description="The maximum number of ideas.")


class VideoFacts(BaseModel):
    """Facts about a video that can be counted in its transcript."""

    media_id: str
    duration_s: float | None
    words: int
    words_per_minute: float | None
    hook: str = Field(description="The words of the first three seconds.")
    hook_s: float | None = Field(description="The second at which the first words begin.")
    longest_pause_s: float | None
    ends_with: str = Field(description="The last words.")


class VideoIdea(BaseModel):
    title: str
    hook: str
    scenes: list[str]
    call_to_action: str


class ShortformResearch(BaseModel):
    videos: list[VideoFacts]
    ideas: list[VideoIdea] | None = Field(default=None, description="Ideas from a language model; null without one.")


HOOK_SECONDS: Final = 3.0


def measure_video(media_id: str, duration_s: float | None, transcript: Mapping[str, Any]) -> VideoFacts:
    """Return facts about a video. The segments of its transcript are `{start_s, end_s, text}`, in order.

    >>> said = {"start_s": 1.0, "end_s": 3.0, "text": "Stop buying tents"}
    >>> measure_video("m", 10.0, {"segments": [said]}).words_per_minute
    18.0
    """
    segments = transcript.get("segments") or []
    text = " ".join(str(one["text"]) for one in segments) or str(transcript.get("text", ""))
    words = len(text.split())
    length = duration_s or (segments[-1]["end_s"] if segments else None)
    pauses = [after["start_s"] - before["end_s"] for before, after in pairwise(segments)]
    return VideoFacts(
        media_id=media_id,
        duration_s=length,
        words=words,
        words_per_minute=round(60 * words / length, 1) if length else None,
        hook=" ".join(one["text"] for one in segments if one["start_s"] < HOOK_SECONDS),
        hook_s=segments[0]["start_s"] if segments else None,
        longest_pause_s=round(max(pauses), 3) if pauses else None,
        ends_with=str(segments[-1]["text"]) if segments else "",
    )


TRANSCRIPT_CHARS: Final = 4_000
PROMPT: Final = (
    "You plan short videos (under 60 seconds). Give up to {count} ideas on the topic below: a title, the hook of the "
    "first three seconds, the scenes in order, and a call to action.\n\nTopic:\n{topic}\n{learned}"
)


class _Ideas(BaseModel):
    ideas: list[VideoIdea] = Field(default_factory=list)


class ResearchShortform(BaseTool):
    """Computes facts about videos. Adds ideas if a language model is configured."""

    name: ClassVar[str] = "research_shortform"
    description: ClassVar[str] = (
        "Analyses stored short videos by their transcripts. A language model adds ideas for new ones."
    )
    group: ClassVar[str] = "media"
    asynchronous: ClassVar[bool] = True
    settings_used: ClassVar[tuple[str, ...]] = ("model",)
    requirements: ClassVar[str] = (
        "Without a language model, it returns facts about the videos but no ideas. Without videos, it needs a "
        "language model."
    )
    Input: ClassVar[type[BaseModel]] = ResearchShortformInput
    Output: ClassVar[type[BaseModel] | None] = ShortformResearch

    async def run(self, given: ResearchShortformInput, context: ToolContext) -> Outcome:
        await context.progress(0, 2, "reading transcripts")
        videos, learned = [], ""
        for media_id in dict.fromkeys(given.media_ids):
            media = await context.media(media_id)
            if media is None:
                raise WorkFailure("invalid_tool_input", f"media_ids: there is no media {media_id[:80]!r}.")
            if media.transcript is None:
                said = f"media_ids: {media_id} has no transcript yet. Create it with `media.transcribe`."
                raise WorkFailure("invalid_tool_input", said)
            videos.append(measure_video(media_id, media.duration_s, media.transcript))
            learned += f"\nA video that worked:\n{str(media.transcript.get('text', ''))[:TRANSCRIPT_CHARS]}\n"
        await context.progress(1, 2, "asking the model" if self.services.complete else "no model is configured")
        ideas = None
        if self.services.complete is not None or not videos:
            prompt = PROMPT.format(count=given.count, topic=given.topic, learned=learned)
            ideas = (await ask(self.services.complete, prompt, _Ideas, context)).ideas[: given.count]
        lines = [f"{one.media_id}: {one.words} words; it opens with {one.hook[:200]!r}" for one in videos]
        lines += [f"{idea.title}: {idea.hook}" for idea in ideas or []]
        lines += ["No ideas: they need a language model."] if ideas is None else []
        data = ShortformResearch(videos=videos, ideas=ideas).model_dump()
        return Outcome(content=[{"type": "text", "text": "\n".join(lines)}], data=data)
