"""Tables of our own: escaped HTML with inline styles, and aligned text; nothing in them is markup of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentsvc_nb.notebook.display.render import MUTED, Bundle
from agentsvc_nb.wire.text import escape, label, worded

_TIME: Final = "datetime64[ns, UTC]"

FILES: Final[Mapping[str, Any]] = {
    "path": "string",
    "file_name": "string",
    "name": "string",
    "kind": "category",
    "media_type": "category",
    "size_bytes": "Int64",
    "updated_at": _TIME,
    "run_id": "string",
    "id": "string",
}
RUNS: Final[Mapping[str, Any]] = {
    "run_id": "string",
    "status": "category",
    "started_at": _TIME,
    "ended_at": _TIME,
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
    "since": _TIME,
    "run_id": "string",
}
JOBS: Final[Mapping[str, Any]] = {
    "job_id": "string",
    "tool": "string",
    "status": "category",
    "created_at": _TIME,
    "started_at": _TIME,
    "ended_at": _TIME,
    "chat": "string",
    "base_url": "string",
}


ROWS: Final = 50
TEXT_CHARS: Final = 60
SHORT_CHARS: Final = 24
"""What is no longer stays on one line: an id, a state, a price."""
_CELL: Final = "text-align:left;vertical-align:top;padding:4px 10px"
_LINE: Final = "border-bottom:1px solid var(--jp-border-color2,#8884)"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell whose HTML is more than its text. `html` is made by us, of escaped parts; `title` is the whole of it."""

    text: str
    html: str = ""
    title: str = ""


Row = Sequence[object]
"""Cells, or whatever is shown as its text; None is an empty cell."""


def grid(caption: str, columns: Sequence[str], rows: Sequence[Row], notes: Sequence[str] = ()) -> Bundle:
    """The first 50 rows under a caption; how many more there are, and the notes, stand below.

    >>> print(grid("Tools", ["name"], [["web_search"]], ["1 tool"])["text/plain"])
    Tools
      name
      web_search
    1 tool
    """
    shown = [[_cell(value) for value in row] for row in rows[:ROWS]]
    below = [f"… {len(rows) - ROWS:,} more"] * (len(rows) > ROWS) + [label(note, 400) for note in notes]
    lines = [label(caption), *_aligned([list(columns), *([cell.text for cell in row] for row in shown)] * bool(shown))]
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
    """A name as it must be typed."""
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


def _aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    cut = [[label(cell, TEXT_CHARS) for cell in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*cut, strict=True)]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cut
    ]
