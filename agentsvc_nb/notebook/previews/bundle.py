"""The preview of a file as a static bundle: a heading, then its beginning, or a sentence why that can't be shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from agentsvc_nb.notebook.display.render import MUTED, Bundle, size
from agentsvc_nb.notebook.previews.json_tree import json_preview
from agentsvc_nb.notebook.previews.kinds import CannotShow, Family, Fetch, Kind, Subject, kind_of, mismatch
from agentsvc_nb.notebook.previews.media import pdf_preview, picture_preview, player
from agentsvc_nb.notebook.previews.tables import csv_preview, sheet_preview
from agentsvc_nb.notebook.previews.text import hexdump, markdown_preview, page_preview, text_preview
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.text import escape, label

# Heavy libraries (pandas, those of the decoders) are imported within these functions, or in their processes.
_PREVIEWS: Final[Mapping[Family, Callable[[Subject, Kind], Bundle]]] = {
    "picture": picture_preview,
    "pdf": pdf_preview,
    "sheet": sheet_preview,
    "media": player,
    "page": page_preview,
    "json": json_preview,
    "csv": csv_preview,
    "markdown": markdown_preview,
    "text": text_preview,
    "bytes": hexdump,
}


def preview_bundle(file: WorkspaceFile, head: bytes, fetch: Fetch | None = None) -> Bundle:
    """Return the preview of a file, at most 300 kB; it has no scripts and fetches nothing.

    Args:
        file: the service's record of the file. Only its size is trusted.
        head: the first `kinds.HEAD_BYTES` bytes of the file, or the whole file if it is smaller.
        fetch: downloads the whole file to a path, for the kinds that need it; None if `head` is the whole file.

    Example:
        preview_bundle(file, client.files.head(file, 256_000, chat=chat), lambda path: ...)
    """
    subject = Subject(file, head, fetch)
    facts = " · ".join(filter(None, [label(file.path), size(file.size_bytes), label(file.media_type, 80)]))
    if not head:
        return _with_heading([facts], _sentence("The file is empty."))
    kind = kind_of(subject)
    try:
        body = _PREVIEWS[kind.family](subject, kind)
    except CannotShow as reason:
        body = _sentence(f"{kind.noun}: {reason} To have it: %files get {label(file.path)}")
    return _with_heading([facts, mismatch(subject, kind)], body)


def _sentence(sentence: str) -> Bundle:
    return {"text/plain": label(sentence, 600), "text/html": f"<div>{escape(sentence, 600)}</div>"}


def _with_heading(lines: list[str], body: Bundle) -> Bundle:
    """Put lines of our own above a body; empty lines are left out."""
    heads = [line for line in lines if line]
    head = "".join(f'<div style="{MUTED}">{escape(line, 600)}</div>' for line in heads)
    return {
        "text/plain": "\n".join([*heads, body["text/plain"]]),
        "text/html": f"{head}{body['text/html']}",
    }
