"""Forms of questions as slots: which items one may have, and how many of each, in whatever order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.agents.offline.tables.grammar.items import Item

_SLOT: Final = re.compile(r"(?P<tags>[\w|]+)(?P<times>[?*+]?)")
_MANY: Final = 99


@dataclass(slots=True)
class Slot:
    tags: frozenset[str]
    least: int
    most: int


def form(written: str) -> tuple[Slot, ...]:
    """`share column|measure? rows*`: each slot's tags, once, or as often as its mark says."""
    return tuple(
        Slot(frozenset(found["tags"].split("|")), int(times in ("", "+")), _MANY if times in ("*", "+") else 1)
        for found in _SLOT.finditer(written)
        for times in (found["times"],)
    )


def fits(slots: Sequence[Slot], items: Sequence[Item]) -> bool:
    """Whether each item has a slot, and each slot what it needs."""
    taken = [0] * len(slots)
    for item in items:
        at = next((at for at, one in enumerate(slots) if item.tag in one.tags and taken[at] < one.most), None)
        if at is None:
            return False
        taken[at] += 1
    return all(count >= one.least for count, one in zip(taken, slots, strict=True))
