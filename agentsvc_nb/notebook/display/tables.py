"""Tables as escaped HTML with inline styles and as aligned text; columns and types of the tables of magics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentsvc_nb.client.cards import aligned
from agentsvc_nb.client.models import TIME_DTYPE
from agentsvc_nb.notebook.display.render import MUTED, Bundle
from agentsvc_nb.wire.text import escape, label, worded

FILES: Final[Mapping[str, Any]] = {
    "path": "string",
    "file_name": "string",
    "name": "string",
    "kind": "category",
    "media_type": "category",
    "size_bytes": "Int64",
    "updated_at": TIME_DTYPE,
    "run_id": "string",
    "id": "string",
}
RUNS: Final[Mapping[str, Any]] = {
    "run_id": "string",
    "status": "category",
    "started_at": TIME_DTYPE,
    "ended_at": TIME_DTYPE,
    "seconds": "Float64",
    "steps": "Int64",
    "cost_cents": "Float64",
    "model": "string",
    "prompt": "string",
    "chat": "string",
    "notebook": "string",
    "base_url": "string",
}
APPROVALS: Final[Mapping[str, Any]] = {
    "call_id": "string",
    "tool": "string",
    "input": "object",
    "since": TIME_DTYPE,
    "run_id": "string",
}
JOBS: Final[Mapping[str, Any]] = {
    "job_id": "string",
    "tool": "string",
    "status": "category",
    "created_at": TIME_DTYPE,
    "started_at": TIME_DTYPE,
    "ended_at": TIME_DTYPE,
    "chat": "string",
    "base_url": "string",
}


ROWS: Final = 50
TEXT_CHARS: Final = 60
SHORT_CHARS: Final = 24
"""A cell of at most so many characters stays on one line: an id, a state, a price."""
_CELL: Final = "text-align:left;vertical-align:top;padding:4px 10px"
_LINE: Final = "border-bottom:1px solid var(--jp-border-color2,#8884)"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell with HTML of its own. `html` must be made of escaped parts; `title` is the full text, as a tooltip."""

    text: str
    html: str = ""
    title: str = ""


Row = Sequence[object]
"""Cells, or values that are shown as text; None is an empty cell."""


def grid(caption: str, columns: Sequence[str], rows: Sequence[Row], notes: Sequence[str] = ()) -> Bundle:
    """The first 50 rows under a caption; the number of further rows and the notes stand below.

    >>> print(grid("Tools", ["name"], [["web_search"]], ["1 tool"])["text/plain"])
    Tools
      name
      web_search
    1 tool
    """
    shown = [[_cell(value) for value in row] for row in rows[:ROWS]]
    more = [f"… {len(rows) - ROWS:,} more"] if len(rows) > ROWS else []
    below = [*more, *(label(note, 400) for note in notes)]
    texts = [list(columns), *([cell.text for cell in row] for row in shown)] if shown else []
    cut = [[label(text, TEXT_CHARS) for text in line] for line in texts]
    lines = [label(caption), *(f"  {line}" for line in aligned(cut))]
    title = f'<caption style="text-align:left;{MUTED}">{escape(caption)}</caption>'
    head = "".join(f'<th scope="col" style="{_CELL};{_LINE}">{escape(name)}</th>' for name in columns)
    body = "".join(f"<tr>{''.join(_td(cell) for cell in row)}</tr>" for row in shown)
    html = f"{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    table = f'<table style="border-collapse:collapse;margin:8px 0">{html}</table>'
    if not shown:  # a table without rows would be as narrow as the longest word of its caption
        table = f'<div style="{MUTED};margin:8px 0">{escape(caption)}</div>'
    tail = "".join(f'<div style="{MUTED}">{worded(line, 400)}</div>' for line in below)
    return {"text/plain": "\n".join([*lines, *below]), "text/html": f"{table}{tail}"}


def code(text: object, limit: int = 200) -> Cell:
    """A cell for a name that is typed, as code."""
    # JupyterLab breaks code anywhere, whatever its cell says.
    return Cell(label(text, limit), f'<code style="white-space:inherit">{escape(text, limit)}</code>')


def _cell(value: object) -> Cell:
    if isinstance(value, Cell):
        return value
    return Cell("" if value is None else label(value))


def _td(cell: Cell) -> str:
    title = f' title="{escape(cell.title, 400)}"' if cell.title else ""
    style = f"{_CELL};white-space:nowrap" if len(cell.text) <= SHORT_CHARS else _CELL
    return f'<td style="{style}"{title}>{cell.html or escape(cell.text)}</td>'
