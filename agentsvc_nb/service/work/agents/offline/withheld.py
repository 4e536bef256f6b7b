"""A calculation that is not the answer: what it did not use, and what could be computed, without a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agentsvc_nb.safe.literal import escape
from agentsvc_nb.service.work.agents.offline.columns import parts
from agentsvc_nb.service.work.agents.offline.markdown import code
from agentsvc_nb.service.work.agents.offline.plans import Plan
from agentsvc_nb.service.work.agents.offline.results import expression
from agentsvc_nb.service.work.agents.offline.unclear import Unclear
from agentsvc_nb.service.work.agents.offline.words import stem, stems

_MATCHES_SHOWN: Final = 3
_CELLS_SEARCHED: Final = 10_000


def withheld(readings: Sequence[Plan], left: Sequence[str]) -> Unclear:
    """Why there is no result: words of the question that the calculation did not use."""
    first = readings[0]
    named = ", ".join(f"“{escape(words)}”" for words in left)
    why = f"I did not use: {named}. So this is no result, only what I could compute without that:"
    return Unclear(
        first.table, f"{why}\n\n{_listed(readings)}{_matches(first, left)}", first.fit, first.explained, withheld=True
    )


def ambiguous(readings: Sequence[Plan]) -> Unclear:
    """Why there is no result: the question can be read in ways that give different ones."""
    first = readings[0]
    why = "The question can mean each of these, which differ. Say “total”, “average”, “rows” or “different” to tell:"
    return Unclear(first.table, f"{why}\n\n{_listed(readings)}", first.fit, first.explained, withheld=True)


def _listed(readings: Sequence[Plan]) -> str:
    return "\n".join(f"- {code(expression(one))}" for one in readings)


def _matches(made: Plan, left: Sequence[str]) -> str:
    """Where the table has the words that were not used, or which columns it has when it has none of them."""
    found = [line for words in left for word in words.split() if (line := _match(made, word))]
    if found:
        return "\n\n" + "; ".join(dict.fromkeys(found)) + "."
    names = ", ".join(map(escape, made.table.columns[:20])) + (", …" if len(made.table.columns) > 20 else "")
    return f"\n\nThe columns of {code(made.table.path)} are {names}."


def _match(made: Plan, word: str) -> str:
    wanted, columns = set(stems(word)), made.table.columns
    named = [escape(name) for name in columns if wanted & set(map(stem, parts(name)))]
    if named:
        return f"“{escape(word)}” may be the column {' or '.join(named[:_MATCHES_SHOWN])}"
    rows = made.table.rows[:_CELLS_SEARCHED]
    held = (
        f"{escape(cell)} ({escape(name)})"
        for row in rows
        for name, cell in zip(columns, row, strict=True)
        if wanted & set(stems(cell))
    )
    cells = list(dict.fromkeys(held))[:_MATCHES_SHOWN]
    return f"“{escape(word)}” stands in {', '.join(cells)}" if cells else ""
