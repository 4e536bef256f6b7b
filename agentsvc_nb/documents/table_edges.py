"""On which side the cells of a Markdown table stand: numbers right, as they are compared. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, cast, get_args

from markdown_it.token import Token

from agentsvc_nb.wire.text import is_number

COLUMNS: Final = 100
"""Of a table with more columns, the heads of those beyond are not aligned as the numbers below them."""
Edge = Literal["left", "center", "right"]


def edge(tokens: Sequence[Token], idx: int) -> Edge:
    """The side of the cell that `tokens[idx]` opens: as the text aligns the column; else numbers, and the heads of
    columns that begin with one, stand right."""
    asked = str(tokens[idx].attrGet("style") or "").removeprefix("text-align:")
    if asked in get_args(Edge):
        return cast(Edge, asked)
    first = tokens[idx + 1] if tokens[idx].type == "td_open" else _below(tokens, idx)
    return "right" if first is not None and is_number(first.content) else "left"


def _below(tokens: Sequence[Token], head: int) -> Token | None:
    """The first cell of the column with this head; None for one of many columns, which would take long."""
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
