"""Define `media_transcript`, a tool that transcribes the speech in a video or sound with faster-whisper."""

from __future__ import annotations

import asyncio
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, Field

from agentsvc_nb.extras import pip_install
from agentsvc_nb.settings import variable
from agentsvc_nb.tools.port import BaseTool, Outcome, ToolContext, WorkFailure
from agentsvc_nb.tools.support import stopping
from agentsvc_nb.wire.limits import TRANSCRIPT_SEGMENTS
from agentsvc_nb.wire.resources import Segment, Transcript


class MediaTranscriptInput(BaseModel):
    media_id: str = Field(description="The id of the media: `media_...`.")


TRANSCRIPT = "Or store the media with its transcript: agentsvc media add FILE --transcript FILE.json"


class MediaTranscript(BaseTool):
    """Returns the transcript of stored media, and creates it if there is none. If faster-whisper or its model is
    missing, the error says how to install it."""

    name: ClassVar[str] = "media_transcript"
    description: ClassVar[str] = "Transcribes the speech of a stored video or sound."
    group: ClassVar[str] = "media"
    asynchronous: ClassVar[bool] = True

    settings_used: ClassVar[tuple[str, ...]] = ("whisper_model",)
    requirements: ClassVar[str] = (
        "Needs the package `agentsvc-nb[transcripts]` and a faster-whisper model in a folder. Without them, "
        "store media with a transcript."
    )

    Input: ClassVar[type[BaseModel]] = MediaTranscriptInput
    Output: ClassVar[type[BaseModel] | None] = Transcript

    def available(self) -> bool:
        return self._missing() is None

    async def run(self, given: MediaTranscriptInput, context: ToolContext) -> Outcome:
        media = await context.media(given.media_id)
        if media is None:
            raise WorkFailure("invalid_tool_input", f"media_id: there is no media {given.media_id[:80]!r}.")
        stored = media.transcript
        if stored is None:
            if missing := self._missing():
                raise WorkFailure("not_configured", f"{missing} {TRANSCRIPT}")
            if media.kind == "image":
                raise WorkFailure("invalid_tool_input", "media_id: a picture has no speech to transcribe.")
            await context.progress(0, None, "listening")
            async with media.open() as file:
                stored = await asyncio.to_thread(_transcribe, self.services.settings.whisper_model, file)
            await context.keep_transcript(media.id, stored)
        found = Transcript(media_id=media.id, **stored)
        return Outcome.from_text(found.text, data=found)

    def _missing(self) -> str | None:
        if find_spec("faster_whisper") is None:
            return f"No speech recogniser is installed: {pip_install('transcripts')}."
        model = self.services.settings.whisper_model
        if model is None or not model.is_dir():
            return f"Set {variable('whisper_model')} to the folder of a faster-whisper model."
        return None


def _transcribe(model: Path | None, file: Path) -> dict[str, Any]:
    """Transcribe a file. Return the language, the text and the segments.

    The model is loaded for each file, which takes seconds, because keeping it would take much memory. Raises
    `WorkFailure("transcript_failed")`.
    """
    whisper: Any = import_module("faster_whisper")
    segments = []
    try:
        recogniser = whisper.WhisperModel(str(model), device="cpu", compute_type="int8", local_files_only=True)
        found, about = recogniser.transcribe(str(file))
        for one in islice(found, TRANSCRIPT_SEGMENTS):  # each step recognises a segment
            stopping.check()
            segments.append(Segment(start_s=round(one.start, 3), end_s=round(one.end, 3), text=one.text.strip()))
    except Exception as error:  # codecs and model files raise errors of many types
        said = f"Speech recognition failed ({type(error).__name__}). Check the file, and the model in {model}."
        raise WorkFailure("transcript_failed", said) from None
    text = " ".join(segment.text for segment in segments)
    return {"language": about.language, "text": text, "segments": [segment.model_dump() for segment in segments]}
