"""The table of files, from escaped HTML of our own: a tenth of a Styler's bytes, and a Styler does not escape."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from agentsvc_nb.client import cards
from agentsvc_nb.notebook.display import pictures
from agentsvc_nb.notebook.display.amounts import size
from agentsvc_nb.notebook.display.render import MUTED, Bundle
from agentsvc_nb.safe.text import escape, label
from agentsvc_nb.wire.files import WorkspaceFile

Fetch = Callable[[WorkspaceFile], bytes | None]
"""The bytes of a file, or None when they can't be had."""

ROWS: Final = 50
_CELL: Final = "text-align:left;vertical-align:middle;padding:4px 10px"
_LINE: Final = "border-bottom:1px solid var(--jp-border-color2,#8884)"


def files_bundle(files: Sequence[WorkspaceFile], fetch: Fetch | None = None, caption: str = "Files") -> Bundle:
    """A table of files with thumbnails of the pictures among them (12 at most, 300 kB in all)."""
    shown = files[:ROWS]
    thumbs = _thumbnails(shown, fetch) if fetch else {}
    rows = "".join(_row(file, thumbs.get(file.path, ""), bool(thumbs)) for file in shown)
    more = f'<div style="{MUTED}">… and {len(files) - ROWS} more</div>' if len(files) > ROWS else ""
    lines = [f"  {label(file.path)}  ({size(file.size_bytes)})" for file in shown]
    return {
        "text/plain": "\n".join(
            [f"{label(caption)}:", *lines] + ([f"  … and {len(files) - ROWS} more"] if more else [])
        ),
        "text/html": f'<table style="border-collapse:collapse;margin:8px 0">{_head(caption, bool(thumbs))}'
        f"<tbody>{rows}</tbody></table>{more}",
    }


def records_bundle(columns: Collection[str], rows: Sequence[Mapping[str, Any]]) -> Bundle:
    """The first records of an answer, as text and as a table; fields that no column was promised for stand last."""
    names = list(dict.fromkeys([*columns, *(name for row in rows for name in row)]))
    return cards.table("Records", names, rows, len(rows))


def _head(caption: str, pictured: bool) -> str:
    names = (["preview"] if pictured else []) + ["path", "size", "type"]
    cells = "".join(f'<th scope="col" style="{_CELL};{_LINE}">{name}</th>' for name in names)
    title = f'<caption style="text-align:left;{MUTED}">{escape(caption)}</caption>'
    return f"{title}<thead><tr>{cells}</tr></thead>"


def _row(file: WorkspaceFile, thumb: str, pictured: bool) -> str:
    cell = f'<td style="{_CELL}">'
    image = f'<img src="{thumb}" alt="{escape(file.file_name or file.path)}">' if thumb else ""
    preview = f"{cell}{image}</td>" if pictured else ""
    return (
        f"<tr>{preview}{cell}<code>{escape(file.path)}</code></td>"
        f'<td style="{_CELL};white-space:nowrap" title="{int(file.size_bytes)} bytes">{size(file.size_bytes)}</td>'
        f"{cell}{escape(file.media_type, 80)}</td></tr>"
    )


def _thumbnails(files: Sequence[WorkspaceFile], fetch: Fetch) -> dict[str, str]:
    """Data URIs by path, within the budget."""
    made: dict[str, str] = {}
    spent = 0
    for file in files:
        if len(made) == pictures.PER_OUTPUT or spent >= pictures.OUTPUT_BYTES:
            break
        uri = _thumbnail(file, fetch)
        if uri is not None and spent + len(uri) <= pictures.OUTPUT_BYTES:
            made[file.path] = uri
            spent += len(uri)
    return made


def _thumbnail(file: WorkspaceFile, fetch: Fetch) -> str | None:
    if not file.media_type.startswith("image/") or not 0 < file.size_bytes <= pictures.SOURCE_BYTES:
        return None
    data = fetch(file)
    return pictures.thumbnail(data) if data else None
