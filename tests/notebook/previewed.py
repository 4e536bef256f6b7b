"""Previews outside a notebook, and the judge of what they hold."""

from __future__ import annotations

import html
import re
from pathlib import Path

from agentsvc_nb.notebook.display.file_table import OUTPUT_BYTES
from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.previews.preview import HEAD_BYTES, preview_bundle
from agentsvc_nb.wire.files import WorkspaceFile
from tests.notebook.allowlist import FORBIDDEN, offences

PLAYER = re.compile(
    r'<(audio|video) controls preload="metadata" src="data:(?:audio|video)/[a-z0-9]+;base64,[A-Za-z0-9+/=]+"'
    r' title="[^"<>]*"(?: style="[a-z0-9:;%-]+")?></\1>'
)


def preview(name: str, data: bytes, media_type: str = "", size: int | None = None) -> Bundle:
    """As `%files preview` shows it: the whole file is fetched only where a kind needs it."""
    length = len(data) if size is None else size
    file = WorkspaceFile(id="0" * 64, path=name, file_name=name, media_type=media_type, size_bytes=length)

    def fetch(place: Path) -> None:
        place.write_bytes(data)

    return preview_bundle(file, data[:HEAD_BYTES], fetch)


def harmless(bundle: Bundle) -> tuple[str, str]:
    """Its text and HTML, judged."""
    text, shown = bundle["text/plain"], bundle["text/html"]
    assert set(bundle) == {"text/plain", "text/html"}
    assert offences(PLAYER.sub("", shown)) == []
    assert FORBIDDEN.findall(text) == []
    assert FORBIDDEN.findall(html.unescape(shown)) == []
    assert len(shown.encode()) <= OUTPUT_BYTES
    return text, shown
