"""What can be counted in a transcript. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

from agentsvc_nb.wire.toolset.shortform import VideoFacts

HOOK_SECONDS: Final = 3.0


def facts(media_id: str, duration_s: float | None, transcript: Mapping[str, Any]) -> VideoFacts:
    """The facts of a video. Its segments are `{start_s, end_s, text}`, in their order.

    >>> facts("m", 10.0, {"segments": [{"start_s": 1.0, "end_s": 3.0, "text": "Stop buying tents"}]}).words_per_minute
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
