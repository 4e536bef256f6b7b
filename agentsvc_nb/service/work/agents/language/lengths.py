"""How long texts are to a model, roughly: bytes by three, which is more than English has and as much as Chinese."""

from __future__ import annotations

from typing import Final

_BYTES_PER_TOKEN: Final = 3
PICTURE_TOKENS: Final = 1_000
CUT: Final = "\n[... shortened ...]\n"


def tokens(text: str) -> int:
    """About how many tokens a text is; rather too many than too few."""
    return len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN + 1


def shortened(text: str, limit: int) -> str:
    """The text within about `limit` tokens: its beginning and a little of its end."""
    if tokens(text) <= limit:
        return text
    per_token = max(len(text) / tokens(text), 0.1)
    room = max(int(limit * per_token) - len(CUT), 0)
    end = room // 5
    return text[: room - end] + CUT + (text[-end:] if end else "")
