"""Show lists of files, with thumbnails of pictures and charts. Thumbnails are data URIs, so browsers fetch nothing."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from agentsvc_nb.client import cards
from agentsvc_nb.client.cards import MUTED, SMALL
from agentsvc_nb.client.downloads import SCHEMA_ENDING, TABLE
from agentsvc_nb.documents.kinds import kind_name
from agentsvc_nb.documents.media_types import HEAD_BYTES, media_type
from agentsvc_nb.notebook.display.markdown import CHIP, CHIPS
from agentsvc_nb.notebook.display.render import Bundle, size
from agentsvc_nb.wire.files import FileFacts, StagedFile, WorkspaceFile
from agentsvc_nb.wire.text import escape, label

EDGE_PIXELS: Final = 256
"""The longest edge of a thumbnail, in pixels."""
PER_OUTPUT: Final = 12
"""The maximum number of thumbnails in one output."""
OUTPUT_BYTES: Final = 300_000
"""The maximum size of all thumbnails in one output, in characters of data URIs."""
CHART: Final = "chart"
CHART_PIXELS: Final = 960
"""The longest edge of a chart shown with its answer, in pixels."""
SOURCE_BYTES: Final = 20_000_000
"""The maximum size in bytes of a picture for which a thumbnail is created."""
_PIXELS_MAX: Final = 40_000_000
_PILLOW_FORMATS: Final = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WEBP"}


def thumbnail(data: bytes) -> str | None:
    """Return a thumbnail as a WebP data URI. Return None if the bytes are not a picture, too large, or damaged."""
    return _as_uri(data, EDGE_PIXELS, {"quality": 80})


def _as_uri(data: bytes, edge: int, how: Mapping[str, Any]) -> str | None:
    if media_type(data[:HEAD_BYTES]) not in _PILLOW_FORMATS or len(data) > SOURCE_BYTES:
        return None
    try:
        made = _webp(data, edge, how)
    except Exception:  # Pillow raises many types of errors for hostile bytes; the output then has no thumbnail
        return None
    return "data:image/webp;base64," + base64.b64encode(made).decode("ascii")


def _webp(data: bytes, edge: int, how: Mapping[str, Any]) -> bytes:
    from PIL import Image

    with warnings.catch_warnings():
        # Between one and two times its limit (Image.MAX_IMAGE_PIXELS), Pillow only warns. Turn the warning into an
        # error.
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        with Image.open(io.BytesIO(data), formats=[*_PILLOW_FORMATS.values()]) as image:
            if image.width * image.height > _PIXELS_MAX:
                raise ValueError("too many pixels")
            image.draft("RGB", (edge * 2, edge * 2))
            small = image.convert("RGBA" if "A" in image.mode or "transparency" in image.info else "RGB")
    small.thumbnail((edge, edge))
    out = io.BytesIO()
    small.save(out, "WEBP", **how)
    return out.getvalue()


Fetch = Callable[[WorkspaceFile], bytes | None]
"""The type of functions that return the bytes of a file, or None if the file cannot be read."""

ROWS: Final = 50
_PICTURE: Final = "max-width:100%;background:#fff"


def files_bundle(files: Sequence[WorkspaceFile], fetch: Fetch | None = None, caption: str = "Files") -> Bundle:
    """Return an output with a list of files. The list shows each file as a label.

    With `fetch`, it shows pictures as thumbnails instead (at most 12, and 300 kB in all). For a table that a run
    computed, it shows only the data file, not the file with the table's schema.
    """
    files = [file for file in files if not _is_schema(file)]
    shown = files[:ROWS]
    thumbs = _thumbnails(shown, fetch) if fetch else {}
    figures = "".join(_thumbnail_figure(file, thumbs[file.path]) for file in shown if file.path in thumbs)
    chips = "".join(map(_chip, (file for file in shown if file.path not in thumbs)))
    more = f"… and {len(files) - ROWS} more" if len(files) > ROWS else ""
    lines = [
        f"  {label(file.path)}  ({size(file.size_bytes)}{_version(file)})"
        + (f": {label(file.unreadable, 300)}" if file.unreadable else "")
        for file in shown
    ]
    return {
        "text/plain": "\n".join([f"{label(caption)}:", *lines, *([f"  {more}"] if more else [])]),
        "text/html": (f'<div style="{_FIGURES};max-width:{268 * len(thumbs)}px">{figures}</div>' if figures else "")
        + (f'{CHIPS} aria-label="{escape(caption)}">{chips}</ul>' if chips else "")
        + (f'<div style="{SMALL}">{more}</div>' if more else ""),
    }


def _chip(file: WorkspaceFile) -> str:
    """Return a label with a file's path and size. If the file can't be read, the label says why.

    Its tooltip names the kind of file.
    """
    facts = f"{size(file.size_bytes)}{_version(file)}"
    reason = f'<div style="{SMALL}">{escape(file.unreadable, 300)}</div>' if file.unreadable else ""
    return (
        f'<li class="asvc-chip" style="{CHIP}" title="{escape(kind_of(file))}, {int(file.size_bytes):,} bytes">'
        f'{escape(file.path)} <span style="{MUTED};white-space:nowrap">{facts}</span>{reason}</li>'
    )


def _version(file: WorkspaceFile) -> str:
    return f", version {int(file.version)}" if file.version > 1 else ""


def _is_schema(file: WorkspaceFile) -> bool:
    return file.output is not None and file.output.type == TABLE and file.path.endswith(SCHEMA_ENDING)


# two figures in a row on narrow screens, at most four on wide screens
_FIGURES: Final = (
    "display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,max(100px,21%)),1fr));margin:8px 0"
)
FIGURE: Final = "display:inline-block;vertical-align:top;max-width:100%;margin:4px 12px 8px 0;overflow-wrap:anywhere"


def figure(shown: str, caption: str, fact: str = "") -> str:
    """Return HTML with a picture, its caption, and a line for one more `fact`, such as the size of the file.

    `shown` is the picture as safe HTML.
    """
    apart = f"<div>{escape(fact)}</div>" if fact else ""
    style = f"{SMALL};margin-top:4px;max-width:{EDGE_PIXELS}px"
    said = f'<figcaption style="{style}">{escape(caption, 400)}{apart}</figcaption>'
    return f'<figure style="{FIGURE}">{shown}{said}</figure>'


def _thumbnail_figure(file: WorkspaceFile, thumb: str) -> str:
    image = f'<img src="{thumb}" alt="{escape(file.name or file.file_name or file.path)}">'
    return figure(image, label(file.path), size(file.size_bytes))


def charts_bundle(files: Sequence[WorkspaceFile], fetch: Fetch) -> Bundle | None:
    """Return the charts among the files as pictures on a white background. Return None if no chart can be shown."""
    shown: list[tuple[WorkspaceFile, str]] = []
    room = OUTPUT_BYTES
    for file in files:
        if _is_chart(file) and 0 < file.size_bytes <= SOURCE_BYTES:
            data = fetch(file)
            uri = _as_uri(data, CHART_PIXELS, {"lossless": True}) if data else None
            if uri is not None and len(uri) <= room:
                shown.append((file, uri))
                room -= len(uri)
    if not shown:
        return None
    pictures = (
        f'<p style="margin:1em 0"><img src="{uri}" alt="{_chart_title(file)}" style="{_PICTURE}"></p>'
        for file, uri in shown
    )
    lines = (f"Chart: {label(file.path)}" for file, _ in shown)
    return {"text/plain": "\n".join(lines), "text/html": "".join(pictures)}


def _is_chart(file: WorkspaceFile) -> bool:
    return file.output is not None and file.output.type == CHART


def _chart_title(file: WorkspaceFile) -> str:
    return escape(f"Chart: {file.file_name.removesuffix('.png')}")


def records_bundle(columns: Collection[str], rows: Sequence[Mapping[str, Any]]) -> Bundle:
    """Return a table of an answer's records. Columns that are not in the schema come last."""
    names = list(dict.fromkeys([*columns, *(name for row in rows for name in row)]))
    return cards.table("Records", names, rows, len(rows))


def kind_of(file: FileFacts | StagedFile) -> str:
    """Return the kind of a file in everyday words, such as "picture"."""
    return kind_name(file.media_type, file.file_name)


def _thumbnails(files: Sequence[WorkspaceFile], fetch: Fetch) -> dict[str, str]:
    """Return thumbnails as data URIs by path, up to the limits for one output."""
    made: dict[str, str] = {}
    spent = 0
    for file in files:
        if len(made) == PER_OUTPUT or spent >= OUTPUT_BYTES:
            break
        uri = _thumbnail(file, fetch)
        if uri is not None and spent + len(uri) <= OUTPUT_BYTES:
            made[file.path] = uri
            spent += len(uri)
    return made


def _thumbnail(file: WorkspaceFile, fetch: Fetch) -> str | None:
    if _is_chart(file):  # the answer shows the chart itself
        return None
    if not file.media_type.startswith("image/") or not 0 < file.size_bytes <= SOURCE_BYTES:
        return None
    data = fetch(file)
    return thumbnail(data) if data else None
