"""Markdown of an agent to safe HTML.

Raw HTML is text, images are links (a remote image would tell its server what the agent read), and a link goes to
http, https or mailto only. Not to relative addresses either: they would lead into the server that shows the text.
Formulas stay as they are written, where the host may typeset them (`mathematics`).
"""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from agentsvc_nb.formats.mathematics import formula, mathematics
from agentsvc_nb.wire.text import plain

_LINK = re.compile(r"(?:https?://|mailto:)[^\s\x00-\x20]+", re.IGNORECASE)

_PLACE = re.compile(r", (page \d+, line \d+|(?:line|row|page) \d+)")

HTML_CHARS: Final = 400_000
"""Longer text is shown as its beginning: a browser should not have to lay out a book."""
CELLS: Final = 50_000
"""Text with larger tables is shown as it is. Each line of a table is filled up to as many cells as its head has: a few
thousand characters of bars would become megabytes."""


def linkable(url: str) -> bool:
    return _LINK.fullmatch(url) is not None


class SafeRenderer(RendererHTML):
    """The commonmark renderer, less what foreign text must not do."""

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        return anchor(str(tokens[idx].attrGet("href") or ""))

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        url = str(tokens[idx].attrGet("src") or "")
        text = self.renderInlineAsText(tokens[idx].children, options, env) or url
        return f"{anchor(url)}{html.escape(f'[image: {text}]')}</a>"

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        if tokens[idx].info.strip() == "math":
            return formula(r"\[", tokens[idx].content, "p", env) + "\n"
        # The info string would become a class name: foreign text in the style sheet of the page around.
        return f"<pre><code>{html.escape(tokens[idx].content)}</code></pre>\n"

    def formula(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        return formula(tokens[idx].markup, tokens[idx].content, "span", env)

    def formula_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        return formula(tokens[idx].markup, tokens[idx].content, "p", env) + "\n"

    def code_inline(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        shown = f"<code>{html.escape(tokens[idx].content)}</code>"
        place = _place(tokens, idx) if "text_page" in env else None
        if place is None:
            return shown
        path, fragment = quote(tokens[idx].content, errors="replace"), place[1].replace(" ", "=").replace(",=", ",")
        return f"{_anchor(env['text_page'] + path + '#' + fragment)}{shown}</a>"

    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        # No alignment of the text's own: it would be a style attribute.
        return "<th>"

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        return "<td>"


def anchor(url: str) -> str:
    """The opening of a link; of one that leads nowhere when the address is not `linkable`."""
    return _anchor(url) if linkable(url) else "<a>"


def _anchor(url: str) -> str:
    return f'<a href="{html.escape(url, quote=True)}" rel="noopener noreferrer" target="_blank">'


def _place(tokens: Sequence[Token], idx: int) -> re.Match[str] | None:
    """Where in the file a passage stands, when this piece of code names the file of one."""
    before, after = tokens[idx - 1 : idx], tokens[idx + 1 : idx + 2]
    if not before or not after or not before[0].content.endswith("— "):
        return None
    return _PLACE.match(after[0].content)


def parser_with(renderer: type[SafeRenderer]) -> MarkdownIt:
    """CommonMark with tables, strikethrough and formulas, without raw HTML."""
    parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=renderer)
    return parser.enable(["table", "strikethrough"]).use(mathematics)


@functools.cache
def _parser() -> MarkdownIt:
    return parser_with(SafeRenderer)


def to_html(text: str, parser: MarkdownIt | None = None, rest: str = "", known: Mapping[str, str] | None = None) -> str:
    """Safe HTML of Markdown; at most `HTML_CHARS` characters of it are shown.

    `parser` is one of `parser_with`; `rest` says where the whole of a longer text is, as plain words. With the `known`
    `text_page`, an address of ours that ends in `?path=`, the source of a quoted passage (`— file, line 12`) is a link
    to that place on the file's page.

    >>> to_html("<script>x</script> **b**")
    '<p>&lt;script&gt;x&lt;/script&gt; <strong>b</strong></p>\\n'
    """
    shown = plain(text[:HTML_CHARS])
    cut = f"<p><em>… shortened{html.escape(rest)}</em></p>" if len(text) > HTML_CHARS else ""
    if _cells(shown) > CELLS:
        return f"<pre>{html.escape(shown)}</pre>{cut}"
    # Entities such as &#x202e; become characters only while rendering: strip again.
    return plain((parser or _parser()).render(shown, dict(known or {}))) + cut


def _cells(text: str) -> int:
    """How many cells the tables of a text have at most."""
    cells = columns = 0
    for line in text.splitlines():
        if "-" in line and not line.strip("|-: \t>"):
            columns = line.count("|") + 1
        elif not line.strip():
            columns = 0
        cells += columns
    return cells
