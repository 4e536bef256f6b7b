"""Whether a question asks for a chart, and what it asks beside that."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.agents.offline.languages.charts import BARE, BARS, BEFORE, LINES, POINTS, WITHIN
from agentsvc_nb.formats.plans.charts import ChartKind

_POLITE: Final = r"(?:(?:please|bitte|can you|could you|kannst du|por favor|s'il te plaît|s'il vous plaît),?\s+)?"
_BEFORE: Final = re.compile(rf"^\s*{_POLITE}(?:{'|'.join(BEFORE)})", re.IGNORECASE)
_WITHIN: Final = re.compile(rf",?\s*\b(?:{'|'.join(WITHIN)})\b(?:\s+dar\b)?", re.IGNORECASE)
_BARE: Final = re.compile(rf"\b(?:{'|'.join(BARE)})\b", re.IGNORECASE)
_KINDS: Final[tuple[tuple[ChartKind, re.Pattern[str]], ...]] = (
    ("bar", re.compile(BARS, re.IGNORECASE)),
    ("line", re.compile(LINES, re.IGNORECASE)),
    ("scatter", re.compile(POINTS, re.IGNORECASE)),
)


@dataclass(frozen=True, slots=True)
class ChartWish:
    """A chart that is wanted, of a kind if one was named."""

    kind: ChartKind | None = None


def without_chart(question: str, alone: bool = False) -> tuple[str, ChartWish | None]:
    """The question without the words that ask for a chart, and the chart; None when none is asked for, or when nothing
    else is, unless it may stand `alone`, of what was answered before.

    >>> without_chart("Plot revenue by month as a bar chart")
    ('revenue by month', ChartWish(kind='bar'))
    >>> without_chart("And as a chart?", alone=True)
    ('And?', ChartWish(kind=None))
    """
    said: list[str] = []

    def taken(found: re.Match[str]) -> str:
        said.append(found[0])
        return " "

    rest = _WITHIN.sub(taken, _BEFORE.sub(taken, question, count=1))
    if alone:
        rest = _BARE.sub(taken, rest)
    if not said or (not alone and not rest.strip(" ?!.,")):
        return question, None
    words = " ".join(said)
    kind = next((kind for kind, pattern in _KINDS if pattern.search(words)), None)
    return re.sub(r"\s+([?!.])", r"\1", " ".join(rest.split())), ChartWish(kind)
