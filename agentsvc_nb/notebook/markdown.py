"""Markdown of an agent to HTML for a cell's output.

Never `IPython.display.Markdown`: JupyterLab executes script in it.
"""

from __future__ import annotations

import functools
import html
import re
from collections.abc import MutableMapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from agentsvc_nb.safe import markdown
from agentsvc_nb.safe.markdown import SafeRenderer, anchor, linkable, parser_with

_PLACE = re.compile(r", (line|row|page) (\d+)")
_CELL: Final = "text-align:left;padding:2px 10px"
_LINK: Final = '<a style="text-decoration:underline" href="'
"""JupyterLab tells links from the text around by their colour alone."""


class _Renderer(SafeRenderer):
    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        # JupyterLab right-aligns table cells, and its sanitiser drops <style>: hence inline.
        return f'<th style="{_CELL}">'

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        return f'<td style="{_CELL}">'

    def code_inline(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        shown = f"<code>{html.escape(tokens[idx].content)}</code>"
        place = _place(tokens, idx) if "chat_url" in env else None
        if place is None:
            return shown
        path = quote(tokens[idx].content, safe="/", errors="replace")
        address = env["chat_url"] + f"/files?path={path}#{place[1]}={place[2]}"
        return f"{anchor(address)}{shown}</a>"


def _place(tokens: Sequence[Token], idx: int) -> re.Match[str] | None:
    """Where in the file a passage stands, when this piece of code names the file of one."""
    before, after = tokens[idx - 1 : idx], tokens[idx + 1 : idx + 2]
    if not before or not after or not before[0].content.endswith("— "):
        return None
    return _PLACE.match(after[0].content)


@functools.cache
def parser() -> MarkdownIt:
    return parser_with(_Renderer)


def to_html(text: str, chat_url: str = "") -> str:
    """Safe HTML of Markdown, with tables as a notebook needs them.

    With the page of the chat, or a run's `app_url`, the source of a quoted passage (`— file, line 12`) is a link to
    that file.
    """
    known = {"chat_url": chat_url.partition("?")[0]} if linkable(chat_url) else {}
    shown = markdown.to_html(text, parser(), ": the whole text is in the answer's .text", known)
    return shown.replace('<a href="', _LINK)  # foreign text holds no <
