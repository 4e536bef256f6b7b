"""`research_shortform`: facts of stored videos by their transcripts, and a language model's ideas for new ones."""

from __future__ import annotations

from typing import ClassVar, Final

from pydantic import BaseModel, Field

from agentsvc_nb.service.ports.agents import AgentFailure
from agentsvc_nb.service.ports.tools import Complete, Outcome, Task
from agentsvc_nb.service.rules import video_facts
from agentsvc_nb.service.work.tools.asking_models import ask
from agentsvc_nb.wire.toolset.shortform import ResearchShortformInput, ShortformResearch, VideoFacts, VideoIdea

TRANSCRIPT_CHARS: Final = 4_000
PROMPT: Final = (
    "You plan short videos (under 60 seconds). Give up to {count} ideas on the topic below: a title, the hook of the "
    "first three seconds, the scenes in order, and a call to action.\n\nTopic:\n{topic}\n{learned}"
)


class _Ideas(BaseModel):
    ideas: list[VideoIdea] = Field(default_factory=list)


class ResearchShortform:
    """Counts first; what takes a model is left out without one."""

    name: ClassVar[str] = "research_shortform"
    description: ClassVar[str] = (
        "Takes stored short videos apart by their transcripts; a model adds ideas for new ones."
    )
    family: ClassVar[str] = "research_shortform"
    asynchronous: ClassVar[bool] = True
    idempotent: ClassVar[bool] = False
    effect: ClassVar[bool] = False

    Input: ClassVar[type[BaseModel]] = ResearchShortformInput
    Output: ClassVar[type[BaseModel] | None] = ShortformResearch

    def __init__(self, complete: Complete | None) -> None:
        self._complete = complete

    def available(self) -> bool:
        return True

    async def run(self, given: ResearchShortformInput, task: Task) -> Outcome:
        await task.progress(0, 2, "reading transcripts")
        read = [await _read(task, media_id) for media_id in dict.fromkeys(given.media_ids)]
        videos = [facts for facts, _ in read]
        await task.progress(1, 2, "asking the model" if self._complete else "no model is configured")
        ideas = None
        if self._complete is not None or not videos:
            learned = "".join(f"\nA video that worked:\n{text[:TRANSCRIPT_CHARS]}\n" for _, text in read)
            prompt = PROMPT.format(count=given.count, topic=given.topic, learned=learned)
            ideas = (await ask(self._complete, prompt, _Ideas, task)).ideas[: given.count]
        found = ShortformResearch(videos=videos, ideas=ideas)
        return Outcome(content=[{"type": "text", "text": _told(found)}], data=found.model_dump())


async def _read(task: Task, media_id: str) -> tuple[VideoFacts, str]:
    media = await task.media(media_id)
    if media is None:
        raise AgentFailure("invalid_tool_input", f"media_ids: there is no media {media_id[:80]!r}.")
    if media.transcript is None:
        said = f"media_ids: {media_id} has no transcript yet: ask for it with `media.transcribe`."
        raise AgentFailure("invalid_tool_input", said)
    return video_facts.facts(media_id, media.duration_s, media.transcript), str(media.transcript.get("text", ""))


def _told(found: ShortformResearch) -> str:
    videos = [f"{one.media_id}: {one.words} words; it opens with {one.hook[:200]!r}" for one in found.videos]
    ideas = [f"{idea.title}: {idea.hook}" for idea in found.ideas or []]
    missing = ["No ideas: they take a language model."] if found.ideas is None else []
    return "\n".join([*videos, *ideas, *missing])
