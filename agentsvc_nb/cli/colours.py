"""Print text in colours, if the output is a terminal and `NO_COLOR` is not set."""

from __future__ import annotations

import os
import sys
from typing import Final, TextIO

BOLD: Final = "1"
DIM: Final = "2"
RED: Final = "31"
GREEN: Final = "32"
YELLOW: Final = "33"
OF_WORD: Final = {
    "completed": GREEN,
    "succeeded": GREEN,
    "active": GREEN,
    "ok": GREEN,
    "failed": RED,
    "fail": RED,
    "revoked": RED,
    "cancelled": YELLOW,
    "suspended": YELLOW,
    "expired": YELLOW,
    "warn": YELLOW,
}
"""The colours of words for states and levels. All other words have no colour."""


def has_colours(stream: TextIO) -> bool:
    """Return True if the stream is a terminal that can show colours, and the user has not turned them off."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
        return False
    return sys.platform != "win32" or "WT_SESSION" in os.environ  # older Windows consoles print the escape sequences


def colour_text(text: str, colour: str | None, stream: TextIO) -> str:
    """Return the text in this colour if the stream has colours, else unchanged."""
    return f"\x1b[{colour}m{text}\x1b[0m" if text and colour and has_colours(stream) else text


def colour_word(line: str, word: str, stream: TextIO) -> str:
    """Return the line with the first occurrence of `word` in the colour that `OF_WORD` assigns to it."""
    return line.replace(word, colour_text(word, OF_WORD.get(word), stream), 1)
