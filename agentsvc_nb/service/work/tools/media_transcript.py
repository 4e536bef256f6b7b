"""`media_transcript`: what is said in an ad's video or sound (contract §6)."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, Field

from agentsvc_nb.service.ports import AgentFailure, Outcome, Task


class MediaTranscriptInput(BaseModel):
    media_id: str = Field(description="The id of the media: `media_...`.")


class MediaTranscript:
    """Needs a speech recogniser, which this version has none of: it says so, and what helps."""

    name: ClassVar[str] = "media_transcript"
    description: ClassVar[str] = "Transcribes the speech of a stored video or sound."
    family: ClassVar[str] = "media_transcript"
    asynchronous: ClassVar[bool] = True
    idempotent: ClassVar[bool] = False
    effect: ClassVar[bool] = False

    Input: ClassVar[type[BaseModel]] = MediaTranscriptInput
    Output: ClassVar[type[BaseModel] | None] = None

    def available(self) -> bool:
        return False

    async def run(self, given: MediaTranscriptInput, task: Task) -> Outcome:
        raise AgentFailure(
            "not_configured",
            "No speech recogniser is configured, and this version has none to set. "
            "Store the media with its captions: agentsvc media add FILE --captions FILE.vtt",
        )
