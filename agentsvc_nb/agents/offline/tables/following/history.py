"""The questions before one, in its message and in the chat's earlier turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agentsvc_nb.agents.offline.questions import readable, split
from agentsvc_nb.agents.offline.tables.following.context import TURNS_MAX
from agentsvc_nb.agents.port import RunContext

_OF_TABLES: Final = ("computed", "looked_up", "nothing")
"""What the answers rest on that a question may go on from; of those that found nothing, the calculation may be clear
all the same."""


async def questions_before(turn: RunContext, here: Sequence[str]) -> list[str]:
    """The questions that this one may go on from, the latest first: those before it in the message, and back to the
    first turn that was answered otherwise than of tables."""
    found = list(reversed(here))
    for earlier in await turn.earlier(TURNS_MAX) if len(found) < TURNS_MAX else ():
        if earlier.basis not in _OF_TABLES:
            break
        found += reversed(split(readable(earlier.message)))
    return found[:TURNS_MAX]
