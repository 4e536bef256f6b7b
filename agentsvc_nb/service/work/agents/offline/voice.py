"""How the offline agent speaks: in pieces, so that the reader sees the answer grow, and with its words counted."""

from __future__ import annotations

import asyncio
import re
from typing import Final

from agentsvc_nb.service.ports.agents import Turn

PAUSE_SECONDS: Final = 0.03
PAUSES_MAX: Final = 40
"""So the pauses of one answer add up to 1.2 s at most."""

_PIECE = re.compile(r"[^\n]*\n+|[^\n]+")


class Voice:
    """Says Markdown to the reader of a turn.

    Tokens are counted as words, the nearest honest thing without a tokeniser: in, the message and what was quoted
    from the files; out, what was said.
    """

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self._pauses = 0

    async def say(self, text: str) -> None:
        for piece in _PIECE.findall(text):
            await self.turn.say(piece)
            if self._pauses < PAUSES_MAX:
                self._pauses += 1
                await asyncio.sleep(PAUSE_SECONDS)
        self.turn.use(0, words(text))

    def heard(self, text: str) -> None:
        """Count what was read."""
        self.turn.use(words(text), 0)


def words(text: str) -> int:
    return len(text.split())
