"""HTML and SVG as pages in a sandbox (docs/decisions/0022): no script, nothing fetched; and their source, which is what
is left where outputs may hold no page, as on GitHub."""

from __future__ import annotations

import html
import re
from typing import Final

from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.previews import wording
from agentsvc_nb.notebook.previews.kinds import Kind, Subject
from agentsvc_nb.wire.text import escape, plain

POLICY: Final = (
    "<!doctype html><meta charset=utf-8><meta name=color-scheme content=light>"
    "<meta name=referrer content=no-referrer><meta http-equiv=x-dns-prefetch-control content=off>"
    "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline';"
    " img-src data:; media-src data:; font-src data:; base-uri 'none'; form-action 'none'\">"
)
"""Stands before the page's own first byte, so that nothing of the page comes before it."""
PAGE_BYTES: Final = 200_000
_LOOK: Final = "width:100%;height:400px;border:1px solid var(--jp-border-color2,#8884);background:#fff"
_WARMING: Final = re.compile(r"<(/?)(?=(?:link|meta|i?frame)\b)", re.IGNORECASE)
"""Chromium 156 makes a connection for `<link rel="preconnect">` and for the address of a frame before it asks the
policy. What could come of these elements is forbidden anyway."""


def show(subject: Subject, kind: Kind) -> Bundle:
    """The page, 400 pixels high, and its source folded below."""
    assert subject.text is not None, "only kinds of text come here"
    page = _page(subject.text.text)
    name = f"{kind.noun} {subject.name}, without scripts and without anything from elsewhere"
    text, note = wording.written(subject)
    source = wording.noted(text, note)
    frame = (
        f'<iframe sandbox="" srcdoc="{page}" title="{escape(name, 400)}" referrerpolicy="no-referrer"'
        f' style="{_LOOK}"></iframe>'
    )
    return source | {
        "text/html": f"{frame}<details><summary>Source</summary>{source['text/html']}</details>",
    }


def _page(text: str) -> str:
    """The document for `srcdoc`, escaped; its beginning when it is long."""
    inert = _WARMING.sub(r"<\1x-", plain(text))
    while len((page := html.escape(POLICY + inert, quote=True)).encode()) > PAGE_BYTES:
        inert = inert[: len(inert) * 3 // 4]
    return page
