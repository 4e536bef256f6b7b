"""Links from words to a table, and those that were found before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentsvc_nb.agents.offline.tables.question import Word
from agentsvc_nb.documents.kept import Kept
from agentsvc_nb.documents.plans.plan import Column
from agentsvc_nb.documents.plans.profiles import TableProfile


@dataclass(frozen=True, slots=True)
class Link:
    """A column (`cell` is None), or a value of it; `told` says how the words were read, when they stand otherwise."""

    column: Column
    cell: str | None
    distance: float
    told: str = ""


class FoundLinks:
    """What words were linked to in a table: a span is asked for again by each look at what comes next."""

    def __init__(self) -> None:
        self.of_spans: dict[tuple[Word, ...], tuple[Link, ...]] = {}
        self.of_phrases: dict[tuple[str, ...], tuple[Link, ...]] = {}

    def make_room(self) -> None:
        """Forget all that was found, when it is much."""
        if len(self.of_spans) + len(self.of_phrases) > _FOUND_MAX:
            self.of_spans, self.of_phrases = {}, {}


_FOUND_MAX: Final = 2_000
_KEPT: Final = Kept[tuple[TableProfile, str], FoundLinks](30, lambda _: 1)


def found_before(table: TableProfile, language: str) -> FoundLinks:
    """What was found in the table for other questions in the language."""
    return _KEPT.get((table, language)) or _KEPT.put((table, language), FoundLinks())
