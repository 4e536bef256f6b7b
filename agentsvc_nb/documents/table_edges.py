"""Choose the alignment of cells in a Markdown table. Numbers go to the right, so that readers can compare them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, cast, get_args

from markdown_it.token import Token

from agentsvc_nb.wire.text import is_number

COLUMNS: Final = 100
"""The number of columns whose headers are aligned like their numbers. Further headers go to the left."""
Edge = Literal["left", "center", "right"]


def edge(tokens: Sequence[Token], idx: int) -> Edge:
    """Return the alignment of a cell: the one that the Markdown table declares for its column, if any.

    Otherwise, align numbers and headers above numbers to the right, and other cells to the left.
    """
    asked = str(tokens[idx].attrGet("style") or "").removeprefix("text-align:")
    if asked in get_args(Edge):
        return cast(Edge, asked)
    first = tokens[idx + 1] if tokens[idx].type == "td_open" else _below(tokens, idx)
    return "right" if first is not None and is_number(first.content) else "left"


def _below(tokens: Sequence[Token], head: int) -> Token | None:
    """Return the first cell below the header cell `tokens[head]`, or None if there is none or the table is too wide."""
    row = next((at for at in range(head, max(0, head - 3 * COLUMNS), -1) if tokens[at].type == "tr_open"), None)
    if row is None:
        return None
    column = sum(token.type == "th_open" for token in tokens[row:head])
    for at in range(head, min(len(tokens), head + 3 * COLUMNS)):
        if tokens[at].type == "td_open":
            cells = [token for token in tokens[at : at + 3 * column + 2] if token.type == "inline"]
            return cells[column] if column < len(cells) else None
        if tokens[at].type == "table_close":
            return None
    return None
