"""Previews of pictures, PDF, sound and video; thumbnails of a gallery. A decoder's answers are validated here."""

from __future__ import annotations

import base64
import contextlib
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Final

from agentsvc_nb.notebook.display.render import MUTED, Bundle, size
from agentsvc_nb.notebook.previews import process
from agentsvc_nb.notebook.previews.kinds import CannotShow, Kind, Subject
from agentsvc_nb.wire.text import escape, label

PICTURE_CHARS: Final = 100_000
"""The longest picture in base64 that a decoder may return: 75 kB."""
LARGE_CHARS: Final = 400_000
"""The same for a large view: 300 kB."""
EMBEDDED_BYTES: Final = 200_000
"""The largest sound or video that is embedded in the output."""
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_FIGURE: Final = "display:inline-block;vertical-align:top;margin:4px 12px 8px 0;max-width:100%;overflow-wrap:anywhere"


def picture_preview(subject: Subject, kind: Kind) -> Bundle:
    """The picture, scaled down; of an animation the first frame. Raises `CannotShow` when it cannot be decoded."""
    with subject.on_disk() as path:
        return picture_bundle(subject, kind, process.asked("pictures", path))


def picture_bundle(subject: Subject, kind: Kind, found: dict[str, Any]) -> Bundle:
    """The decoder's answer as an output. Raises `CannotShow` when it has no valid picture."""
    frames = found.get("frames", 1)
    animated = f", the first of {frames:,} frames" if isinstance(frames, int) and frames > 1 else ""
    caption = label(f"{kind.noun}, {_number(found.get('width'))} × {_number(found.get('height'))} pixels{animated}")
    return {"text/plain": caption, "text/html": _figure(found.get("picture"), f"{subject.name}: {caption}", caption)}


def pdf_preview(subject: Subject, kind: Kind) -> Bundle:
    """The first three pages as pictures, with their text as alternative text.

    Raises `CannotShow` when the file cannot be decoded.
    """
    with subject.on_disk() as path:
        return pdf_bundle(subject, process.asked("pages", path))


def pdf_bundle(subject: Subject, found: dict[str, Any]) -> Bundle:
    """The decoder's answer as an output. Raises `CannotShow` when a page has no valid picture."""
    count = found.get("count", 0)
    figures: list[str] = []
    lines = [label(f"PDF, {count:,} page{'s' * (count != 1)}")]
    for number, page in enumerate(found.get("pages", ())[:3], 1):
        words = label(page.get("text", ""), 300)
        caption = f"page {number} of {count:,}"
        figures.append(_figure(page.get("picture"), f"{subject.name}, {caption}: {words}", caption))
        lines.append(f"{caption}: {words}")
    return {"text/plain": "\n".join(lines), "text/html": f"<div>{''.join(figures)}</div>"}


def player(subject: Subject, kind: Kind) -> Bundle:
    """Sound or video, embedded in the output. Raises `CannotShow` for more than 200 kB."""
    if subject.cut or len(subject.head) > EMBEDDED_BYTES:
        raise CannotShow(
            f"only up to {size(EMBEDDED_BYTES)} are played in the cell, so that the notebook stays small;"
            " play a larger one from disk with IPython.display.Video or Audio."
        )
    data = base64.b64encode(subject.head).decode()
    tag = kind.media.partition("/")[0]
    path = label(subject.file.path)
    hint = f"If it does not play here: %files get {path}"
    style = ' style="max-width:100%;max-height:400px"' if tag == "video" else ""
    return {
        "text/plain": f"{kind.noun}. To have it: %files get {path}",
        "text/html": f'<{tag} controls preload="metadata" src="data:{kind.media};base64,{data}"'
        f' title="{escape(f"{kind.noun} {subject.name}", 400)}"{style}></{tag}>'
        f'<div style="{MUTED}">{escape(hint, 400)}</div>',
    }


def _data_uri(picture: Any, limit: int = PICTURE_CHARS) -> str:
    """Return a data URI of a WebP picture in base64.

    Raises `CannotShow` for a value that is not base64, or has more than `limit` characters.
    """
    if not isinstance(picture, str) or len(picture) > limit or not _BASE64.fullmatch(picture):
        raise CannotShow("its decoder gave no picture.")
    return f"data:image/webp;base64,{picture}"


def _figure(picture: Any, alternative: str, caption: str) -> str:
    """Return a WebP picture in base64 as a figure. Raises `CannotShow` when it is not base64, or too large."""
    return (
        f'<figure style="{_FIGURE}"><img src="{_data_uri(picture)}" alt="{escape(alternative, 400)}"'
        f' style="max-width:100%"><figcaption style="{MUTED}">{escape(caption, 400)}</figcaption></figure>'
    )


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else "?"


class Thumbnails:
    """Scales pictures down, in two processes (small and large) that end with its `with` block. Not thread-safe.

    Example: `with Thumbnails() as thumbnails: uri, texts = thumbnails.small(data)`
    """

    def __enter__(self) -> Thumbnails:
        self._stack = contextlib.ExitStack()
        self._path = Path(self._stack.enter_context(TemporaryDirectory(prefix="agentsvc-pictures-"))) / "whole"
        self._small = self._stack.enter_context(process.Decoder("small"))
        self._large = self._stack.enter_context(process.Decoder("large"))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.__exit__(kind, error, at)

    def small(self, data: bytes) -> tuple[str | None, dict[str, Any]]:
        """Return a thumbnail of at most 256 pixels an edge as a data URI, and the picture's text chunks by keyword.

        The thumbnail is None if the picture can't be decoded.
        """
        found = self._decode(self._small, data)
        texts = found.get("texts")
        return _uri_or_none(found), texts if isinstance(texts, dict) else {}

    def large(self, data: bytes) -> str | None:
        """Return a view of at most 1,200 pixels an edge and 300 kB as a data URI; None if it can't be decoded."""
        return _uri_or_none(self._decode(self._large, data), LARGE_CHARS)

    def _decode(self, decoder: process.Decoder, data: bytes) -> dict[str, Any]:
        self._path.write_bytes(data)
        with contextlib.suppress(CannotShow):  # a missing picture is no failure
            return decoder.asked(self._path)
        return {}


def _uri_or_none(found: dict[str, Any], limit: int = PICTURE_CHARS) -> str | None:
    with contextlib.suppress(CannotShow):
        return _data_uri(found.get("picture"), limit)
    return None
